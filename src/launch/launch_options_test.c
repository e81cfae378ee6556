/* launch_options_test.c - see launch_options.h */
#include "job/spec/spec_keys.h"
#include "launch/launch_options.h"
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FLAGS_MAX 128

static const struct cli_opt *find(const char *name)
{
    for (const struct cli_opt *o = options_table; o->name; o++)
        if (str_eq(o->name, name))
            return o;
    return NULL;
}

static void every_flag_of_the_specification_is_an_option_with_its_words(void **state)
{
    const struct spec_key *keys[FLAGS_MAX];
    size_t n = spec_flags(keys, FLAGS_MAX);

    (void)state;
    assert_in_range(n, 1, FLAGS_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct cli_opt *o = find(keys[i]->flag);

        if (!o)
            fail_msg("--%s is no option", keys[i]->flag);
        assert_int_equal(o->letter, keys[i]->letter);
        assert_string_equal(o->meta, keys[i]->meta);
        assert_string_equal(o->help, keys[i]->help);
        assert_int_equal(o->type, spec_flag_repeats(keys[i]) ? CLI_LIST : CLI_TEXT);
    }
}

/* "(default: 5m)" is what the table says. */
static void a_default_in_the_text_is_that_of_the_table(void **state)
{
    const struct spec_key *keys[FLAGS_MAX];
    size_t n = spec_flags(keys, FLAGS_MAX);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct spec_key *k = keys[i];
        char value[SPEC_NUMBER_MAX], wanted[2 * SPEC_NUMBER_MAX];

        if (k->type != SPEC_TIMES && k->preset <= 0)
            continue;
        snprintf(wanted, sizeof(wanted), "(default: %s)", spec_number_text(k, k->preset, value));
        if (!strstr(k->help, wanted))
            fail_msg("--%s: '%s' is not in its text", k->flag, wanted);
    }
}

static void an_option_is_ours_or_the_specifications(void **state)
{
    static const char *const ours[] = { "file",    "on",         "wait",   "detach-on-interrupt",
                                        "show",    "timestamps", "prefix", "collapse",
                                        "no-ship", "spec" };
    const struct spec_key *keys[FLAGS_MAX];
    size_t n = spec_flags(keys, FLAGS_MAX), i = 0;

    (void)state;
    for (const struct cli_opt *o = options_table; o->name; o++, i++) {
        bool known = false;

        if (i < COUNT_OF(ours)) {
            assert_string_equal(o->name, ours[i]);
            continue;
        }
        for (size_t k = 0; k < n; k++)
            known = known || str_eq(keys[k]->flag, o->name);
        if (!known)
            fail_msg("--%s is nobody's", o->name);
    }
}

static void the_help_lists_every_framework(void **state)
{
    AUTO_BUF text = { .max = 64 * KIB };

    (void)state;
    for (const struct framework *const *fw = framework_table; *fw; fw++) {
        const char *summary = (*fw)->summary;

        assert_int_equal(buf_printf(&text, "%s%s\t%c%s%s.", text.len ? "\n" : "", (*fw)->name,
                                    toupper((unsigned char)summary[0]), summary + 1,
                                    (*fw)->proven ? "" : " (experimental)"),
                         0);
    }
    assert_non_null(buf_text(&text));
    assert_string_equal(options_frameworks, buf_text(&text));
}

static void where_a_job_runs_is_said_by_option_then_variable(void **state)
{
    static const struct {
        int option;
        const char *variable;
        int r, on;
    } rows[] = {
        { -1, NULL, 0, OPTIONS_LOCAL },          { -1, "", 0, OPTIONS_LOCAL },
        { -1, "yarn", 0, OPTIONS_YARN },         { OPTIONS_LOCAL, "yarn", 0, OPTIONS_LOCAL },
        { OPTIONS_YARN, NULL, 0, OPTIONS_YARN }, { -1, "moon", CLI_USAGE, -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct options o = { .on = rows[i].option };
        struct err err = ERR_INIT;
        enum options_on on;

        if (rows[i].variable)
            setenv("YDL_ON", rows[i].variable, 1);
        else
            unsetenv("YDL_ON");
        assert_int_equal(options_where(&o, &on, &err), rows[i].r);
        if (rows[i].r == 0)
            assert_int_equal(on, rows[i].on);
    }
    unsetenv("YDL_ON");
}

static void a_server_that_is_away_is_no_fault_of_the_job(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    struct err why = ERR_INIT, err = ERR_INIT;

    (void)state;
    assert_int_equal(options_blame(&f, "output", 0, &why, &err), 0);
    (void)err_set(&why, -ECONNREFUSED, "nobody is there");
    err_hint(&why, "wait");
    assert_int_equal(options_blame(&f, "output", -ECONNREFUSED, &why, &err), -ECONNREFUSED);
    assert_string_equal(err.text, "nobody is there");
    assert_string_equal(err.hint, "wait");
    assert_int_equal(f.lines.n, 0);
    (void)err_set(&why, -EACCES, "not yours");
    assert_int_equal(options_blame(&f, "output", -EACCES, &why, &err), 0);
    assert_int_equal(f.lines.n, 1);
    assert_non_null(strstr(f.lines.v[0], "not yours"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag_of_the_specification_is_an_option_with_its_words),
        cmocka_unit_test(a_default_in_the_text_is_that_of_the_table),
        cmocka_unit_test(an_option_is_ours_or_the_specifications),
        cmocka_unit_test(the_help_lists_every_framework),
        cmocka_unit_test(where_a_job_runs_is_said_by_option_then_variable),
        cmocka_unit_test(a_server_that_is_away_is_no_fault_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
