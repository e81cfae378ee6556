/* yarn_killed.c - see yarn_platform_private.h. The ResourceManager has given our attempt up:
 * because the application was killed, or because only we were lost to it (our node is unhealthy,
 * its NodeManager is gone) and another master comes. It tells both in the same words; which it is,
 * its report of the application says. */
#include "hadoop/yarn/rm_client.h"
#include "platform/yarn/yarn_platform_private.h"

#define REPORT_MS 1500
#define AGAIN_MS 20

struct question {
    struct yarn_platform *p;
    bool killed;
};

/* The ResourceManager forgets the attempt first and writes the application's end down then; until
 * that is done the application still runs, in its words. */
static int ask_report(void *arg, struct err *err)
{
    struct question *q = arg;
    AUTO_YARN_CLIENT *rm = NULL;
    Yarn__ApplicationState state = YARN__APPLICATION_STATE__APP_RUNNING;
    struct yarn_app_id id;
    int r = yarn_app_id_parse(q->p->opt.boot->job, &id, err);

    if (r == 0)
        r = yarn_client_new(q->p->opt.session, &rm, err);
    while (r == 0 && state == YARN__APPLICATION_STATE__APP_RUNNING) {
        Yarn__GetApplicationReportResponse *answer = NULL;

        r = yarn_report(rm, id, &answer, err);
        if (r == 0)
            state = answer->report->state;
        rpc_free(answer);
        if (r == 0 && state == YARN__APPLICATION_STATE__APP_RUNNING)
            r = fiber_sleep(q->p->loop, AGAIN_MS);
    }
    q->killed = r == 0 && state == YARN__APPLICATION_STATE__APP_KILLED;
    return r;
}

bool yarn_says_killed(struct yarn_platform *p)
{
    struct question q = { .p = p };
    int64_t deadline = loop_in(p->loop, REPORT_MS);
    struct group g;
    int r;

    group_init(&g, p->loop, 0);
    r = group_go(&g, ask_report, &q, NULL);
    while (r == 0 && g.running > 0)
        r = cond_wait(p->loop, &g.changed, deadline);
    group_cancel(&g);
    (void)group_wait(&g, NULL);
    return q.killed;
}
