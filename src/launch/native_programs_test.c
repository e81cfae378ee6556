/* native_programs_test.c - see native_programs.h */
#include "client/client_files_testing.h"
#include "launch/native_programs.h"

#include <sys/stat.h>

static char *joined(const struct strs *l)
{
    AUTO_BUF b = { .max = 4096 };

    for (size_t i = 0; i < l->n; i++)
        assert_int_equal(buf_printf(&b, "%s%s", i ? " " : "", l->v[i]), 0);
    return strdup(buf_text(&b) ? (char *)b.data : "");
}

struct row {
    const char *command;
    bool there, cluster;
    enum spec_place place;
    const char *image;
    const char *result; /* DIR stands for the directory; NULL: a fault */
    bool file;
    bool empty; /* no tasks, so far */
};

static void check(const char *dir, const struct row *row)
{
    AUTO_SPEC s = { 0 };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_FREE char *program = path_join(dir, "ydl-native"), *command = NULL, *wanted = NULL;
    struct spec_role *r = NULL;

    spec_init(&s);
    assert_non_null(program);
    (void)unlink(program);
    if (row->there) {
        put(dir, "ydl-native", "");
        assert_int_equal(chmod(program, 0700), 0);
    }
    assert_int_equal(spec_add_role(&s, "server", &r), 0);
    assert_int_equal(spec_words(row->command, &r->command, NULL), 0);
    r->place = row->place;
    r->count = row->empty ? 0 : 1;
    assert_int_equal(spec_set_text(&s.image, row->image), 0);
    assert_int_equal(native_programs_find(&s, dir, row->cluster, &f), row->result ? 0 : -EINVAL);
    if (!row->result) {
        assert_non_null(strstr(f.lines.v[0], "install both in the same directory"));
        return;
    }
    command = joined(&r->command);
    wanted = str_starts(row->result, "DIR") ? str_printf("%s%s", dir, row->result + 3)
                                            : strdup(row->result);
    assert_string_equal(command, wanted);
    assert_int_equal(r->files.n, row->file);
    if (row->file) {
        assert_string_equal(r->files.v[0].from, program);
        assert_string_equal(r->files.v[0].to, "ydl-native");
    }
}

static void a_native_role_gets_the_program_where_it_runs(void **state)
{
#define N "ydl-native mxnet --fallback -- python -- x"
    /* clang-format off */
    static const struct row rows[] = {
        { N, .there = true, .result = "DIR/" N },
        { N, .there = true, .cluster = true, .result = "./" N, .file = true },
        { N, .there = true, .cluster = true, .place = SPEC_PLACE_CLIENT, .result = "DIR/" N },
        { N, .there = true, .image = "i", .result = N },
        { N, .there = true, .image = "i", .cluster = true, .result = "./" N, .file = true },
        { N, .there = true, .cluster = true, .result = "./" N, .file = true, .empty = true },
        { N, .result = N, .empty = true },
        { "python ydl-native", .there = true, .result = "python ydl-native" },
        /* without it, the command that it stands in for */
        { N, .cluster = true, .result = "python -- x" },
        { N, .result = "python -- x" },
        { "ydl-native mxnet -- python --fallback" },
        { "ydl-native tensorflow" },
        { "true", .result = "true" },
    };
    /* clang-format on */
#undef N

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(*state, &rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_native_role_gets_the_program_where_it_runs, make_dir,
                                        remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
