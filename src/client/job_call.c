/* job_call.c - sets up what a verb needs, in the order in which it can fail: loop, fiber, the
 * job's platform, and the cluster only when it is needed. See job_call.h. */
#include "client/job_call.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "terminal/story.h"

#include <stdio.h>
#include <unistd.h>

const char *const job_places[] = { "local", "yarn", NULL };

/* clang-format off */
const struct cli_opt job_where_opts[] = {
    JOB_WHERE_OPTS,
    { 0 },
};
/* clang-format on */

/* ---- running ---- */

struct work {
    struct job_call x;
    job_fn *fn;
    const char *job; /* NULL: none is named */
    struct err *err;
};

static int run_work(void *arg)
{
    struct work *w = arg;
    struct job_call *x = &w->x;
    int r = 0;

    if (w->job)
        r = job_find(x, w->job, &x->client, w->err);
    if (x->client && x->globals->quiet)
        client_set_note(x->client, NULL, NULL);
    if (r == 0)
        r = w->fn(x, w->err);
    fiber_shield(x->loop, true); /* closing takes no time, but may wait */
    x->client = client_free(x->client);
    x->yarn = yarn_jobs_unref(x->yarn);
    fiber_shield(x->loop, false);
    return r;
}

static int job_call_run(struct work *w, bool signals)
{
    int r = loop_new(&w->x.loop, w->err);

    if (r < 0)
        return r;
    r = loop_run(w->x.loop, run_work, w, signals);
    if (r < 0 && loop_signal(w->x.loop))
        r = err_set(w->err, -ECANCELED, "interrupted");
    session_free(w->x.net.session);
    loop_free(w->x.loop);
    return r;
}

static struct work work_of(const struct cli *c, job_fn *fn, struct err *err)
{
    return (struct work){ .x = { .cli = c, .globals = globals_of(c) }, .fn = fn, .err = err };
}

int job_run(const struct cli *c, job_fn *fn, struct err *err)
{
    struct work w = work_of(c, fn, err);

    return job_call_run(&w, true);
}

int job_verb(struct cli *c, struct err *err)
{
    return job_run(c, (job_fn *)c->verb->work, err);
}

int job_verb_plain(struct cli *c, struct err *err)
{
    struct work w = work_of(c, (job_fn *)c->verb->work, err);

    return job_call_run(&w, false);
}

int job_verb_on(struct cli *c, struct err *err)
{
    struct work w = work_of(c, (job_fn *)c->verb->work, err);

    w.job = c->operands[0]; /* NULL: none was named */
    return job_call_run(&w, true);
}

/* ---- the cluster ---- */

/* Looks once; without a configuration x->net says what is missing. */
static int find_cluster(struct job_call *x, struct err *err)
{
    if (x->looked)
        return 0;
    x->net.cli = x->cli;
    x->net.globals = x->globals;
    x->net.loop = x->loop;
    x->looked = true;
    return connect_open(&x->net, CONNECT_IF_CONFIGURED, err);
}

int job_session(struct job_call *x, struct session **ret, struct err *err)
{
    int r = find_cluster(x, err);

    if (r < 0)
        return r;
    *ret = x->net.session;
    if (x->net.session)
        return 0;
    if (err)
        *err = x->net.unconfigured;
    return x->net.unconfigured.code;
}

int job_yarn(struct job_call *x, const char *staging, struct yarn_jobs **ret, struct err *err)
{
    int r = find_cluster(x, err);

    if (r == 0 && x->net.session && !x->yarn)
        r = yarn_jobs_new(x->loop, x->net.session, staging, &x->yarn, err);
    *ret = x->yarn;
    return r;
}

int job_place(const struct job_where *w, enum job_place *ret, struct err *err)
{
    const char *env = getenv("YDL_ON");

    *ret = w->on >= 0 ? (enum job_place)w->on : JOB_ANYWHERE;
    if (w->on >= 0 || !env || !*env)
        return 0;
    for (size_t i = 0; job_places[i]; i++)
        if (str_eq(job_places[i], env)) {
            *ret = (enum job_place)i;
            return 0;
        }
    return cli_bad(err, "YDL_ON is '%s': it must be local or yarn", env);
}

int job_yarn_too(struct job_call *x, const struct job_where *w, struct yarn_jobs **ret,
                 struct err *err)
{
    struct session *session = NULL;
    enum job_place place;
    int r = job_place(w, &place, err);

    *ret = NULL;
    if (r < 0 || place == JOB_LOCAL)
        return r;
    if (place == JOB_YARN) /* then it must be there */
        r = job_session(x, &session, err);
    if (r == 0)
        r = job_yarn(x, w->staging, ret, err);
    return r < 0 ? job_without_yarn(x, w, r, err) : 0;
}

/* Jobs on this machine are found although the cluster cannot be reached. Unless the user asked for
 * YARN, that is only a warning; a job that is not found then may be on the cluster, and messages
 * say so (without_yarn). */
int job_without_yarn(struct job_call *x, const struct job_where *w, int r, struct err *err)
{
    enum job_place place = JOB_YARN;
    char text[1024];

    if (r == -ENOMEM || r == -ECANCELED || job_place(w, &place, NULL) < 0 || place == JOB_YARN)
        return r;
    str_clean(text, sizeof(text), err->text);
    if (!x->globals->quiet)
        fprintf(stderr, "ydl: jobs on YARN are left out: %s\n", text);
    err_clear(err);
    x->without_yarn = r;
    return 0;
}

/* ---- the end ---- */

int job_exit(const json_t *status, struct err *err)
{
    const json_t *code = json_object_get(status, "exit");

    if (json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) <= 255)
        return (int)json_integer_value(code);
    return err_set(err, -EPROTO, "the job has ended, but how is not recorded");
}

int job_tell(const json_t *status, const char *logs, struct err *err)
{
    AUTO_BUF text = { .max = MIB };

    if (story_text(status, logs, &text) < 0)
        return err_oom(err);
    (void)path_write_fd(STDERR_FILENO, text.data, text.len); /* the exit code says it too */
    return 0;
}
