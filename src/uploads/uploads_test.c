/* uploads_test.c - what travels with a job; see uploads.h */
#include "pyenv/archive_files_testing.h"
#include "uploads/uploads.h"
#include "uploads/uploads_private.h"

/* Looks for what the job in `yaml` needs. */
static int find(const char *yaml, const struct uploads_options *o, struct uploads_list *l,
                struct strs *faults)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    int r;

    spec_init(&s);
    assert_int_equal(spec_parse("j", yaml, strlen(yaml), &s, &f), 0);
    r = uploads_find(&s, o, l, &f);
    for (size_t i = 0; i < f.lines.n; i++)
        assert_int_equal(strs_add(faults, f.lines.v[i]), 0);
    return r;
}

/* "a b/ c": what was found or named, in the list's order. */
static const char *names(const struct uploads_list *l, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++)
        assert_int_equal(
            buf_printf(out, "%s%s%s", i ? " " : "", l->v[i].to, l->v[i].directory ? "/" : ""), 0);
    return out->len ? buf_text(out) : "";
}

static void project(const char *dir)
{
    put(dir, "train.py", "import model\n");
    put(dir, "model.py", "");
    put(dir, "nets/__init__.py", "");
    put(dir, "nets/deep/vocab.txt", "words");
    put(dir, "nets/__pycache__/x.pyc", "");
    put(dir, "notes.txt", "");
    put(dir, "data/a.csv", "1,2");
    put(dir, "data/.git/config", "");
    put(dir, "venv/__init__.py", "");
    put(dir, "scripts/run.sh", "");
    put(dir, "scripts/helper.py", "");
    put(dir, "scripts/conf.yaml", "");
    put(dir, "-odd name$.txt", "");
    put(dir, "fast.cpython-311.so", "");
}

static void a_command_finds_what_it_needs(void **state)
{
    static const struct {
        const char *command, *found;
    } rows[] = {
        { "[python, train.py]", "fast.cpython-311.so model.py nets/ train.py" },
        { "[python, -u, ./train.py, --data-dir, data/]",
          "data/ fast.cpython-311.so model.py nets/ train.py" },
        { "[python, -m, nets.deep]", "fast.cpython-311.so model.py nets/ train.py" },
        { "[./scripts/run.sh, --conf=scripts/conf.yaml]",
          "scripts/conf.yaml scripts/helper.py scripts/run.sh" },
        { "[lightgbm, data=data/a.csv]", "data/a.csv" },
        { "[bash, -c, 'cd x; python scripts/helper.py >out;']", "scripts/helper.py" },
        { "[cat, notes.txt, notes.txt, ./notes.txt, data/../notes.txt]",
          "fast.cpython-311.so model.py nets/ notes.txt train.py" },
        { "[cat, '-odd name$.txt']", "-odd name$.txt fast.cpython-311.so model.py nets/ train.py" },
        { "[echo, ., .., /etc/passwd, ../x, 'data/../..', none, '', '=', hdfs://x/data]", "" },
        { "[echo, scripts]", "scripts/" },
        { "[sh, -c, 'unbalanced \"notes.txt']",
          "fast.cpython-311.so model.py nets/ notes.txt train.py" },
    };

    project(*state);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *yaml = str_printf("roles: {w: {command: %s}}\n", rows[i].command);
        struct uploads_options o = { .cwd = *state };
        AUTO_STRS faults = { 0 };
        AUTO_UPLOADS l = { 0 };
        AUTO_BUF out = { .max = 64 * KIB };

        assert_non_null(yaml);
        assert_int_equal(find(yaml, &o, &l, &faults), 0);
        assert_string_equal(names(&l, &out), rows[i].found);
    }
}

static void what_a_script_names_and_is_not_sent_gets_a_note(void **state)
{
    static const struct {
        const char *script, *job, *note; /* NULL: none */
    } rows[] = {
        { "open('data/a.csv')", "{command: [python, train.py]}",
          "sent with the job: fast.cpython-311.so, model.py, nets, train.py, x.py; not sent, but "
          "named "
          "in a script: data (send it with --files data)" },
        { "open('data/a.csv')", "{command: [python, x.py]}",
          "sent with the job: fast.cpython-311.so, model.py, nets, train.py, x.py; not sent, but "
          "named "
          "in a script: data (send it with --files data)" },
        { "load(\"data\")", "{command: [python, x.py]}",
          "sent with the job: fast.cpython-311.so, model.py, nets, train.py, x.py; not sent, but "
          "named "
          "in a script: data (send it with --files data)" },
        { "load(\"data\")", "{command: [python, x.py, data]}", NULL },
        { "load(\"data\")", "{command: [python, x.py], files: [data]}", NULL },
        { "load(\"database\", 'mydata/x', data)", "{command: [python, x.py]}", NULL },
    };

    project(*state);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *yaml = str_printf("roles: {w: %s}\n", rows[i].job);
        struct uploads_options o = { .cwd = *state };
        AUTO_STRS faults = { 0 };
        AUTO_UPLOADS l = { 0 };

        put(*state, "x.py", rows[i].script);
        assert_non_null(yaml);
        assert_int_equal(find(yaml, &o, &l, &faults), 0);
        assert_int_equal(l.notes.n, rows[i].note ? 1 : 0);
        if (rows[i].note)
            assert_string_equal(l.notes.v[0], rows[i].note);
    }
}

static void what_is_found_is_in_the_bundle_file_by_file(void **state)
{
    static const char *const want[] = { "data", "data/a.csv" };
    struct uploads_options o = { .cwd = *state };
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 };

    project(*state);
    assert_int_equal(find("roles: {w: {command: [echo, data]}}", &o, &l, &faults), 0);
    assert_true(pack_size(&l.bundle) > 0);
    assert_int_equal(l.bundle.n, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(l.bundle.v[i].name, want[i]);
    assert_int_equal(l.v[0].size, 3);
    assert_int_equal(l.v[0].n_files, 1);
}

static void a_link_out_of_the_directory_is_left_alone(void **state)
{
    AUTO_FREE char *cwd = in(*state, "work");
    struct uploads_options o = { .cwd = cwd };
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 };
    AUTO_BUF out = { .max = 64 * KIB };

    put(cwd, "x", "1");
    put(*state, "secret/key", "1");
    link_to("../secret", cwd, "s");
    link_to("x", cwd, "y");
    assert_int_equal(find("roles: {w: {command: [cat, s, s/key, y]}}", &o, &l, &faults), 0);
    assert_string_equal(names(&l, &out), "y");
}

static void no_ship_and_roles_of_the_client_look_for_nothing(void **state)
{
    struct uploads_options o = { .cwd = *state, .no_ship = true };
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 }, m = { 0 };

    project(*state);
    assert_int_equal(find("roles: {w: {command: [python, train.py]}}", &o, &l, &faults), 0);
    assert_int_equal(l.n, 0);
    o.no_ship = false;
    assert_int_equal(find("roles: {w: {command: [cat, notes.txt], place: client, files: [none]}}",
                          &o, &m, &faults),
                     0);
    assert_int_equal(m.n, 0);
}

static void named_things_travel_for_themselves(void **state)
{
    struct uploads_options o = { .cwd = *state };
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 };
    AUTO_BUF out = { .max = 64 * KIB };

    project(*state);
    put(*state, "env.tar.gz", "xx");
    assert_int_equal(find("files: [data, notes.txt: ./doc/n.txt, hdfs:///big: big, notes.txt: "
                          "doc/n.txt]\narchives: [env.tar.gz: env]\n"
                          "roles:\n  w:\n    command: [env/bin/x, --d=data, big/x]\n"
                          "    files: [model.py]\n",
                          &o, &l, &faults),
                     0);
    assert_string_equal(names(&l, &out), "data/ doc/n.txt big env model.py");
    assert_true(l.v[2].remote && l.v[3].archive && !l.v[3].directory);
    assert_string_equal(l.v[4].role, "w");
    assert_int_equal(l.bundle.n, 0);
    assert_int_equal(uploads_print(&l, &out), 0);
    assert_non_null(strstr(buf_text(&out), "  big ← hdfs:///big  used where it is\n"));
    assert_non_null(strstr(buf_text(&out), "2 B, unpacked\n"));
    assert_non_null(strstr(buf_text(&out), "0 B, for w\n"));
}

static void what_cannot_travel_is_a_fault(void **state)
{
    static const struct {
        const char *yaml, *fault;
    } rows[] = {
        { "files: [none]", "j:1: files[0]: 'none' cannot be read: No such file or directory" },
        { "files: [x: 'a$b']", "j:1: files[0]: 'a$b': YARN can make no file with such a name" },
        { "files: [x: ydl-ship]", "j:1: files[0]: the name 'ydl-ship' is reserved by ydl" },
        { "files: ['s3://b/x']",
          "j:1: files[0]: 's3://b/x': files can be local, or on hdfs:// or viewfs://" },
        { "archives: [d]",
          "j:1: archives[0]: 'd': YARN unpacks zip, jar, tar, tgz and tar.gz only" },
        { "archives: [d.tar]",
          "j:1: archives[0]: 'd.tar' is a directory, not an archive: list it under files" },
        { "archives: [hdfs://n/x.tar.xz]",
          "j:1: archives[0]: 'hdfs://n/x.tar.xz': YARN unpacks zip, jar, tar, tgz and tar.gz "
          "only" },
        { "roles: {w: {command: none, files: [fifo]}}",
          "j:1: roles.w.files[0]: 'fifo' is neither a file nor a directory" },
    };
    struct uploads_options o = { .cwd = *state };
    AUTO_FREE char *fifo = in(*state, "fifo");

    put(*state, "x", "1");
    put(*state, "d/x", "1");
    put(*state, "d.tar/x", "1");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS faults = { 0 };
        AUTO_UPLOADS l = { 0 };

        assert_int_equal(find(rows[i].yaml, &o, &l, &faults), -EINVAL);
        assert_int_equal(faults.n, 1);
        assert_string_equal(faults.v[0], rows[i].fault);
        assert_int_equal(l.n, 0);
    }
}

static void too_much_is_said_once_and_names_the_way_out(void **state)
{
    struct uploads_options o = { .cwd = *state, .most = 4 };
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 };

    put(*state, "a", "123");
    put(*state, "b", "123");
    put(*state, "c", "123");
    assert_int_equal(find("roles: {w: {command: [cat, a, b, c]}}", &o, &l, &faults), -EINVAL);
    assert_int_equal(faults.n, 1);
    assert_string_equal(faults.v[0], "the files that the command names exceed 4 B in "
                                     "all, reached at 'b': list it in --files, put it on "
                                     "HDFS, or turn this off with --no-ship");
}

static void the_list_is_json_too(void **state)
{
    struct uploads_options o = { .cwd = *state };
    struct err err = ERR_INIT;
    AUTO_STRS faults = { 0 };
    AUTO_UPLOADS l = { 0 };
    AUTO_JSON *v = NULL;
    const json_t *first;

    put(*state, "a", "123");
    assert_int_equal(find("roles: {w: {command: [cat, a]}}", &o, &l, &faults), 0);
    assert_int_equal(uploads_json(&l, &v, &err), 0);
    assert_int_equal(json_array_size(v), 1);
    first = json_array_get(v, 0);
    assert_string_equal(json_string_value(json_object_get(first, "to")), "a");
    assert_int_equal(json_integer_value(json_object_get(first, "size")), 3);
    assert_true(json_is_true(json_object_get(first, "found")));
    assert_true(json_is_null(json_object_get(first, "role")));
}

static void words_become_tidy_paths(void **state)
{
    static const struct {
        const char *word, *path;
    } rows[] = {
        { "a", "a" },     { "./a//b/", "a/b" }, { "a/../b", "b" }, { "a/b/../c", "a/c" },
        { "..", NULL },   { "a/../..", NULL },  { ".", NULL },     { "", NULL },
        { "/a", NULL },   { "~/a", NULL },      { "a/..", NULL },  { "x://y", NULL },
        { "..a", "..a" }, { "a/...", "a/..." },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = NULL;

        assert_int_equal(uploads_tidy(rows[i].word, &path), 0);
        if (rows[i].path)
            assert_string_equal(path, rows[i].path);
        else
            assert_null(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_finds_what_it_needs, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_a_script_names_and_is_not_sent_gets_a_note, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(what_is_found_is_in_the_bundle_file_by_file, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_link_out_of_the_directory_is_left_alone, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(no_ship_and_roles_of_the_client_look_for_nothing, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(named_things_travel_for_themselves, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_cannot_travel_is_a_fault, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(too_much_is_said_once_and_names_the_way_out, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(the_list_is_json_too, make_dir, remove_dir),
        cmocka_unit_test(words_become_tidy_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
