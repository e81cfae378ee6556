/* pyenv_test.c - environments that work elsewhere; see pyenv.h */
#include "pyenv/archive_files_testing.h"
#include "pyenv/pyenv.h"

static const struct pack_entry *find(const struct pack_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i].name, name))
            return &l->v[i];
    return NULL;
}

/* What a file of the list will be in the archive, when that is not what is on the disk. */
static const char *data_of(const struct pack_list *l, const char *name)
{
    const struct pack_entry *e = find(l, name);

    assert_non_null(e);
    return e->data;
}

#define BESIDE "\"$(dirname -- \"$(realpath -- \"$0\")\")/"

static const struct {
    const char *from, *to; /* NULL: it stays */
} scripts[] = {
    { "#!/e/bin/python3.11\nimport x\n",
      "#!/bin/sh\n'''exec' " BESIDE "python3.11\" \"$0\" \"$@\"\n' '''\nimport x\n" },
    { "#! /e/bin/python -E -s \nx\n",
      "#!/bin/sh\n'''exec' " BESIDE "python\" -E -s \"$0\" \"$@\"\n' '''\nx\n" },
    { "#!/e/bin/python", "#!/bin/sh\n'''exec' " BESIDE "python\" \"$0\" \"$@\"\n' '''" },
    { "#!/other/e/bin/python\r\nx\n",
      "#!/bin/sh\n'''exec' " BESIDE "python\" \"$0\" \"$@\"\n' '''\nx\n" },
    { "#!/e/bin/perl\nx\n", "#!/usr/bin/env perl\nx\n" },
    { "#!/e/bin/perl -w\nx\n", "#!/usr/bin/env -S perl -w\nx\n" },
    { "#!/bin/sh\n'''exec' /e/bin/python \"$0\" \"$@\"\n' '''\nx\n",
      "#!/bin/sh\n'''exec' " BESIDE "python\" \"$0\" \"$@\"\n' '''\nx\n" },
    { "#!/bin/sh\n'''exec' \"/e/bin/python\" \"$0\" \"$@\"\n' '''\nx\n",
      "#!/bin/sh\n'''exec' " BESIDE "python\" \"$0\" \"$@\"\n' '''\nx\n" },
    { "#!/bin/sh\n'''exec' \"/e/bin/python", "#!/bin/sh\n'''exec' " BESIDE "python\"" },
    { "#!/usr/bin/python3\nx\n", NULL },
    { "#!/e2/bin/python3\nx\n", NULL },
    { "#!/e/bin/\nx\n", NULL },
    { "#!/e/lib/python\nx\n", NULL },
    { "#!/e/bin/../../usr/bin/python\nx\n", NULL },
    { "#!/bin/sh\necho /e/bin/python\n", NULL },
    { "#!/bin/sh\n'''exec' /usr/bin/python \"$0\"\n", NULL },
    { "#!/bin/sh\n'''exec' \"", NULL },
    { "#!", NULL },
    { "import x\n", NULL },
};

static void a_script_finds_its_interpreter_beside_itself(void **state)
{
    struct strs prefixes = { 0 };

    (void)state;
    assert_int_equal(strs_add(&prefixes, "/e"), 0);
    assert_int_equal(strs_add(&prefixes, "/other/e"), 0);
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        AUTO_BUF out = { .max = MIB };
        size_t n = strlen(scripts[i].from);
        AUTO_FREE char *exact = malloc(n); /* no NUL behind it */
        int r;

        assert_non_null(exact);
        memcpy(exact, scripts[i].from, n);
        r = pyenv_script(&prefixes, exact, n, &out);
        assert_int_equal(r, scripts[i].to ? 1 : 0);
        if (scripts[i].to)
            assert_string_equal(buf_text(&out), scripts[i].to);
    }
    strs_done(&prefixes);
}

static void a_configuration_does_not_say_where_it_was_made(void **state)
{
    static const char from[] = "home = /usr/bin\ncommand = /usr/bin/python3 -m venv /e\nx = y";
    AUTO_BUF out = { .max = MIB };

    (void)state;
    assert_int_equal(pyenv_config(from, strlen(from), &out), 1);
    assert_string_equal(buf_text(&out), "home = /usr/bin\nx = y\n");
    buf_reset(&out);
    assert_int_equal(pyenv_config("commands = 1\n", 13, &out), 0);
}

static void a_record_has_no_hash_of_what_was_changed(void **state)
{
    static const char from[] = "../../../bin/tool,sha256=abc,200\nfoo/x.py,sha256=d,1\n";
    AUTO_BUF out = { .max = MIB };

    (void)state;
    assert_int_equal(pyenv_record(from, strlen(from), &out), 1);
    assert_string_equal(buf_text(&out), "../../../bin/tool,,\nfoo/x.py,sha256=d,1\n");
}

/* An environment as `python -m venv` makes it, in `name`. */
static void make_venv(const char *dir, const char *name)
{
    AUTO_FREE char *e = in(dir, name);
    AUTO_FREE char *config = str_printf("home = /usr/bin\ncommand = python -m venv %s\n", e);
    AUTO_FREE char *tool = str_printf("#!%s/bin/python3\nprint(1)\n", e);

    assert_true(config && tool);
    put(e, "pyvenv.cfg", config);
    put(e, "bin/tool", tool);
    put(e, "bin/activate", e);
    put(e, "bin/activate.fish", e);
    put(e, "bin/activate.csh", e);
    put(e, "bin/activate.nu", e);
    put(e, "lib/python3.11/site-packages/x/__init__.py", "");
    put(e, "lib/python3.11/site-packages/x/__pycache__/__init__.pyc", e);
    put(e, "lib/python3.11/site-packages/x-1.dist-info/RECORD", "../../../bin/tool,h,1\n");
    put(e, "lib/python3.11/site-packages/x-1.dist-info/direct_url.json",
        "{\"url\": \"file:///x\", \"dir_info\": {\"editable\": true}}");
    link_to("/usr/bin/env", e, "bin/python3.11");
    link_to("python3.11", e, "bin/python3");
    link_to("python3", e, "bin/python");
    link_to("lib", e, "lib64");
}

static void a_venv_is_listed_as_it_is_to_be(void **state)
{
    AUTO_FREE char *dir = in(*state, "e");
    AUTO_PACK_LIST l = { 0 };
    AUTO_PYENV e = { 0 };
    AUTO_STRS notes = { 0 };

    make_venv(*state, "e");
    assert_int_equal(pyenv_look(dir, &e, NULL), 0);
    assert_int_equal(e.kind, PYENV_VENV);
    assert_string_equal(e.python, "/usr/bin/env");
    assert_int_equal(pyenv_list(&e, &l, NULL), 0);
    assert_true(pack_size(&l) > 0);
    assert_string_equal(data_of(&l, "bin/activate"), pyenv_activate_sh);
    assert_string_equal(data_of(&l, "bin/activate.fish"), pyenv_activate_fish);
    assert_null(find(&l, "bin/activate.nu"));
    assert_null(find(&l, "bin/activate.csh"));
    assert_non_null(strstr(data_of(&l, "bin/tool"), "/python3\""));
    assert_string_equal(data_of(&l, "pyvenv.cfg"), "home = /usr/bin\n");
    assert_string_equal(find(&l, "bin/python3.11")->link, "/usr/bin/env");
    assert_int_equal(find(&l, "bin/python3.11")->type, PACK_LINK);
    assert_string_equal(find(&l, "bin/python3")->link, "python3.11");
    assert_string_equal(find(&l, "lib64")->link, "lib");
    assert_null(find(&l, "lib/python3.11/site-packages/x/__pycache__"));
    assert_int_equal(pyenv_notes(&e, &l, &notes), 0);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.v[0], "pip install -e): x"));
}

static int read_all(struct pack_list *l, struct buf *out)
{
    AUTO_PACK *k = NULL;
    int r = pack_open(l, &k, NULL);

    while (r == 0) {
        uint8_t *to;
        ssize_t n;

        assert_int_equal(buf_room(out, 1000, &to), 0);
        n = pack_read(k, to, 1000, NULL);
        if (n <= 0)
            return (int)n;
        out->len += (size_t)n;
    }
    return r;
}

static void the_same_packages_elsewhere_make_the_same_archive(void **state)
{
    static const char *const names[] = { "one", "another" };
    struct buf bytes[] = { { .max = MIB }, { .max = MIB } };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *dir = in(*state, names[i]);
        AUTO_PACK_LIST l = { 0 };
        AUTO_PYENV e = { 0 };

        make_venv(*state, names[i]);
        assert_int_equal(pyenv_look(dir, &e, NULL), 0);
        assert_int_equal(pyenv_list(&e, &l, NULL), 0);
        assert_int_equal(read_all(&l, &bytes[i]), 0);
        assert_int_equal(bytes[i].len, pack_size(&l));
    }
    assert_int_equal(bytes[0].len, bytes[1].len);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].len);
    buf_done(&bytes[0]);
    buf_done(&bytes[1]);
}

static void scripts_of_one_that_was_moved_are_known_too(void **state)
{
    AUTO_FREE char *was = in(*state, "was"), *is = in(*state, "is");
    AUTO_PACK_LIST l = { 0 };
    AUTO_PYENV e = { 0 };

    make_venv(*state, "was");
    assert_int_equal(rename(was, is), 0);
    assert_int_equal(pyenv_look(is, &e, NULL), 0);
    assert_int_equal(pyenv_list(&e, &l, NULL), 0);
    assert_non_null(data_of(&l, "bin/tool"));
}

static void a_conda_environment_brings_what_tells_it_its_place(void **state)
{
    AUTO_FREE char *dir = in(*state, "c");
    AUTO_FREE char *tool = str_printf("#!%s/bin/python\n", dir);
    AUTO_PACK_LIST l = { 0 };
    AUTO_PYENV e = { 0 };

    assert_non_null(tool);
    put(dir, "conda-meta/history", "");
    put(dir, "bin/python", "\177ELF");
    put(dir, "bin/tool", tool);
    put(dir, "pkgs/x", "1");
    put(dir, "lib/pkgs/x", "1");
    put(dir, CONDA_PREFIX_LIST, "text\t/h\tx\n");
    put(dir, CONDA_PREFIX_MARK, "/elsewhere\n");
    assert_int_equal(pyenv_look(dir, &e, NULL), 0);
    assert_int_equal(e.kind, PYENV_CONDA);
    assert_null(e.python);
    assert_int_equal(pyenv_list(&e, &l, NULL), 0);
    assert_null(find(&l, CONDA_PREFIX_LIST));
    assert_null(find(&l, CONDA_PREFIX_MARK));
    assert_string_equal(data_of(&l, "conda-meta/history"), "");
    assert_true(find(&l, "bin/conda-unpack")->executable);
    assert_non_null(data_of(&l, "bin/activate"));
    assert_non_null(data_of(&l, "bin/tool"));
    assert_null(data_of(&l, "bin/python"));
    assert_null(find(&l, "pkgs"));
    assert_non_null(find(&l, "lib/pkgs/x"));
}

#define HOLDER "/a-place-that-no-machine-has/" HOLDER_REST
#define HOLDER_REST                                                                                \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"
#define RECORD                                                                                     \
    "{\"extracted_package_dir\": \"/cache\", \"link\": {\"source\": \"/cache\", \"type\": 1},\n"   \
    " \"paths_data\": {\"paths\": [\n"                                                             \
    " {\"_path\": \"lib/x.txt\", \"file_mode\": \"text\", \"prefix_placeholder\": \"" HOLDER       \
    "\",\n"                                                                                        \
    "  \"sha256_in_prefix\": \"1\", \"sha256\": \"2\", \"size_in_bytes\": 3},\n"                   \
    " {\"_path\": \"lib/x.so\", \"file_mode\": \"binary\", \"prefix_placeholder\": \"" HOLDER      \
    "\"},\n"                                                                                       \
    " {\"_path\": \"lib/y.so\", \"file_mode\": \"binary\", \"prefix_placeholder\": \"" HOLDER      \
    "\"},\n"                                                                                       \
    " {\"_path\": \"lib/gone\", \"file_mode\": \"text\", \"prefix_placeholder\": \"/short\"},\n"   \
    " {\"_path\": \"bin/tool\", \"path_type\": \"unix_python_entry_point\", \"sha256\": \"4\"},\n" \
    " 7]}}"

/* A program with one string, as it is after it was installed: NULs up to where the placeholder
 * ended. */
static void put_program(const char *dir, const char *name, const char *text, size_t room)
{
    AUTO_FREE char *path = in(dir, name), *bytes = calloc(1, room + 5);

    assert_non_null(bytes);
    memcpy(bytes, text, strlen(text));
    memcpy(bytes + room + 1, "end", 4);
    assert_int_equal(path_write_new(path, bytes, room + 5, 0600, NULL), 0);
}

static void files_of_conda_get_their_placeholders_again(void **state)
{
    AUTO_FREE char *dir = in(*state, "c");
    AUTO_FREE char *text = str_printf("prefix=%s\n%s-not\n", dir, dir);
    AUTO_FREE char *after = str_printf("prefix=" HOLDER "\n%s-not\n", dir);
    AUTO_FREE char *library = str_printf("%s/lib", dir);
    AUTO_FREE char *rows = str_printf(
        "text\t" HOLDER "\tlib/x.txt\nbinary\t" HOLDER "\tlib/x.so\nbinary\t%s\tlib/y.so\n", dir);
    AUTO_PACK_LIST l = { 0 };
    AUTO_PYENV e = { 0 };
    AUTO_STRS notes = { 0 };
    const struct pack_entry *program;
    const char *record;

    assert_true(text && after && library && rows);
    put(dir, "conda-meta/x-1.json", RECORD);
    put(dir, "conda-meta/broken.json", "{");
    put(dir, "lib/x.txt", text);
    put_program(dir, "lib/x.so", library, strlen(HOLDER "/lib"));
    put_program(dir, "lib/y.so", library, strlen(library));
    assert_int_equal(pyenv_look(dir, &e, NULL), 0);
    assert_int_equal(pyenv_list(&e, &l, NULL), 0);
    assert_string_equal(data_of(&l, "lib/x.txt"), after);
    assert_string_equal(data_of(&l, CONDA_PREFIX_LIST), rows);
    program = find(&l, "lib/x.so");
    assert_int_equal(program->patches.n, 1);
    assert_int_equal(program->patches.v[0].n, strlen(HOLDER "/lib"));
    assert_memory_equal(program->patches.v[0].bytes, HOLDER "/lib", strlen(HOLDER "/lib"));
    record = data_of(&l, "conda-meta/x-1.json");
    assert_null(strstr(record, "/cache"));
    assert_null(strstr(record, "sha256_in_prefix"));
    assert_null(strstr(record, "size_in_bytes"));
    assert_non_null(strstr(record, "\"2\""));
    assert_null(strstr(record, "\"4\""));
    assert_null(data_of(&l, "conda-meta/broken.json"));
    assert_int_equal(pyenv_notes(&e, &l, &notes), 0);
    assert_int_equal(notes.n, strlen(dir) < 128);
    if (notes.n)
        assert_non_null(strstr(notes.v[0], "bytes: lib/y.so"));
}

static void any_other_directory_stays_as_it_is(void **state)
{
    AUTO_PACK_LIST l = { 0 };
    AUTO_PYENV e = { 0 };

    put(*state, "d/bin/x", "#!/usr/bin/python\n");
    put(*state, "d/__pycache__/x", "");
    assert_int_equal(pyenv_look(*state, &e, NULL), 0);
    assert_int_equal(e.kind, PYENV_NONE);
    assert_int_equal(pyenv_list(&e, &l, NULL), 0);
    assert_null(data_of(&l, "d/bin/x"));
    assert_null(find(&l, "d/__pycache__"));
    assert_int_equal(l.n_files, 1);
}

static void interpreters_of_a_person_are_known(void **state)
{
    static const struct {
        const char *path;
        bool private;
    } rows[] = { { "/usr/bin/python3", false },
                 { "/opt/python/bin/python3", false },
                 { "/home/me/.pyenv/versions/3.11/bin/python", true },
                 { "/data/me/.local/share/uv/python", true } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(pyenv_python_is_private(rows[i].path), rows[i].private);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_finds_its_interpreter_beside_itself),
        cmocka_unit_test(a_configuration_does_not_say_where_it_was_made),
        cmocka_unit_test(a_record_has_no_hash_of_what_was_changed),
        cmocka_unit_test_setup_teardown(a_venv_is_listed_as_it_is_to_be, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_same_packages_elsewhere_make_the_same_archive, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(scripts_of_one_that_was_moved_are_known_too, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_conda_environment_brings_what_tells_it_its_place,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(files_of_conda_get_their_placeholders_again, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(any_other_directory_stays_as_it_is, make_dir, remove_dir),
        cmocka_unit_test(interpreters_of_a_person_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
