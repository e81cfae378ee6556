/* yarn_killed_test.c - whose end it is: the application's, or only ours; see yarn_killed.c. The
 * test is the ResourceManager. */
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/rpc_testing.h"
#include "platform/yarn/yarn_platform_private.h"

struct manager {
    Yarn__ApplicationState state;
    int error;   /* instead of an answer */
    bool silent; /* none comes at all */
    int after;   /* so many answers that say that it still runs */
    bool want;
};

static int answered;

static int answer_report(void *arg, struct rpc_service *s, const char *method, const void *request,
                         void **ret, struct err *err)
{
    const struct manager *x = arg;
    Yarn__GetApplicationReportResponse m = YARN__GET_APPLICATION_REPORT_RESPONSE__INIT;
    Yarn__ApplicationReport report = YARN__APPLICATION_REPORT__INIT;
    const struct yarn_app_id app = { 7, 1 };
    struct yarn_id_message id;

    (void)s;
    (void)request;
    assert_string_equal(method, "getApplicationReport");
    if (x->silent)
        return fiber_sleep(fake_rpc.loop, 600000);
    if (x->error)
        return err_set(err, x->error, "it does not want to");
    report.application_id = yarn_app_id_message(&id, app);
    report.has_state = true;
    report.state = answered++ < x->after ? YARN__APPLICATION_STATE__APP_RUNNING : x->state;
    m.report = &report;
    return fake_copy(&m, ret);
}

static int ask_it(void *arg)
{
    const struct manager *x = arg;
    struct yarn_boot boot = { .job = (char *)"application_7_0001" };
    struct yarn_platform p = { .loop = fake_rpc.loop };

    p.opt.boot = &boot;
    p.opt.session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    answered = 0;
    assert_int_equal(yarn_says_killed(&p), x->want);
    session_free(p.opt.session);
    return 0;
}

static void only_the_resource_manager_knows_of_a_kill(void **state)
{
    static const struct manager rows[] = {
        { .state = YARN__APPLICATION_STATE__APP_KILLED, .want = true },
        /* It is being written down. */
        { .state = YARN__APPLICATION_STATE__APP_KILLED, .after = 3, .want = true },
        { .state = YARN__APPLICATION_STATE__APP_ACCEPTED, .after = 3 },
        { .state = YARN__APPLICATION_STATE__APP_ACCEPTED }, /* another master is to come */
        { .state = YARN__APPLICATION_STATE__APP_RUNNING },
        { .state = YARN__APPLICATION_STATE__APP_FAILED },
        { .error = -EACCES }, /* no token for it */
        { .error = -ECONNREFUSED },
        { .silent = true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        fake_run(ask_it, (void *)&rows[i], answer_report, (void *)&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_resource_manager_knows_of_a_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
