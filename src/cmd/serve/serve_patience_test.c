/* serve_patience_test.c - claims about what counts as time for a deployment's first answer. */
#include "cmd/serve/serve_patience.h"
#include "launch/launch_options.h"
#include "test.h"

#include <string.h>

#define LATER_MS 60000

struct row {
    const char *status;
    bool patient, moves, yarn, over;
};

static void only_what_is_not_yarns_counts(void **state)
{
    static const struct row rows[] = {
        { "{\"waiting\": \"1 container for 'a'\"}", true, false, true, false },
        { "{\"tasks\": [{\"state\": \"WAITING\"}]}", true, false, true, false },
        { "{\"waiting\": \"1 container for 'a'\"}", false, false, true, true },
        { "{\"tasks\": [{\"state\": \"WAITING\"}]}", true, false, false, true },
        { "{\"tasks\": [{\"state\": \"RUNNING\"}]}", true, false, true, true },
        { "{\"tasks\": [{\"state\": \"RUNNING\"}]}", false, true, false, false },
    };
    struct loop *l = NULL;
    struct globals globals = { .quiet = true };

    (void)state;
    assert_int_equal(loop_new(&l, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *status = NULL;
        struct job_call x = { .loop = l, .globals = &globals };
        struct serve_want w = { .timeout = LATER_MS,
                                .patient = rows[i].patient,
                                .on = rows[i].yarn ? OPTIONS_YARN : OPTIONS_LOCAL };
        struct serve_patience p;

        assert_int_equal(
            json_parse("status", rows[i].status, strlen(rows[i].status), &status, NULL), 0);
        serve_patience_begin(&p, &x, &w);
        assert_false(serve_patience_over(&p, &x, &w, status, rows[i].moves));
        p.until = loop_now(l) - 1;
        assert_int_equal(serve_patience_over(&p, &x, &w, status, rows[i].moves), rows[i].over);
    }
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_what_is_not_yarns_counts) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
