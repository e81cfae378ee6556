/* api_log.c - a request that changes the job is answered when the log has it.
 *
 *     request ──► engine ──► journal ──► HDFS ──► 200
 *                   │           └─ the master leaves: all of it to HDFS ──► 200, or 503
 *                   └─ the master leaves ──► 503
 *
 * A client that gets 503 can retry: a job is not restarted twice. */
#include "master/api/api_log.h"

#define TURN_MS 20000  /* for the driver to see what was asked for … */
#define LOGGED_MS 3000 /* … and for HDFS to have it: it does not hold people up */

void api_told(struct master *m)
{
    m->api.told++;
    cond_wake_all(&m->api.logged);
}

void api_copied(struct master *m)
{
    cond_wake_all(&m->api.logged);
}

int api_is_leaving(struct err *err)
{
    err_set(err, -EAGAIN,
            "the master is handing the job over to another one and takes no more "
            "requests");
    err_hint(err, "ask again in a moment");
    return -EAGAIN;
}

/* The request is in our log, and is copied to HDFS with the rest. Only the end of that copy tells
 * whether the next master will see it; answering 503 before could make the client repeat it. */
static int await_log_end(struct master *m, struct err *err)
{
    int r = 0;

    m->api.n_logging++;
    cond_wake_all(&m->api.logged);
    while (r == 0 && !m->api.log_ended)
        r = cond_wait(m->loop, &m->api.logged, LOOP_NEVER); /* its copy has a deadline */
    m->api.n_logging--;
    return r < 0 || m->api.log_kept ? r : api_is_leaving(err);
}

/* Who is answered counts on it: what was asked for is in the log, so that a master after us knows
 * it too. */
int api_await_log(struct master *m, struct err *err)
{
    uint64_t before = m->api.told, behind;
    int64_t deadline = loop_in(m->loop, TURN_MS);
    int r = 0;

    while (r == 0 && m->api.told == before && !m->left && !m->ended)
        r = cond_wait(m->loop, &m->api.logged, deadline);
    if (r == -ETIMEDOUT)
        return err_set(err, -EAGAIN,
                       "the master is busy: the request was taken, but is not in the log yet");
    if (m->left && m->api.told == before)
        return api_is_leaving(err);
    behind = m->journal.size;
    deadline = loop_in(m->loop, LOGGED_MS);
    while (r == 0 && !m->left && !m->ops->copy->holds(m, behind))
        r = cond_wait(m->loop, &m->api.logged, deadline);
    if (r == -ECANCELED)
        return r;
    return m->left ? await_log_end(m, err) : 0;
}
