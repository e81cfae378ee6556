/* cli_print_test.c - help, manual pages and completions of a small program with awkward texts. That
 * they agree for the real programs is checked in cmd/verbs_test.c. */
#include "cli/cli.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct args {
    bool recursive, checks, slow, odd;
    unsigned copies;
    struct strs also;
    int order, where;
    const char *into;
};

static const char *const orders[] = { "name", "size", NULL };
static const char *const wheres[] = { "here", "there", NULL };

#define AT(field) offsetof(struct args, field)
/* clang-format off */
static const struct cli_opt opts[] = {
    { "recursive", 'r', CLI_FLAG,   AT(recursive), NULL,  NULL,  "go down [all the way: it's deep]" },
    { "checks",    0,   CLI_FLAG,   AT(checks),    "yes", NULL,  "compare check sums" },
    { "copies",    'c', CLI_COUNT,  AT(copies),    "3",   "N",   "keep N copies of every block that is written to the cluster" },
    { "also",      0,   CLI_LIST,   AT(also),      NULL,  "FILE", "take FILE too" },
    { "order",     0,   CLI_CHOICE, AT(order),     "name", "KEY", "sort by KEY", orders },
    { "into-this-directory-here", 0, CLI_TEXT, AT(into), NULL, "DIR", "a long label" },
    { "where",     0,   CLI_CHOICE, AT(where),     NULL,  "KEY", "put it", wheres, CLI_WHAT, .fallback = "$T_WHERE, or here" },
    { "slow",      0,   CLI_FLAG,   AT(slow),      NULL,  NULL,  "take your time", .group = CLI_WHAT, .rare = true },
    { "odd",       0,   CLI_FLAG,   AT(odd),       NULL,  NULL,  "of another verb", .group = CLI_OUTPUT, .feature = 2 },
    { 0 },
};
static const struct cli_opt globals[] = {
    { "json", 'j', CLI_FLAG, 0, NULL, NULL, "print JSON", .group = CLI_OTHER },
    { "far", 0, CLI_FLAG, 0, NULL, NULL, "look far away", .group = CLI_CLUSTER, .feature = 1 },
    { 0 },
};
/* clang-format on */

static const struct cli_example examples[] = {
    { "t fs put a\\b .", "a back-slash, and a full stop" },
    { 0 },
};
static const struct cli_section sections[] = {
    { "FILES", "First words. Second sentence with --dash and a-hyphen.\n'quoted' start.\n\n"
               "  literal --line\n"
               "  .second\n"
               "Nm Ar\tAn entry.\n"
               "other\tAnother\nthat goes on.\n\n"
               "The end…" },
    { 0 },
};

static int run(struct cli *c, struct err *err)
{
    (void)c;
    (void)err;
    return 0;
}

static const struct cli_verb put = {
    .name = "put",
    .summary = "copy files to the cluster",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "FILE… [DIR]",
    .least = 1,
    .most = CLI_ANY,
    .complete = CLI_FILES,
    .lacks = 2,
    .run = run,
};
static const struct cli_verb secret = {
    .name = "xyzzy", .summary = "s", .hidden = true, .run = run
};
static const struct cli_verb *const fs_verbs[] = { &put, &secret, NULL };
static const struct cli_verb fs = { .name = "fs",
                                    .summary = "files of the cluster",
                                    .subs = fs_verbs,
                                    .examples = examples,
                                    .sections = sections };
static const struct cli_verb start = { .name = "start",
                                       .summary = "run it's command",
                                       .operands = "COMMAND [ARG…]",
                                       .least = 1,
                                       .most = CLI_ANY,
                                       .complete = CLI_COMMANDS,
                                       .command_follows = true,
                                       .lacks = 1,
                                       .run = run };
static const struct cli_verb *const verbs[] = { &fs, &start, NULL };
static const struct cli_program program = {
    .name = "t-x",
    .summary = "a test",
    .version = "1.2",
    .date = "January 2, 2020",
    .globals = globals,
    .globals_size = sizeof(bool),
    .verbs = verbs,
};

enum kind { HELP, FULL, ALL, MAN, BASH, ZSH, FISH };

static char *printed(enum kind kind, const char *verb, const char *sub)
{
    char *words[] = { (char *)verb, (char *)sub, NULL };
    struct err err = ERR_INIT;
    char *text = NULL;
    struct cli c;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    assert_int_equal(cli_find(&program, words, &c, &err), 0);
    if (kind == MAN)
        cli_man(f, &program, c.path[0]);
    else if (kind == HELP || kind == FULL || kind == ALL)
        cli_help(f, &c, 60, kind == FULL ? CLI_HELP_PROSE : kind == ALL ? CLI_HELP_ALL : 0);
    else
        cli_completion(f, &program, kind == BASH ? "bash" : kind == ZSH ? "zsh" : "fish", &err);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void help_is_aligned_and_wrapped(void **state)
{
    AUTO_FREE char *text = printed(HELP, "fs", "put");

    (void)state;
    assert_string_equal(text, "usage: t-x fs put [OPTION…] FILE… [DIR]\n"
                              "\n"
                              "copy files to the cluster\n"
                              "\n"
                              "Options:\n"
                              "  -r, --recursive    go down [all the way: it's deep]\n"
                              "      --[no-]checks  compare check sums\n"
                              "  -c, --copies N     keep N copies of every block that is\n"
                              "                     written to the cluster (default: 3)\n"
                              "      --also FILE    take FILE too (repeatable)\n"
                              "      --order KEY    sort by KEY: name, size (default: name)\n"
                              "      --into-this-directory-here DIR\n"
                              "                     a long label\n"
                              "\n"
                              "What to run:\n"
                              "      --where KEY    put it: here, there (default: $T_WHERE,\n"
                              "                     or here)\n"
                              "\n"
                              "YARN and HDFS:\n"
                              "      --far          look far away\n"
                              "\n"
                              "Other:\n"
                              "  -j, --json         print JSON\n"
                              "  -h, --help         show this help\n"
                              "\n"
                              "See t-x-fs(1) for all options: t-x fs put --help --all, man\n"
                              "t-x-fs\n");
}

static void rare_options_are_in_the_manual_page_and_with_all(void **state)
{
    AUTO_FREE char *brief = printed(HELP, "fs", "put");
    AUTO_FREE char *all = printed(ALL, "fs", "put");
    AUTO_FREE char *man = printed(MAN, "fs", NULL);

    (void)state;
    assert_null(strstr(brief, "--slow"));
    has(all, "      --slow         take your time\n");
    assert_null(strstr(all, "for all options"));
    has(man, "\nWhat to run:\n.Bl -tag -width Ds\n.It Fl \\-where Ar KEY\n");
    has(man, "Default: $T_WHERE, or here.\n.It Fl \\-slow\nTake your time.\n.El\n");
}

static void options_that_a_verb_has_no_use_for_are_not_shown(void **state)
{
    AUTO_FREE char *all = printed(ALL, "fs", "put");
    AUTO_FREE char *man = printed(MAN, "fs", NULL);
    AUTO_FREE char *local = printed(ALL, "start", NULL);
    AUTO_FREE char *bash = printed(BASH, NULL, NULL);
    AUTO_FREE char *zsh = printed(ZSH, NULL, NULL);
    AUTO_FREE char *fish = printed(FISH, NULL, NULL);

    (void)state;
    assert_null(strstr(all, "--odd"));
    assert_null(strstr(man, "odd"));
    assert_null(strstr(zsh, "--odd"));
    assert_null(strstr(fish, "-l odd"));
    has(all, "YARN and HDFS:\n      --far ");
    assert_null(strstr(local, "--far"));
    has(bash, "globals=' -j --json --help -h'\n");
}

static void no_line_of_help_is_wider_than_asked(void **state)
{
    static const enum kind kinds[] = { HELP, FULL };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        AUTO_FREE char *text = printed(kinds[i], "fs", NULL);

        for (char *p = text; *p; p += strcspn(p, "\n") + 1)
            assert_true(strcspn(p, "\n") <= 60 + 4); /* an ellipsis has three bytes */
    }
}

static void sections_are_in_the_full_text_only(void **state)
{
    AUTO_FREE char *brief = printed(HELP, "fs", NULL);
    AUTO_FREE char *full = printed(FULL, "fs", NULL);

    (void)state;
    assert_null(strstr(brief, "FILES"));
    has(full, "\nFILES\n"
              "  First words. Second sentence with --dash and a-hyphen.\n"
              "  'quoted' start.\n"
              "\n"
              "      literal --line\n"
              "      .second\n"
              "\n"
              "  Nm Ar               An entry.\n"
              "  other               Another that goes on.\n"
              "\n"
              "  The end…\n");
    has(brief, "Examples:\n  t fs put a\\b .\n      a back-slash");
    assert_null(strstr(full, "xyzzy"));
}

static void a_manual_page_guards_what_roff_would_misread(void **state)
{
    AUTO_FREE char *text = printed(MAN, "fs", NULL);

    (void)state;
    has(text, ".Dd January 2, 2020\n.Dt T-X-FS 1\n.Os t-x 1.2\n.Sh NAME\n.Nm t\\-x\\-fs\n");
    has(text, ".Nm \"t-x fs put\"\n.Op Ar OPTION\\[u2026]\n.Ar FILE\\[u2026]\n.Op Ar DIR\n");
    has(text, ".It Fl r , Fl \\-recursive\nGo down [all the way: it's deep].\n");
    has(text, ".It Fl \\-checks , Fl \\-no\\-checks\n");
    has(text, "One of\n.Cm name ,\n.Cm size .\nThe default is\n.Cm name .\n");
    has(text,
        ".Sh FILES\nFirst words.\nSecond sentence with \\-\\-dash and a-hyphen.\n"
        "\\&'quoted' start.\n.Bd -literal -offset indent\nliteral \\-\\-line\n\\&.second\n.Ed\n"
        ".Bl -tag -width Ds\n.It Sy \"\\&Nm Ar\"\nAn entry.\n");
    has(text, ".Pp\nThe end\\[u2026]\n");
    has(text, "put a\\eb .\n");
    assert_null(strstr(text, "xyzzy"));
}

static void completions_quote_for_their_shell(void **state)
{
    AUTO_FREE char *bash = printed(BASH, NULL, NULL);
    AUTO_FREE char *zsh = printed(ZSH, NULL, NULL);
    AUTO_FREE char *fish = printed(FISH, NULL, NULL);

    (void)state;
    has(bash, "' fs put -c' | ' fs put --copies') value='nothing' ;;\n");
    has(bash, "' fs put --order') value='words name size' ;;\n");
    has(bash, "' fs put --into-this-directory-here') value='dirs' ;;\n");
    has(bash, "\ncomplete -F _t_x t-x\n");
    has(zsh, "'--recursive[go down \\[all the way\\: it'\\''s deep\\]]'");
    has(zsh, "'*--also=[take FILE too]:FILE:_files'");
    has(zsh, "'--order=[sort by KEY]:KEY:(name size)'");
    has(fish, "complete -c t-x -n '__t_x_at \" fs put\"' -s r -l recursive -d 'go down [all the "
              "way: it\\'s deep]'\n");
    has(fish, "-l order -x -a 'name size'");
    has(fish, "complete -c t-x -n '__t_x_at \"\"' -a start -d 'run it\\'s command'\n");
    assert_null(strstr(bash, "xyzzy"));
    assert_null(strstr(zsh, "xyzzy"));
    assert_null(strstr(fish, "xyzzy"));
}

static void another_shell_is_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(cli_completion(stdout, &program, "csh", &err), CLI_USAGE);
    assert_string_equal(err.text, "no completion for the shell 'csh': bash, zsh or fish");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_aligned_and_wrapped),
        cmocka_unit_test(rare_options_are_in_the_manual_page_and_with_all),
        cmocka_unit_test(options_that_a_verb_has_no_use_for_are_not_shown),
        cmocka_unit_test(no_line_of_help_is_wider_than_asked),
        cmocka_unit_test(sections_are_in_the_full_text_only),
        cmocka_unit_test(a_manual_page_guards_what_roff_would_misread),
        cmocka_unit_test(completions_quote_for_their_shell),
        cmocka_unit_test(another_shell_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
