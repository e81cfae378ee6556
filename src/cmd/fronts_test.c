/* fronts_test.c - the tables of all front ends, and what is made from them. */
#include "cli/cli_testing.h"
#include "cmd/front/front.h"
#include "cmd/verbs.h"
#include "test.h"

#include <string.h>

static void a_front_end_is_found_by_any_of_its_names(void **state)
{
    static const char *const rows[][2] = {
        { "ydl-mx", "ydl-mx" },
        { "/usr/bin/ydl-mx", "ydl-mx" },
        { "./dmlc-yarn.py", "dmlc-yarn" },
        { "dmlc_yarn.py", "dmlc-yarn" },
        { "dmlc-submit", "dmlc-submit" },
        { "ydl-launch", "ydl-launch" },
        { "ydl", NULL },
        { "ydl-mx/", NULL },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct front *f = front_find(rows[i][0]);

        if (rows[i][1])
            assert_string_equal(f->program.name, rows[i][1]);
        else
            assert_null(f);
    }
    assert_null(front_find(NULL));
}

/* Calls `fn` for every form of a front end's lines. */
static void each_form(const struct cli_program *p,
                      void (*fn)(const struct front *f, const struct front_verb *v))
{
    fn((const struct front *)p, (const struct front_verb *)p->self);
    for (const struct cli_verb *const *v = p->self->subs; v && *v; v++)
        fn((const struct front *)p, (const struct front_verb *)*v);
}

static void check_form(const struct front *f, const struct front_verb *v)
{
    (void)f;
    assert_true((v->act != NULL) != (v->translate != NULL));
    assert_true(!v->translate || v->verb);
}

static void the_tables_have_no_mistakes(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (const struct cli_program *const *p = front_table; *p; p++) {
        if (cli_check(*p, &err) < 0)
            fail_msg("%s: %s", (*p)->name, err.text);
        each_form(*p, check_form);
    }
}

/* Help, the manual or a completion as text; NULL when out of memory. */
static char *printed(const struct front *f, const struct front_verb *v, const char *what)
{
    const struct cli_program *const others[] = { &f->program, NULL };
    static const struct cli_verb none;
    const struct cli_program ydl = {
        .name = "ydl", .version = "1", .date = "June 1, 2026", .self = &none, .others = others
    };
    struct cli c = {
        .program = &f->program, .path = { &v->cli }, .depth = v->cli.name ? 1 : 0, .verb = &v->cli
    };
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return NULL;
    if (str_eq(what, "help"))
        cli_help(out, &c, 80, CLI_HELP_PROSE);
    else if (str_eq(what, "man"))
        cli_man_other(out, &ydl, &f->program);
    else
        assert_int_equal(cli_completion(out, &ydl, what, NULL), 0);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* A name as it stands in the text; the manual escapes dashes. */
static void check_name(const char *text, const char *name, const char *what)
{
    char wanted[80];
    size_t n = 0;

    if (str_eq(what, "fish")) {
        n = (size_t)snprintf(wanted, sizeof(wanted), "-%c ",
                             name[1] == '-' ? 'l'
                             : name[2]      ? 'o'
                                            : 's');
        name += strspn(name, "-");
    } else if (str_eq(what, "man")) {
        n = (size_t)snprintf(wanted, sizeof(wanted), "Fl ");
        name++;
    }
    for (; *name && n + 3 < sizeof(wanted); name++) {
        if (*name == '-' && str_eq(what, "man"))
            wanted[n++] = '\\';
        wanted[n++] = *name;
    }
    wanted[n] = '\0';
    if (!strstr(text, wanted))
        fail_msg("'%s' is missing in %s", wanted, what);
}

static void check_printed(const struct front *f, const struct front_verb *v)
{
    static const char *const kinds[] = { "help", "man", "bash", "zsh", "fish" };

    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        AUTO_FREE char *text = printed(f, v, kinds[k]);

        for (const struct cli_opt *o = v->cli.opts; text && o && o->name; o++) {
            check_name(text, o->name, kinds[k]);
            for (size_t i = 0; i < COUNT_OF(o->also) && o->also[i]; i++)
                check_name(text, o->also[i], kinds[k]);
        }
    }
}

static void every_option_is_in_help_man_and_completions(void **state)
{
    (void)state;
    for (const struct cli_program *const *p = front_table; *p; p++)
        each_form(*p, check_printed);
}

static void check_width(const struct front *f, const struct front_verb *v)
{
    AUTO_FREE char *text = printed(f, v, "help");

    for (const char *line = text ? text : ""; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n"), columns = 0;

        for (size_t i = 0; i < n; i++)
            columns += (line[i] & 0xc0) != 0x80;
        if (columns > 80)
            fail_msg("%s: %.*s", f->program.name, (int)n, line);
    }
    assert_true(!text || strstr(text, "--docker-image") || !strstr(text, "--archives"));
}

static void help_fits_a_terminal_and_says_what_has_no_effect(void **state)
{
    const struct front *mx = front_find("ydl-mx");
    AUTO_FREE char *text = printed(mx, (const struct front_verb *)mx->program.self, "help");

    (void)state;
    for (const struct cli_program *const *p = front_table; *p; p++)
        each_form(*p, check_width);
    assert_true(!text || strstr(text, "has no effect"));
}

static void an_older_option_wins_over_ours_of_that_name(void **state)
{
    const struct front *dmlc =
        front_find("dmlc-yarn"); /* its -q is --queue, and its --files its own */
    AUTO_FREE char *help = printed(dmlc, (const struct front_verb *)dmlc->program.self, "help");

    (void)state;
    if (!help)
        return;
    assert_non_null(strstr(help, "  -q, --queue QUEUE"));
    assert_non_null(strstr(help, "      --quiet"));
    assert_null(strstr(help, "--files FILE[#NAME]"));
    assert_non_null(strstr(help, "--archives FILE[#NAME]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_front_end_is_found_by_any_of_its_names),
        cmocka_unit_test(the_tables_have_no_mistakes),
        cmocka_unit_test(every_option_is_in_help_man_and_completions),
        cmocka_unit_test(an_older_option_wins_over_ours_of_that_name),
        cmocka_unit_test(help_fits_a_terminal_and_says_what_has_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
