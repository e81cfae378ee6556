/* legacy_opts_test.c - see legacy_opts.h */
#include "base/buf.h"
#include "cli/cli_testing.h"
#include "cmd/front/legacy_opts.h"
#include "test.h"

#include <string.h>

static const char *const places[] = { "local", "yarn", NULL };

/* clang-format off */
static const struct cli_opt own[] = {
    { "-n", .also = { "--nworker" }, .meta = "N", .help = "workers", .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--server-nodes" }, .meta = "N", .help = "servers", .preset = "0",
      .type = CLI_I64 },
    { "-hip", .also = { "--host_ip" }, .meta = "IP", .help = "address", .preset = "auto" },
    { "--log-level", .meta = "L", .help = "level" },
    { "--log-file", .meta = "FILE", .help = "file" },
    { "-f", .also = { "--files" }, .meta = "FILE", .help = "files", .type = CLI_LIST },
    { "-mem", .also = { "--memory_mb" }, .meta = "MB", .help = "memory", .type = CLI_I64 },
    { "--place", .meta = "WHERE", .help = "place", .choices = places },
    { "--p3", .help = "a flag" },
    { "--set", .meta = "COMPONENT KEY VALUE", .help = "three words", .type = CLI_LIST, .more = 2 },
    { 0 },
};
static const struct cli_opt extra[] = {
    { "--gpus", .meta = "N", .help = "number of GPUs", .same_as = "--gpus" },
    { "-q", .also = { "--quiet" }, .help = "be quiet" },
    { "--files", .meta = "FILE", .help = "shadowed" },
    { "--version", .help = "print the version" },
    { "--env", .meta = "NAME=VALUE", .help = "variable", .feature = 2 },
    { 0 },
};
/* clang-format on */

static bool leads_in(const char *word)
{
    return str_eq(word, "yarn");
}

/* Parses a line whose words have blanks between ('_' stands for a blank within one); the result as
 * "[head] name=value … | command". */
static int parse(unsigned habits, const char *line, char **ret, struct err *err)
{
    const struct legacy_syntax s = { own, extra, habits, leads_in };
    AUTO_BUF out = { .max = 4096 };
    AUTO_LEGACY a = { 0 };
    AUTO_STRS words = { 0 };
    int r = strs_split(&words, line, " ");

    for (size_t i = 0; i < words.n; i++)
        for (char *p = words.v[i]; *p; p++)
            *p = *p == '~' ? ' ' : *p;
    *ret = NULL;
    if (r == 0)
        r = legacy_parse(&s, words.v, words.n, &a, err);
    if (r < 0)
        return r;
    if (a.help || a.version)
        r = buf_add_str(&out, a.help ? "help " : "version ");
    if (r == 0 && a.head)
        r = buf_printf(&out, "[%s] ", a.head);
    for (size_t i = 0; r == 0 && i < a.n; i++)
        r = buf_printf(&out, "%s=%s%s ", legacy_name(a.hits[i].option),
                       a.hits[i].value ? a.hits[i].value : "", a.hits[i].late ? "!" : "");
    for (size_t i = 0; r == 0 && i < a.command.n; i++)
        r = buf_printf(&out, "%s%s", i ? " " : "| ", a.command.v[i]);
    if (r == 0 && buf_text(&out))
        *ret = strdup(buf_text(&out));
    return *ret ? 0 : -ENOMEM;
}

static void check(unsigned habits, const char *line, const char *wanted)
{
    AUTO_FREE char *got = NULL;
    struct err err = ERR_INIT;
    int r = parse(habits, line, &got, &err);

    if (r == -ENOMEM)
        return;
    if (r < 0)
        fail_msg("%s: %s", line, err.text);
    assert_string_equal(got, wanted);
}

/* What Python's argparse makes of these was tried with the real one. */
static void argparse_is_copied_with_all_its_habits(void **state)
{
    static const char *const rows[][2] = {
        { "-n 2 python job.py", "--nworker=2 | python job.py" },
        { "-n2 python job.py", "--nworker=2 | python job.py" },
        { "-n=2 python job.py", "--nworker=2 | python job.py" },
        { "--nworker=2 x", "--nworker=2 | x" },
        { "--nw 2 x", "--nworker=2 | x" },
        { "--nw=2 x", "--nworker=2 | x" },
        { "-me 5 x", "--memory_mb=5 | x" },
        { "-hip 10.0.0.1 --host_ip=b x", "--host_ip=10.0.0.1 --host_ip=b | x" },
        { "python -n 2 job.py -s 1", "--nworker=2! --server-nodes=1! | python job.py" },
        { "-n 2 python job.py -n 5", "--nworker=2 --nworker=5! | python job.py" },
        { "-n 2 -- python job.py -n 5", "--nworker=2 | python job.py -n 5" },
        { "-n 2 python -- job.py -n 5", "--nworker=2 | python job.py -n 5" },
        { "python job.py --lr 0.1 -d x", "| python job.py --lr 0.1 -d x" },
        { "--foo python job.py", "| python job.py --foo" },
        { "--foo 3 python -n 1 job.py", "--nworker=1! | 3 python --foo job.py" },
        { "python --foo -- -n 5", "| python --foo -- -n 5" },
        { "python job.py -1 -0.5", "| python job.py -1 -0.5" },
        { "python -x~y -n 1 -", "--nworker=1! | python -x y -" },
        { "-f a --files b x", "--files=a --files=b | x" },
        { "--p3 x", "--p3= | x" },
        { "--gpus 1 python job.py --gpus 0,1", "--gpus=1 | python job.py --gpus 0,1" },
        { "python job.py -q --version", "| python job.py -q --version" },
        { "-h", "help " },
        { "-n 1 x --help", "help --nworker=1 | x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(LEGACY_ARGPARSE, rows[i][0], rows[i][1]);
}

static void without_the_habits_the_first_operand_ends_the_options(void **state)
{
    static const char *const rows[][2] = {
        { "yarn -n 2 job.py -n 5 --help", "[yarn] --nworker=2 | job.py -n 5 --help" },
        { "-n 2 yarn job.py", "[yarn] --nworker=2 | job.py" },
        { "yarn yarn", "[yarn] | yarn" },
        { "-- yarn -n 2", "| yarn -n 2" },
        { "-hip=a -n3 x -- y", "--host_ip=a --nworker=3 | x -- y" },
        { "-q x", "--quiet= | x" },
        { "--version", "version --version= " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(LEGACY_JOINED, rows[i][0], rows[i][1]);
}

/* Names, and options before and behind them, ours too. */
static void names_end_no_options(void **state)
{
    static const char *const rows[][2] = {
        { "tf1 --place local -q", "--place=local --quiet= | tf1" },
        { "--gpus 1 tf1 ps --gpus 2", "--gpus=1 --gpus=2 | tf1 ps" },
        { "tf1 --set ps a.b -1 x", "--set=ps\x1f"
                                   "a.b\x1f-1 | tf1 x" },
        { "--set=a b c --set d e f", "--set=a\x1f"
                                     "b\x1f"
                                     "c --set=d\x1f"
                                     "e\x1f"
                                     "f " },
        { "tf1 -- --place", "| tf1 --place" },
        { "tf1 --version", "version --version= | tf1" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(LEGACY_NAMES, rows[i][0], rows[i][1]);
}

static void a_mistake_is_named(void **state)
{
    static const struct {
        unsigned habits;
        const char *line, *text;
    } rows[] = {
        { LEGACY_NAMES, "tf1 --set a b", "option '--set' needs 3 values (COMPONENT KEY VALUE)" },
        { LEGACY_NAMES, "tf1 --plcae x", "unknown option '--plcae'; did you mean '--place'?" },
        { LEGACY_ARGPARSE, "-n 0 x", "option '--nworker': 0 is less than the minimum, 1" },
        { LEGACY_ARGPARSE, "-n -5 x", "option '--nworker': -5 is less than the minimum, 1" },
        { LEGACY_ARGPARSE, "-n two x", "option '--nworker': 'two' is not a whole number" },
        { LEGACY_ARGPARSE, "-n 99999999999 x",
          "option '--nworker': '99999999999' is out of range" },
        { LEGACY_ARGPARSE, "-num x", "option '--nworker': 'um' is not a whole number" },
        { LEGACY_ARGPARSE, "x -n", "option '--nworker' needs a value (N)" },
        { LEGACY_ARGPARSE, "-n -s 1 x", "option '--nworker' needs a value (N)" },
        { LEGACY_ARGPARSE, "x --log y", "option '--log' is ambiguous: --log-level, --log-file" },
        { LEGACY_ARGPARSE, "--p3=1 x", "option '--p3' takes no value" },
        { LEGACY_ARGPARSE, "-n 1 --lr", "unknown option '--lr'" },
        { LEGACY_ARGPARSE, "-h2 x", "option '--help' takes no value" },
        { LEGACY_ARGPARSE, "--place moon x", "option '--place': 'moon' is not one of local, yarn" },
        { LEGACY_JOINED, "--nworkr 2 x", "unknown option '--nworkr'; did you mean '--nworker'?" },
        { LEGACY_JOINED, "--nw 2 x", "unknown option '--nw'; did you mean '--nworker'?" },
        { LEGACY_JOINED, "--zzz=1 x", "unknown option '--zzz'" },
        { 0, "-n2 x", "unknown option '-n2'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *got = NULL;
        struct err err = ERR_INIT;
        int r = parse(rows[i].habits, rows[i].line, &got, &err);

        if (r == -ENOMEM)
            continue;
        assert_int_equal(r, CLI_USAGE);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void values_are_the_last_ones_or_the_presets(void **state)
{
    const struct legacy_syntax s = { own, extra, LEGACY_ARGPARSE, NULL };
    char *words[] = { (char *)"-n", (char *)"2", (char *)"-n", (char *)"3", (char *)"--p3" };
    struct err err = ERR_INIT;
    AUTO_LEGACY a = { 0 };

    (void)state;
    if (legacy_parse(&s, words, COUNT_OF(words), &a, &err) == -ENOMEM)
        return;
    assert_string_equal(legacy_value(&s, &a, "--nworker"), "3");
    assert_int_equal(legacy_number(&s, &a, "-n", 7), 3);
    assert_int_equal(legacy_number(&s, &a, "-s", 7), 0);
    assert_int_equal(legacy_number(&s, &a, "-mem", 7), 7);
    assert_string_equal(legacy_value(&s, &a, "-hip"), "auto");
    assert_string_equal(legacy_value(&s, &a, "--p3"), "");
    assert_null(legacy_value(&s, &a, "--quiet"));
    assert_true(legacy_given(&a, "--p3"));
    assert_false(legacy_given(&a, "--host_ip"));
}

static void what_a_command_lacks_is_unknown_to_it(void **state)
{
    struct legacy_syntax s = { own, extra, LEGACY_AMONG, NULL };
    char *words[] = { (char *)"--env", (char *)"A=b" };
    struct err err = ERR_INIT;

    (void)state;
    for (s.lacks = 0; s.lacks <= 2; s.lacks++) {
        AUTO_LEGACY a = { 0 };
        int r = legacy_parse(&s, words, COUNT_OF(words), &a, &err);

        if (r == -ENOMEM)
            continue;
        assert_int_equal(r, s.lacks == 2 ? CLI_USAGE : 0);
        if (r == CLI_USAGE)
            assert_string_equal(err.text, "unknown option '--env'");
    }
}

static void tables_with_mistakes_are_found_out(void **state)
{
    static const struct cli_opt rows[][3] = {
        { { "-a", .help = "Capital" } },
        { { "-a", .help = "full stop." } },
        { { "-a" } },
        { { "a", .help = "no dash" } },
        { { "-a", .also = { "--b" }, .help = "twice" }, { "--b", .help = "twice" } },
        { { "-a", .meta = "N", .help = "bad preset", .preset = "x", .type = CLI_I64 } },
        { { "-a", .help = "a flag that counts", .type = CLI_I64 } },
        { { "-a", .help = "both", .same_as = "--x", .no_effect = "because" } },
        { { "-a", .help = "both", .not_supported = "no", .no_effect = "because" } },
        { { "-a", .meta = "N", .help = "two defaults", .preset = "1", .fallback = "one" } },
        { { "-a", .help = "no such group", .group = CLI_GROUPS_ } },
    };
    struct cli_verb self = { .opts = own };
    const struct cli_program program = { .globals = extra, .self = &self };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(cli_check(&program, &err), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        self.opts = rows[i];
        assert_true(cli_check(&program, &err) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argparse_is_copied_with_all_its_habits),
        cmocka_unit_test(without_the_habits_the_first_operand_ends_the_options),
        cmocka_unit_test(names_end_no_options),
        cmocka_unit_test(a_mistake_is_named),
        cmocka_unit_test(values_are_the_last_ones_or_the_presets),
        cmocka_unit_test(what_a_command_lacks_is_unknown_to_it),
        cmocka_unit_test(tables_with_mistakes_are_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
