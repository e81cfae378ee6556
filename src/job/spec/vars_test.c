/* vars_test.c - see vars.h */
#include "base/str.h"
#include "job/cluster_spec.h"
#include "job/spec/vars.h"
#include "test.h"

#include <string.h>

static struct cluster_task ps[] = { { .host = "10.0.0.1", .port = { 4000 }, .n_ports = 1 },
                                    { .host = "10.0.0.2", .port = { 4001, 5 }, .n_ports = 2 } };
static struct cluster_task side[] = { { .host = "10.0.0.3" } };
static struct cluster_role roles[] = { { "ps", ps, 2 }, { "side", side, 1 }, { "none", NULL, 0 } };
static const struct cluster cluster = { roles, 3, 0 };

static const unsigned short own[] = { 6000, 6001 };
static const struct vars vars = {
    .job = "local-1",
    .role = "worker",
    .host = "10.0.0.9",
    .out = "/out",
    .index = 1,
    .rank = 3,
    .world = 8,
    .local_rank = 2,
    .generation = 4,
    .attempt = 5,
    .port = own,
    .n_ports = 2,
    .cluster = &cluster,
};

static void variables_are_replaced_and_all_else_stays(void **state)
{
    static const struct {
        const char *text, *result;
    } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "{rank}", "3" },
        { "{job} {role} {host} {out}", "local-1 worker 10.0.0.9 /out" },
        { "{index},{rank},{world},{local_rank},{generation},{attempt},{port}", "1,3,8,2,4,5,6000" },
        { "{hosts:ps}", "10.0.0.1:4000,10.0.0.2:4001" },
        { "{hosts:side}|{hosts:none}|", "10.0.0.3||" },
        { "{addresses:ps}|{addresses:side}|{addresses:none}|", "10.0.0.1,10.0.0.2|10.0.0.3||" },
        { "{port:0} {port:1}", "6000 6001" },
        { "{{port:0}}", "{port:0}" },
        { "{host:ps:1} {port:ps:1} {count:ps} {count:none}", "10.0.0.2 4001 2 0" },
        { "a{rank}b{rank}", "a3b3" },
        { "{{rank}}", "{rank}" },
        { "{{hosts:ps}}", "{hosts:ps}" },
        { "{{index:02d}}", "{index:02d}" },
        { "{{rnak}}", "{rnak}" },
        { "{rnak}", "{rnak}" }, /* the check refuses it; what is not checked stays */
        { "{{{rank}}}", "{{rank}}" },
        { "{\"a\": {rank}}", "{\"a\": 3}" },
        { "{'x': {'y': {world}}}", "{'x': {'y': 8}}" },
        { "awk '{print $1}' ${HOME} {a,b} {} {{}} {", "awk '{print $1}' ${HOME} {a,b} {} {{}} {" },
        { "{{ name }} {{name}} {name} {RANK} { rank }",
          "{{ name }} {{name}} {name} {RANK} { rank }" },
        { "{rank", "{rank" },
        { "{{rank}", "{3" },
        { "{rank}}", "3}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = 4 * KIB };
        struct err err = ERR_INIT;

        assert_int_equal(vars_expand(&vars, rows[i].text, &out, &err), 0);
        assert_string_equal(buf_text(&out), rows[i].result);
    }
}

static void a_variable_without_a_value_is_an_error(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "{port}", "{port} has no value: the task has no port" },
        { "{port:0}", "{port:0} has no value: the task has no such port" },
        { "{port:-1}", "{port:-1} has no value: the last part is not a number" },
        { "{port:ps}", "{port:ps} has no value: the last part is not a number" },
        { "{addresses:nobody}", "{addresses:nobody} has no value: there is no such role" },
        { "{job}", "{job} has no value: it is not known here" },
        { "{hosts:nobody}", "{hosts:nobody} has no value: there is no such role" },
        { "{host:ps:2}", "{host:ps:2} has no value: the role has no task of that number" },
        { "{host:ps:-1}", "{host:ps:-1} has no value: the role has no task of that number" },
        { "{host:ps:x}", "{host:ps:x} has no value: the role has no task of that number" },
        { "{port:side:0}", "{port:side:0} has no value: the task has no port" },
        { "{rank:1}", "{rank:1} has no value: it is not a valid variable" },
        { "{count}", "{count} has no value: it is not a valid variable" },
    };
    const struct vars bare = { .cluster = &cluster };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = 4 * KIB };
        struct err err = ERR_INIT;

        assert_int_equal(vars_expand(&bare, rows[i].text, &out, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].error);
    }
}

static void a_text_past_the_ceiling_is_an_error(void **state)
{
    AUTO_BUF out = { .max = 20 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(vars_expand(&vars, "{hosts:ps}", &out, &err), -E2BIG);
    assert_string_equal(err.text, "the text becomes too long");
}

static const struct vars_role known[] = { { "ps", 2, 1 }, { "worker", 3, 0 }, { "x", 0, -1 } };

static void a_good_text_passes_the_check(void **state)
{
    static const char *const rows[] = {
        "",
        "{rank} {hosts:ps} {host:ps:1} {port:ps:1} {host:worker:2} {count:x}",
        "{a} {name} {\"json\": 1} ${VAR} {print} {date} {x:y}",
        "{{rnak}} {{rank:3}}",
    };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(vars_check(rows[i], known, COUNT_OF(known), &known[1], &err), 0);
    assert_int_equal(
        vars_check("{port} {port:0} {addresses:worker}", known, COUNT_OF(known), &known[0], &err),
        0);
    assert_int_equal(vars_check("{port:3}", known, COUNT_OF(known), &known[2], &err), 0);
}

static void a_slip_is_found_before_anything_runs(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "{rnak}",
          "{rnak}: unknown variable (did you mean {rank}? for literal braces, double them)" },
        { "{ranks}",
          "{ranks}: unknown variable (did you mean {rank}? for literal braces, double them)" },
        { "{wrld}",
          "{wrld}: unknown variable (did you mean {world}? for literal braces, double them)" },
        { "{localrank}", "{localrank}: unknown variable (did you mean {local_rank}? for literal "
                         "braces, double them)" },
        { "{part}",
          "{part}: unknown variable (did you mean {port}? for literal braces, double them)" },
        { "{hots:ps}",
          "{hots}: unknown variable (did you mean {host}? for literal braces, double them)" },
        { "{hosts:pss}", "{hosts:pss…}: there is no role 'pss' (did you mean 'ps'?)" },
        { "{count:nobody}", "{count:nobody…}: there is no role 'nobody'" },
        { "{host:ps:2}", "{host:ps:2}: role 'ps' has 2 tasks, numbered from 0" },
        { "{host:ps:one}", "{host:ps:one} has no value: the last part is not a number" },
        { "{port:worker:0}",
          "{port:worker:0} has no value: tasks of the role have no port; give it ports: 1" },
        { "{port}", "{port}: tasks of role 'worker' have no port; give it ports: 1" },
        { "{port:0}", "{port:0}: tasks of role 'worker' have 0 ports, numbered from 0" },
        { "{port:ps}", "{port:ps}: the form is {port} or {port:K} or {port:ROLE:N}; for literal "
                       "braces, double them" },
        { "{adresses:ps}", "{adresses}: unknown variable (did you mean {addresses:ROLE}? for "
                           "literal braces, double them)" },
        { "{rank:1}", "{rank:1}: the form is {rank}; for literal braces, double them" },
        { "{hosts}", "{hosts}: the form is {hosts:ROLE}; for literal braces, double them" },
        { "{host:ps}",
          "{host:ps}: the form is {host} or {host:ROLE:N}; for literal braces, double them" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(vars_check(rows[i].text, known, COUNT_OF(known), &known[1], &err),
                         -EINVAL);
        assert_string_equal(err.text, rows[i].error);
    }
}

static void the_size_after_expansion_is_foreseen(void **state)
{
    (void)state;
    assert_int_equal(vars_size("abc {rank}", known, COUNT_OF(known)), 10);
    assert_int_equal(vars_size("{hosts:ps}", known, COUNT_OF(known)), 10 + 2 * 22);
    assert_int_equal(vars_size("{addresses:ps}", known, COUNT_OF(known)), 14 + 2 * 22);
    assert_int_equal(vars_size("{hosts:nobody}", known, COUNT_OF(known)), 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_replaced_and_all_else_stays),
        cmocka_unit_test(a_variable_without_a_value_is_an_error),
        cmocka_unit_test(a_text_past_the_ceiling_is_an_error),
        cmocka_unit_test(a_good_text_passes_the_check),
        cmocka_unit_test(a_slip_is_found_before_anything_runs),
        cmocka_unit_test(the_size_after_expansion_is_foreseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
