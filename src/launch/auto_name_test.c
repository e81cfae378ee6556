/* auto_name_test.c - see auto_name.h */
#include "job/spec/spec.h"
#include "launch/auto_name.h"
#include "test.h"

#include <string.h>

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define EXPORTS "export A=1 && export B=2 && export C=3 && export D=4 && export E=5"

static const struct {
    const char *command[5], *name;
} rows[] = {
    { { NULL }, "job" },
    { { "/bin/true" }, "true" },
    { { "python", "-u", "src/train.py", "--epochs=3" }, "train" },
    { { "python3", "-m", "torch.utils", "x", "late.py" }, "python3" },
    { { "sh", "-c", EXPORTS " && exec python3 train.py" }, "train" },
    { { "sh", "-c", "cd /data/src;python3 'my train.py' --lr 1" }, "train" },
    { { "bash", "-c", "a\nb\nsrc/run.sh $X" }, "run" },
    { { "sh", "-c", EXPORTS }, "sh" },
    { { "sh", "run.sh", "train.py" }, "run" },
    { { EXPORTS }, "export-A-1-export-B-2-export-C-3-export-D-4-export-E-5" },
    { { A64 A64 ".py" }, A64 },
    { { "x", A64 A64 ".py" }, A64 },
    { { "x", ".py" }, "x" },
    { { "x", "a...py" }, "a" },
    { { "x", "a...b.py" }, "a.b" },
    { { "last" }, "job" },
    { { "x", "last.py" }, "job" },
    { { "--x" }, "x" },
    { { ".." }, "job" },
    { { "." }, "job" },
    { { "/" }, "job" },
    { { "" }, "job" },
    { { "x", "-.py" }, "job" },
    { { "\xff\xfe.py" }, "job" },
    { { "\xc3\xa9t\xc3\xa9.py" }, "t" },
};

static void check_words(struct spec *s, const char *const *words)
{
    for (size_t i = 0; i < COUNT_OF(rows[0].command) && words[i]; i++)
        assert_int_equal(strs_add(&s->command, words[i]), 0);
}

static void a_command_names_its_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SPEC s = { 0 };

        spec_init(&s);
        check_words(&s, rows[i].command);
        s.name = auto_name(&s.command);
        assert_non_null(s.name);
        assert_string_equal(s.name, rows[i].name);
    }
}

/* Whatever the command is: every word of up to three bytes of the kinds that the rules know, and
 * words of every length about the longest name. */
static void the_name_is_always_one_that_a_job_may_have(void **state)
{
    static const char bytes[] = "a-./ l\x01\x7f\xc3\xff";
    char word[80];

    (void)state;
    for (size_t i = 0; i < 10 * 10 * 10 + 70; i++) {
        AUTO_SPEC s = { 0 };
        AUTO_SPEC_FAULTS f = { 0 };
        AUTO_STRS command = { 0 };

        if (i < 1000)
            (void)snprintf(word, sizeof(word), "%c%c%c", bytes[i % 10], bytes[i / 10 % 10],
                           bytes[i / 100]);
        else
            (void)snprintf(word, sizeof(word), "%.*s.-x", (int)(i - 1000), A64 A64);
        spec_init(&s);
        assert_int_equal(strs_add(&command, word), 0);
        assert_int_equal(strs_add(&s.command, "x"), 0);
        assert_int_equal(spec_role_count(&s, "worker", 1), 0);
        s.name = auto_name(&command);
        assert_non_null(s.name);
        if (spec_check(&s, &f) != 0)
            fail_msg("'%s': %s", word, f.lines.n ? f.lines.v[0] : "out of memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_names_its_job),
        cmocka_unit_test(the_name_is_always_one_that_a_job_may_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
