/* cli_test.c - the parser; see cli.h. What is printed from the tables: cli_print_test.c. */
#include "cli/cli_testing.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct args {
    bool recursive, checks;
    const char *queue;
    unsigned workers;
    int64_t offset, grace;
    uint64_t mem;
    struct strs files;
    int on;
};

struct everywhere {
    bool json;
    const char *conf;
    unsigned level;
};

static const char *const places[] = { "local", "yarn", NULL };
static const char *const shells[] = { "bash", "zsh", NULL };

#define AT(field) offsetof(struct args, field)
/* clang-format off */
static const struct cli_opt opts[] = {
    { "recursive", 'r', CLI_FLAG,   AT(recursive), NULL,      NULL,   "go down" },
    { "checks",    0,   CLI_FLAG,   AT(checks),    "yes",     NULL,   "check sums" },
    { "queue",     'q', CLI_TEXT,   AT(queue),     "default", "NAME", "queue NAME" },
    { "workers",   'n', CLI_COUNT,  AT(workers),   "1",       "N",    "run N" },
    { "offset",    0,   CLI_I64,    AT(offset),    NULL,      "N",    "from N" },
    { "grace",     0,   CLI_MS,     AT(grace),     "30s",     "TIME", "wait TIME" },
    { "mem",       'm', CLI_SIZE,   AT(mem),       NULL,      "SIZE", "use SIZE" },
    { "file",      'f', CLI_LIST,   AT(files),     NULL,      "FILE", "send FILE" },
    { "on",        0,   CLI_CHOICE, AT(on),        NULL,      "PLACE", "run at PLACE", places },
    { 0 },
};
static const struct cli_opt globals[] = {
    { "json",  0,   CLI_FLAG,  offsetof(struct everywhere, json),  NULL, NULL,  "print JSON" },
    { "conf",  'c', CLI_TEXT,  offsetof(struct everywhere, conf),  NULL, "DIR", "read DIR" },
    { "level", 'r', CLI_COUNT, offsetof(struct everywhere, level), "7",  "N",   "shadowed letter" },
    { 0 },
};
/* clang-format on */

static int run(struct cli *c, struct err *err)
{
    (void)c;
    (void)err;
    return 0;
}

static const struct cli_verb put = {
    .name = "put",
    .summary = "send",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "[FILE…]",
    .most = CLI_ANY,
    .run = run,
};
static const struct cli_verb mv = {
    .name = "mv", .summary = "move", .operands = "FROM TO", .least = 2, .most = 2, .run = run
};
static const struct cli_verb *const fs_verbs[] = { &put, &mv, NULL };
static const struct cli_verb fs = { .name = "fs", .summary = "files", .subs = fs_verbs };
static const struct cli_example start_examples[] = {
    { "t start make", "make it" },
    { 0 },
};
static const struct cli_verb start = {
    .name = "start",
    .summary = "run a command",
    .ask = "Which command?",
    .examples = start_examples,
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "COMMAND [ARG…]",
    .least = 1,
    .most = CLI_ANY,
    .command_follows = true,
    .run = run,
};
static const struct cli_verb shell = { .name = "shell",
                                       .summary = "choose",
                                       .operands = "bash|zsh",
                                       .least = 1,
                                       .most = 1,
                                       .words = shells,
                                       .run = run };
static const struct cli_verb secret = {
    .name = "secret", .summary = "hidden", .hidden = true, .run = run
};
static const struct cli_verb *const verbs[] = { &fs, &start, &shell, &secret, NULL };
static const struct cli_program program = {
    .name = "t",
    .summary = "a test",
    .globals = globals,
    .globals_size = sizeof(struct everywhere),
    .verbs = verbs,
};

/* The words of `line`, separated by blanks; "~" is an empty word. */
static int parse(const char *line, struct cli *c, struct err *err)
{
    static char words[512];
    static char *argv[32];
    int argc = 0;

    snprintf(words, sizeof(words), "%s", line);
    for (char *p = words; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
        argv[argc++] = p;
    for (char *p = words + strlen(line); p-- > words;)
        if (*p == ' ')
            *p = '\0';
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "~") == 0)
            argv[i] = (char *)"";
    argv[argc] = NULL;
    return cli_parse(&program, argc, argv, c, err);
}

static void presets_hold_until_an_option_is_given(void **state)
{
    AUTO_CLI c = { 0 };
    struct err err = ERR_INIT;
    const struct args *a;

    (void)state;
    assert_int_equal(parse("t fs put", &c, &err), 0);
    a = c.args;
    assert_ptr_equal(c.verb, &put);
    assert_int_equal(c.depth, 2);
    assert_false(a->recursive);
    assert_true(a->checks);
    assert_string_equal(a->queue, "default");
    assert_int_equal(a->workers, 1);
    assert_int_equal(a->grace, 30000);
    assert_int_equal(a->on, -1);
    assert_int_equal(a->files.n, 0);
    assert_int_equal(((struct everywhere *)c.globals)->level, 7);
}

static void every_spelling_of_an_option_is_understood(void **state)
{
    static const char *const rows[] = {
        "t fs put --queue=prod --workers=3 --mem=1.5g --grace=1h --offset=-4 --on=yarn -r",
        "t fs put --queue prod --workers 3 --mem 1.5g --grace 1h --offset -4 --on yarn --recursive",
        "t fs put -qprod -n3 -m1.5g --grace 3600 --offset -4 --on yarn -r",
        "t fs put -q prod -n 3 -m 1.5g --grace 60m --offset=-4 --on yarn -r",
        "t fs put -rqprod -n 9 -rn3 -m1536m --grace 1h --offset -4 --on local --on yarn",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };
        struct err err = ERR_INIT;
        const struct args *a;

        assert_int_equal(parse(rows[i], &c, &err), 0);
        a = c.args;
        assert_true(a->recursive);
        assert_string_equal(a->queue, "prod");
        assert_int_equal(a->workers, 3);
        assert_int_equal(a->mem, 1536 * MIB);
        assert_int_equal(a->grace, 3600000);
        assert_int_equal(a->offset, -4);
        assert_int_equal(a->on, 1);
    }
}

static void options_and_operands_mix_until_two_dashes(void **state)
{
    static const struct {
        const char *line, *operands;
        bool recursive, json;
        size_t files;
    } rows[] = {
        { "t fs put a -r b", "a|b|", true, false, 0 },
        { "t fs put a -- -r b", "a|-r|b|", false, false, 0 },
        { "t fs put - -r ~", "-||", true, false, 0 },
        { "t --json fs put a", "a|", false, true, 0 },
        { "t fs --json put -f x --file=y -fz", "", false, true, 3 },
        { "t fs put -- --", "--|", false, false, 0 },
        { "t start -r make -j2 --json", "make|-j2|--json|", true, false, 0 },
        { "t start --json -- -odd -r", "-odd|-r|", false, true, 0 },
        { "t -- start make -- x", "make|--|x|", false, false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };
        struct err err = ERR_INIT;
        char joined[64] = "";
        size_t n = 0;

        assert_int_equal(parse(rows[i].line, &c, &err), 0);
        for (size_t k = 0; k < c.n_operands; k++)
            n += (size_t)snprintf(joined + n, sizeof(joined) - n, "%s|", c.operands[k]);
        assert_string_equal(joined, rows[i].operands);
        assert_null(c.operands[c.n_operands]);
        assert_int_equal(((struct args *)c.args)->recursive, rows[i].recursive);
        assert_int_equal(((struct args *)c.args)->files.n, rows[i].files);
        assert_int_equal(((struct everywhere *)c.globals)->json, rows[i].json);
    }
}

static void a_flag_that_is_on_can_be_switched_off_and_on(void **state)
{
    static const struct {
        const char *line;
        bool checks;
    } rows[] = {
        { "t fs put --no-checks", false },
        { "t fs put --checks", true },
        { "t fs put --no-checks --checks", true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(parse(rows[i].line, &c, &err), 0);
        assert_int_equal(((struct args *)c.args)->checks, rows[i].checks);
    }
}

static void a_mistake_is_named_and_the_nearest_word_offered(void **state)
{
    static const struct {
        const char *line, *text, *hint;
    } rows[] = {
        { "t fs put --quue x", "unknown option '--quue'; did you mean '--queue'?",
          "see 't fs put --help'" },
        { "t fs put --que=x", "unknown option '--que'; did you mean '--queue'?", NULL },
        { "t fs put --no-recursive", "unknown option '--no-recursive'; did you mean '--recursive'?",
          NULL },
        { "t fs put --jsno", "unknown option '--jsno'; did you mean '--json'?", NULL },
        { "t --hlep", "unknown option '--hlep'; did you mean '--help'?", "see 't --help'" },
        { "t fs put --xyzzy", "unknown option '--xyzzy'", NULL },
        { "t fs put -rx", "unknown option '-x'", NULL },
        { "t fs put -\xc3\xbc", "unknown option '-\xc3\xbc'", NULL },
        { "t --queue x fs put", "unknown option '--queue'", NULL },
        { "t sf", "unknown verb 'sf'; did you mean 'fs'?", "see 't --help'" },
        { "t secre", "unknown verb 'secre'", NULL },
        { "t fs putt", "'t fs' has no verb 'putt'; did you mean 'put'?", "see 't fs --help'" },
        { "t fs", "'t fs' needs a verb: put, mv", NULL },
        { "t fs put --queue", "option '--queue' needs a value (NAME)", "see 't fs put --help'" },
        { "t fs put -q", "option '--queue' needs a value (NAME)", NULL },
        { "t fs put --json=1", "option '--json' takes no value", NULL },
        { "t fs put --no-checks=1", "option '--no-checks' takes no value", NULL },
        { "t fs put -n x", "option '--workers': 'x' is not a whole number", NULL },
        { "t fs put -n ~", "option '--workers': '' is not a whole number", NULL },
        { "t fs put -n -1", "option '--workers': '-1' is out of range", NULL },
        { "t fs put -n 4294967296", "option '--workers': '4294967296' is out of range", NULL },
        { "t fs put -m lots", "option '--mem': 'lots' is not a size such as 512m or 1.5g", NULL },
        { "t fs put --grace 5y",
          "option '--grace': '5y' is not a duration such as 30s, 5m or 1h30m", NULL },
        { "t fs put --on yran",
          "option '--on': 'yran' is not one of local, yarn; did you mean 'yarn'?", NULL },
        { "t fs put --on 1", "option '--on': '1' is not one of local, yarn", NULL },
        { "t fs mv a", "'t fs mv' needs FROM TO. Usage: t fs mv FROM TO", "see 't fs mv --help'" },
        { "t start", "Which command? Try: t start make", "see 't start --help'" },
        { "t fs mv a b c", "unexpected 'c'. Usage: t fs mv [OPTION…] FROM TO", NULL },
        { "t shell bsh", "'bsh' is not one of bash|zsh; did you mean 'bash'?", NULL },
        { "t secret x", "unexpected 'x'. Usage: t secret [OPTION…]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(parse(rows[i].line, &c, &err), CLI_USAGE);
        assert_int_equal(err.code, CLI_USAGE);
        assert_string_equal(err.text, rows[i].text);
        if (rows[i].hint)
            assert_string_equal(err.hint, rows[i].hint);
    }
}

static void whoever_asks_for_help_gets_it(void **state)
{
    static const struct {
        const char *line;
        const struct cli_verb *verb;
        bool help;
    } rows[] = {
        { "t --help", NULL, true },
        { "t -h", NULL, true },
        { "t fs --help", &fs, true },
        { "t --help fs mv", &mv, true },
        { "t fs mv -h", &mv, true },
        { "t fs put -rh", &put, true },
        { "t fs mv -h --nonsense", &mv, true },
        { "t", NULL, false },
        { "t start x --help", &start, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(parse(rows[i].line, &c, &err), 0);
        assert_ptr_equal(c.verb, rows[i].verb);
        assert_int_equal(c.help, rows[i].help);
        assert_int_equal(err.code, 0);
    }
}

static void all_goes_with_help_and_is_no_option_without_it(void **state)
{
    static const struct {
        const char *line;
        bool all;
    } rows[] = {
        { "t fs mv --help --all", true },
        { "t --help --all fs mv", true },
        { "t fs mv --help", false },
        { "t fs put --help -- --all", false },
    };
    AUTO_CLI without = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLI c = { 0 };

        assert_int_equal(parse(rows[i].line, &c, &err), 0);
        assert_true(c.help);
        assert_int_equal(c.help_all, rows[i].all);
    }
    assert_int_equal(parse("t fs put --all", &without, &err), CLI_USAGE);
}

static void a_verb_wins_over_a_global_option_of_its_letter(void **state)
{
    AUTO_CLI inside = { 0 };
    AUTO_CLI before = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse("t fs put -r", &inside, &err), 0);
    assert_true(((struct args *)inside.args)->recursive);
    assert_int_equal(((struct everywhere *)inside.globals)->level, 7);
    assert_int_equal(parse("t -r 3 fs put", &before, &err), 0);
    assert_int_equal(((struct everywhere *)before.globals)->level, 3);
}

static void a_verb_is_found_by_its_words(void **state)
{
    char *good[] = { (char *)"fs", (char *)"mv", NULL };
    char *bad[] = { (char *)"fs", (char *)"mvv", NULL };
    struct err err = ERR_INIT;
    struct cli c;

    (void)state;
    assert_int_equal(cli_find(&program, good, &c, &err), 0);
    assert_ptr_equal(c.verb, &mv);
    assert_int_equal(cli_find(&program, bad, &c, &err), CLI_USAGE);
    assert_string_equal(err.text, "'t fs' has no verb 'mvv'; did you mean 'mv'?");
}

static void tables_with_mistakes_are_found_out(void **state)
{
    static const struct cli_opt rows[][3] = {
        { { "a", 0, CLI_FLAG, 0, NULL, NULL, "Capital" } },
        { { "a", 0, CLI_FLAG, 0, NULL, NULL, "full stop." } },
        { { "a", 0, CLI_FLAG, 0, NULL, "X", "meta" } },
        { { "a", 0, CLI_FLAG, 0, "no", NULL, "preset" } },
        { { "a", 0, CLI_TEXT, 0, NULL, NULL, "no meta" } },
        { { "a", 0, CLI_COUNT, 0, "x", "N", "bad preset" } },
        { { "a", 0, CLI_CHOICE, 0, NULL, "N", "no choices" } },
        { { "a", 0, CLI_LIST, 0, "x", "N", "list with preset" } },
        { { "a", 0, CLI_TEXT, 0, "x", "N", "two defaults", .fallback = "y" } },
        { { "a", 0, CLI_FLAG, 0, NULL, NULL, "no such group", .group = CLI_GROUPS_ } },
        { { "a", 'x', CLI_FLAG, 0, NULL, NULL, "b" }, { "b", 'x', CLI_FLAG, 0, NULL, NULL, "b" } },
        { { "a", 0, CLI_FLAG, 0, NULL, NULL, "b" }, { "a", 0, CLI_FLAG, 0, NULL, NULL, "b" } },
    };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(cli_check(&program, &err), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct cli_program broken = program;

        broken.globals = rows[i];
        assert_true(cli_check(&broken, &err) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_hold_until_an_option_is_given),
        cmocka_unit_test(every_spelling_of_an_option_is_understood),
        cmocka_unit_test(options_and_operands_mix_until_two_dashes),
        cmocka_unit_test(a_flag_that_is_on_can_be_switched_off_and_on),
        cmocka_unit_test(a_mistake_is_named_and_the_nearest_word_offered),
        cmocka_unit_test(whoever_asks_for_help_gets_it),
        cmocka_unit_test(all_goes_with_help_and_is_no_option_without_it),
        cmocka_unit_test(a_verb_wins_over_a_global_option_of_its_letter),
        cmocka_unit_test(a_verb_is_found_by_its_words),
        cmocka_unit_test(tables_with_mistakes_are_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
