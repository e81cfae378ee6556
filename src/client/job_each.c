/* job_each.c - all jobs, of this machine and of YARN: job_each() of job_call.h */
#include "client/client_private.h"
#include "client/job_call.h"

struct each {
    struct job_call *x;
    unsigned how;
    size_t most, n; /* limit for each kind of job; local jobs visited so far */
    job_each_fn *fn;
    void *arg;
    struct err *err;
};

static int each_client(struct each *e, struct client *c)
{
    int r = e->fn(e->arg, c, e->err);

    if (r < 0 && r != -ENOMEM && r != -ECANCELED && (e->how & JOB_EACH_RUNNING) &&
        client_alive(c, NULL) == 0) {
        err_clear(e->err); /* it ended while we looked */
        return 0;
    }
    return r;
}

static int each_dir(void *arg, struct job_dir *d)
{
    struct each *e = arg;
    AUTO_CLIENT *c = NULL;
    int r;

    if ((e->how & JOB_EACH_RUNNING) && !jobs_alive(d))
        return 0;
    r = client_new(e->x->loop, d, &c, e->err);
    if (r == 0)
        r = each_client(e, c);
    return r < 0 ? r : ++e->n == e->most;
}

static int each_app(struct each *e, struct yarn_jobs *y, const Yarn__ApplicationReport *a)
{
    AUTO_CLIENT *c = NULL;
    int r = client_yarn_new(y, yarn_app_id_of(a->application_id), NULL, &c, e->err);

    return r < 0 ? r : each_client(e, c);
}

static int each_of_yarn(struct each *e, const struct job_where *w, struct err *err)
{
    AUTO_YARN_APPS apps = { 0 };
    struct yarn_jobs *y = NULL;
    int r = job_yarn_too(e->x, w, &y, err);

    if (r < 0 || !y)
        return r;
    if (e->how & JOB_EACH_SWEEP)
        yarn_jobs_sweep(y);
    r = yarn_jobs_list(y, NULL, e->how & JOB_EACH_RUNNING, &apps, err);
    for (size_t i = 0; r == 0 && i < apps.n && i < e->most; i++)
        r = each_app(e, y, apps.v[i]);
    return r < 0 ? job_without_yarn(e->x, w, r, err) : 0;
}

int job_each(struct job_call *x, unsigned how, size_t most, job_each_fn *fn, void *arg,
             struct err *err)
{
    struct each e = { .x = x, .how = how, .most = most, .fn = fn, .arg = arg, .err = err };
    const struct job_where *w = job_args(x);
    AUTO_FREE char *state = NULL;
    enum job_place place;
    int r = job_place(w, &place, err);

    if (r == 0)
        r = jobs_state_dir(&state, err);
    if (r == 0 && place != JOB_YARN)
        r = jobs_each(state, each_dir, &e, err);
    if (r < 0)
        return r;
    x->net.hasty = place == JOB_ANYWHERE; /* the jobs of this machine are to be shown anyhow */
    return each_of_yarn(&e, w, err);
}
