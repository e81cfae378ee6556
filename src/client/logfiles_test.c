/* logfiles_test.c - see logfiles.h */
#include "base/path.h"
#include "client/client_files_testing.h"
#include "client/logfiles.h"

#include <string.h>

static void files_come_by_role_and_rank(void **state)
{
    static const char *const names[] = { "worker-10.out", "worker-2.err", "worker-2.out",
                                         "ps-0.out",      "a-b-1.out",    "worker-x.out",
                                         "worker-1.log",  "-1.out",       "worker-1",
                                         "master.log",    "worker--3.out" };
    static const char *const wanted[] = {
        "a-b:1", "ps:0", "worker:2", "worker:2", "worker:10", "worker-:3"
    }; /* an odd role, but one */
    AUTO_FS_SET *set = NULL;
    struct fs *fs = local_files(&set);
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        put(*state, names[i], "");
    assert_int_equal(logfiles_list(fs, *state, NULL, &files, &err), 0);
    assert_int_equal(files.n, COUNT_OF(wanted));
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_string_equal(files.v[i].task, wanted[i]);
    assert_int_equal(files.v[2].stream, PIECE_OUT);
    assert_int_equal(files.v[3].stream, PIECE_ERR);
}

/* A task that was on three machines: the newest output has the name without a number. */
static void what_earlier_agents_saved_comes_first(void **state)
{
    static const char *const names[] = { "worker-2.out",    "worker-2.10.out", "worker-2.2.out",
                                         "worker-2.1.err",  "worker-2.err",    "worker-2.0.out",
                                         "worker-2.01.out", "worker-2..out",   "worker-2.1.2.out",
                                         "worker-2.x.out",  "worker-10.out" };
    static const uint32_t parts[] = { 2, 10, 0, 1, 0, 0 };
    AUTO_FS_SET *set = NULL;
    struct fs *fs = local_files(&set);
    AUTO_LOGFILES files = { 0 };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        put(*state, names[i], "");
    assert_int_equal(logfiles_list(fs, *state, NULL, &files, NULL), 0);
    assert_int_equal(files.n, COUNT_OF(parts));
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        assert_string_equal(files.v[i].task, i < 5 ? "worker:2" : "worker:10");
        assert_int_equal(files.v[i].part, parts[i]);
        assert_int_equal(files.v[i].stream, i == 3 || i == 4 ? PIECE_ERR : PIECE_OUT);
    }
}

/* YARN's own logs have the names that tasks' files have in containers. */
static void names_of_containers_are_known_too(void **state)
{
    static const struct {
        const char *name;
        bool fine;
        enum piece_stream stream;
    } rows[] = {
        { "worker-2.out", true, PIECE_OUT },          { "worker-2.stdout", true, PIECE_OUT },
        { "worker-2.stderr", true, PIECE_ERR },       { "worker-2.stdout.1", false, PIECE_OUT },
        { "worker-2.stdout.part", false, PIECE_OUT }, { "stdout", false, PIECE_OUT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct logfile f = { 0 };

        assert_int_equal(logfiles_parse(rows[i].name, &f), rows[i].fine);
        if (!rows[i].fine)
            continue;
        assert_string_equal(f.task, "worker:2");
        assert_int_equal(f.stream, rows[i].stream);
    }
}

/* Long output in pieces is one stream. */
static void pieces_are_read_as_one(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct fs *fs = local_files(&set);
    AUTO_LOGFILES files = { 0 };
    AUTO_LOGREADER *reader = NULL;
    uint64_t at = 0;
    char text[16];

    put(*state, "worker-1.out", "ghi");
    put(*state, "worker-1.out.1", "abc");
    put(*state, "worker-1.out.2", "def");
    assert_int_equal(logfiles_list(fs, *state, NULL, &files, NULL), 0);
    assert_int_equal(files.n, 1);
    assert_int_equal(logreader_open(&files.v[0], &reader, NULL), 0);
    assert_int_equal(logreader_size(reader), 9);
    for (size_t i = 0; i < 3; i++, at += 3) {
        assert_int_equal(logreader_read(reader, &at, text, sizeof(text), NULL), 3);
        assert_memory_equal(text, &"abcdefghi"[at], 3);
    }
    assert_int_equal(logreader_read(reader, &at, text, sizeof(text), NULL), 0);
}

static void only_those_that_are_wanted_come(void **state)
{
    AUTO_FS_SET *set = NULL;
    struct fs *fs = local_files(&set);
    AUTO_LOGFILES files = { 0 };
    AUTO_STRS wanted = { 0 };
    struct err err = ERR_INIT;

    put(*state, "worker-1.out", "");
    put(*state, "worker-2.out", "");
    put(*state, "work-1.out", "");
    put(*state, "ps-0.out", "");
    assert_int_equal(strs_add(&wanted, "worker:2"), 0);
    assert_int_equal(strs_add(&wanted, "ps"), 0);
    assert_int_equal(logfiles_list(fs, *state, &wanted, &files, &err), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.v[0].task, "ps:0");
    assert_string_equal(files.v[1].task, "worker:2");
    assert_false(logfiles_wanted(&wanted, "worker:1"));
}

static void no_directory_is_no_file(void **state)
{
    AUTO_FREE char *none = path_join(*state, "none");
    AUTO_FS_SET *set = NULL;
    struct fs *fs = local_files(&set);
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;

    assert_non_null(none);
    assert_int_equal(logfiles_list(fs, none, NULL, &files, &err), 0);
    assert_int_equal(files.n, 0);
}

static void the_last_lines_are_found(void **state)
{
    static const struct {
        const char *text;
        uint64_t lines, at, left;
    } rows[] = {
        { "", 3, 0, 3 },          { "a\nb\nc\n", 1, 4, 0 }, { "a\nb\nc\n", 2, 2, 0 },
        { "a\nb\nc\n", 3, 0, 0 }, { "a\nb\nc\n", 9, 0, 6 }, { "a\nb\nc", 1, 4, 0 },
        { "a\nb\nc", 2, 2, 0 },   { "\n\n\n", 2, 1, 0 },    { "abc", 1, 0, 0 },
        { "a\nb", 0, 3, 0 },      { "\n", 2, 0, 1 },
    };
    AUTO_FREE char *path = path_join(*state, "x");
    AUTO_FS_SET *set = NULL;
    struct logfile f = { .fs = local_files(&set), .path = path };
    struct err err = ERR_INIT;

    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_LOGREADER *r = NULL;
        uint64_t at = 77, left = rows[i].lines;

        put(*state, "x", rows[i].text);
        assert_int_equal(logreader_open(&f, &r, &err), 0);
        assert_int_equal(logreader_tail(r, &left, &at, &err), 0);
        assert_int_equal(at, rows[i].at);
        assert_int_equal(left, rows[i].left);
        assert_int_equal(logreader_size(r), strlen(rows[i].text));
    }
}

static void the_last_lines_of_a_large_file_are_found(void **state)
{
    AUTO_FREE char *path = path_join(*state, "x");
    AUTO_FREE char *text = malloc(300001);
    AUTO_FS_SET *set = NULL;
    struct logfile f = { .fs = local_files(&set), .path = path };
    AUTO_LOGREADER *r = NULL;
    struct err err = ERR_INIT;
    uint64_t at;

    assert_non_null(path);
    assert_non_null(text);
    for (size_t i = 0; i < 300000; i++)
        text[i] = i % 100 == 99 ? '\n' : 'x';
    text[300000] = '\0';
    put(*state, "x", text);
    assert_int_equal(logreader_open(&f, &r, &err), 0);
    for (uint64_t lines = 1; lines < 3000; lines += 371) {
        uint64_t left = lines;

        assert_int_equal(logreader_tail(r, &left, &at, &err), 0);
        assert_int_equal(at, 300000 - lines * 100);
    }
}

/* Of a job whose master could not say it. */
static void a_task_that_ran_and_has_no_file_is_named(void **state)
{
    AUTO_JSON *status =
        json_loads("{\"tasks\": [{\"task\": \"worker:0\", \"pid\": 5}, {\"task\": \"worker:1\", "
                   "\"pid\": 6}, {\"task\": \"worker:2\", \"pid\": null}, {\"task\": \"ps:0\", "
                   "\"pid\": 7}, {\"task\": \"worker:3\", \"pid\": 8, \"state\": \"LOST\", "
                   "\"class\": \"person\"}]}",
                   0, NULL);
    struct logfile v[] = { { .task = "worker:0", .stream = PIECE_OUT },
                           { .task = "ps:0", .stream = PIECE_ERR } };
    struct logfiles files = { .v = v, .n = COUNT_OF(v) };
    AUTO_STRS lacking = { 0 };

    (void)state;
    assert_non_null(status);
    assert_int_equal(logfiles_lacking(&files, status, &lacking), 0);
    assert_int_equal(lacking.n, 1);
    assert_string_equal(lacking.v[0], "worker:3"); /* it went with its application */
    assert_int_equal(json_object_set_new(status, "lost", json_true()), 0);
    strs_done(&lacking);
    lacking = (struct strs){ 0 };
    assert_int_equal(logfiles_lacking(&files, status, &lacking), 0);
    assert_int_equal(lacking.n, 2);
    assert_string_equal(lacking.v[0], "worker:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_come_by_role_and_rank, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_earlier_agents_saved_comes_first, make_dir,
                                        remove_dir),
        cmocka_unit_test(names_of_containers_are_known_too),
        cmocka_unit_test_setup_teardown(pieces_are_read_as_one, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_those_that_are_wanted_come, make_dir, remove_dir),
        cmocka_unit_test(a_task_that_ran_and_has_no_file_is_named),
        cmocka_unit_test_setup_teardown(no_directory_is_no_file, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_last_lines_are_found, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_last_lines_of_a_large_file_are_found, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
