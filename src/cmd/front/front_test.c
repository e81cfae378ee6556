/* front_test.c - the tables of all front ends, and what is made from them. */
#include "cmd/front/front.h"
#include "cmd/front/front_print.h"
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
            assert_string_equal(f->name, rows[i][1]);
        else
            assert_null(f);
    }
    assert_null(front_find(NULL));
}

static void the_tables_have_no_mistakes(void **state)
{
    (void)state;
    for (const struct front *const *f = front_table; *f; f++)
        for (const struct front_verb *const *v = (*f)->verbs; *v; v++) {
            struct legacy_syntax s = print_syntax(*v);
            struct err err = ERR_INIT;

            if (legacy_check(&s, &err) < 0)
                fail_msg("%s: %s", (*f)->name, err.text);
            assert_true(((*v)->act != NULL) != ((*v)->translate != NULL));
            assert_true(!(*v)->translate || (*v)->verb);
        }
}

/* Help, the manual or a completion as text; NULL when out of memory. */
static char *printed(const struct front *f, const char *what)
{
    static const struct cli_program p = { .name = "ydl", .version = "1", .date = "June 1, 2026" };
    const char *name = NULL;
    char *text = NULL;
    size_t n = 0, i = 0;
    FILE *out = open_memstream(&text, &n);
    int r = 0;

    if (!out)
        return NULL;
    while (front_table[i] != f)
        i++;
    if (str_eq(what, "help"))
        r = print_help(out, f, NULL, 80);
    else if (str_eq(what, "man"))
        r = front_others.man(out, &p, i, &name);
    else
        front_others.completion(out, what);
    if (fclose(out) == 0 && r >= 0)
        return text;
    free(text);
    return NULL;
}

/* Every spelling stands in the text; the manual escapes dashes. */
static void check_names(const char *text, const struct legacy_option *o, const char *what)
{
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++) {
        const char *name = o->names[i];
        char wanted[80];
        size_t n = 0;

        if (str_eq(what, "fish"))
            n += (size_t)snprintf(wanted, sizeof(wanted), "-%c ",
                                  name[1] == '-' ? 'l'
                                  : name[2]      ? 'o'
                                                 : 's');
        name += str_eq(what, "fish") ? strspn(name, "-") : 0;
        for (; *name && n + 3 < sizeof(wanted); name++) {
            if (*name == '-' && str_eq(what, "man"))
                wanted[n++] = '\\';
            wanted[n++] = *name;
        }
        wanted[n] = '\0';
        if (!strstr(text, wanted))
            fail_msg("'%s' is missing in %s", wanted, what);
    }
}

static void every_option_is_in_help_man_and_completions(void **state)
{
    static const char *const kinds[] = { "help", "man", "bash", "zsh", "fish" };

    (void)state;
    for (const struct front *const *f = front_table; *f; f++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            AUTO_FREE char *text = printed(*f, kinds[k]);

            if (!text)
                return; /* the torture build */
            for (const struct front_verb *const *v = (*f)->verbs; *v; v++) {
                struct legacy_syntax s = print_syntax(*v);

                for (const struct legacy_option *o = s.own; o && o->names[0]; o++)
                    check_names(text, o, kinds[k]);
            }
        }
}

static void help_fits_a_terminal_and_says_what_has_no_effect(void **state)
{
    (void)state;
    for (const struct front *const *f = front_table; *f; f++) {
        AUTO_FREE char *text = printed(*f, "help");

        if (!text)
            return;
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            size_t n = strcspn(line, "\n"), columns = 0;

            for (size_t i = 0; i < n; i++)
                columns += (line[i] & 0xc0) != 0x80;
            if (columns > 80)
                fail_msg("%s: %.*s", (*f)->name, (int)n, line);
        }
        assert_true(strstr(text, "--docker-image") || !strstr(text, "--gpus"));
    }
    {
        AUTO_FREE char *text = printed(front_find("ydl-mx"), "help");

        assert_true(!text || strstr(text, "has no effect"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_front_end_is_found_by_any_of_its_names),
        cmocka_unit_test(the_tables_have_no_mistakes),
        cmocka_unit_test(every_option_is_in_help_man_and_completions),
        cmocka_unit_test(help_fits_a_terminal_and_says_what_has_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
