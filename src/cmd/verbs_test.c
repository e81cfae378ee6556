/* verbs_test.c - the tables of the real programs: without mistakes, and every option in everything
 * that is made from them. */
#include "cli/cli_testing.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "cmd/verbs.h"
#include "launch/launch_options.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct cli_program *const programs[] = { &program_ydl, &program_ydl_native,
                                                      &program_ydl_node };
static const char *const shells[] = { "bash", "zsh", "fish" };

enum kind { SHORT, HELP, MAN, COMPLETION };

/* What is printed for `c`; `shell` names the completion. */
static char *printed(enum kind kind, const struct cli *c, const char *shell)
{
    struct err err = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    if (kind == HELP || kind == SHORT)
        cli_help(f, c, 80, kind == SHORT ? 0 : CLI_HELP_PROSE | CLI_HELP_ALL);
    else if (kind == MAN)
        cli_man(f, c->program, c->path[0]);
    else
        assert_int_equal(cli_completion(f, c->program, shell, &err), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* The name as the manual writes it: every dash is escaped. */
static void man_spelling(char *out, size_t cap, const char *name)
{
    size_t n = (size_t)snprintf(out, cap, "Fl \\-");

    for (; *name && n + 3 < cap; name++)
        n += (size_t)snprintf(out + n, cap - n, *name == '-' ? "\\-" : "%c", *name);
}

static void check_in(const char *text, const char *wanted, const char *where, const struct cli *c)
{
    if (!strstr(text, wanted))
        fail_msg("%s %s: '%s' is missing in %s", c->program->name, c->verb ? c->verb->name : "",
                 wanted, where);
}

static void check_table(const struct cli *c, const struct cli_opt *table)
{
    AUTO_FREE char *help = printed(HELP, c, NULL);
    AUTO_FREE char *man = printed(MAN, c, NULL);
    char wanted[128];

    for (const struct cli_opt *o = table; o && o->name; o++) {
        if (c->verb && (o->feature & c->verb->lacks))
            continue;
        snprintf(wanted, sizeof(wanted), "--%s%s", o->preset && !o->meta ? "[no-]" : "", o->name);
        check_in(help, wanted, "help", c);
        man_spelling(wanted, sizeof(wanted), o->name);
        check_in(man, wanted, "man", c);
        for (size_t i = 0; i < COUNT_OF(shells); i++) {
            AUTO_FREE char *script = printed(COMPLETION, c, shells[i]);

            snprintf(wanted, sizeof(wanted), i == 2 ? " -l %s " : "--%s", o->name);
            check_in(script, wanted, shells[i], c);
        }
    }
}

/* A screen, however many options there are: the others are in the manual page. */
static void check_size(const struct cli *c)
{
    AUTO_FREE char *help = printed(SHORT, c, NULL);
    unsigned lines = 0;

    for (const char *p = help; *p; p += strcspn(p, "\n") + 1, lines++)
        if (strcspn(p, "\n") > 100)
            fail_msg("%s %s: a line of help is too wide", c->program->name, c->verb->name);
    if (lines > CLI_HELP_LINES)
        fail_msg("%s %s: help has %u lines", c->program->name, c->verb->name, lines);
}

static void check_verbs(struct cli *c, const struct cli_verb *const *table)
{
    const struct cli_verb *parent = c->verb;

    for (const struct cli_verb *const *v = table; v && *v; v++) {
        if ((*v)->hidden)
            continue;
        c->path[c->depth++] = c->verb = *v;
        check_table(c, (*v)->opts);
        check_size(c);
        check_verbs(c, (*v)->subs);
        c->depth--;
        c->verb = parent;
    }
}

static void every_option_is_in_help_man_and_completions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        struct cli c = { .program = programs[i] };

        check_table(&c, programs[i]->globals);
        check_verbs(&c, programs[i]->verbs);
    }
}

/* An option that no verb shows would be accepted, and known to nobody. */
static void every_option_of_a_job_is_shown_by_a_verb(void **state)
{
    static const char *const names[] = { "run", "submit", "plan" };

    (void)state;
    for (const struct cli_opt *o = options_table; o->name; o++) {
        size_t shown = 0;

        for (const struct cli_verb *const *v = program_ydl.verbs; *v; v++)
            for (size_t i = 0; i < COUNT_OF(names); i++)
                shown += str_eq((*v)->name, names[i]) && !(o->feature & (*v)->lacks);
        if (o->feature == 0)
            assert_int_equal(shown, COUNT_OF(names));
        else
            assert_int_equal(shown, 1);
    }
}

static void the_tables_have_no_mistakes(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        if (cli_check(programs[i], &err) < 0)
            fail_msg("%s: %s", programs[i]->name, err.text);
}

static void verbs_are_in_the_order_of_the_alphabet(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(programs); i++)
        for (const struct cli_verb *const *v = programs[i]->verbs; v[0] && v[1]; v++)
            assert_true(strcmp(v[0]->name, v[1]->name) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_in_help_man_and_completions),
        cmocka_unit_test(every_option_of_a_job_is_shown_by_a_verb),
        cmocka_unit_test(the_tables_have_no_mistakes),
        cmocka_unit_test(verbs_are_in_the_order_of_the_alphabet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
