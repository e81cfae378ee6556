/* job.c - see job.h */
#include "cmd/job/job.h"
#include "base/path.h"
#include "cmd/job/story.h"

#include <unistd.h>

struct work {
    struct job_call x;
    job_fn *fn;
    const char *job; /* NULL: none is named */
    struct err *err;
};

static int run_work(void *arg)
{
    struct work *w = arg;
    int r = 0;

    if (w->job)
        r = client_find(w->x.loop, w->job, &w->x.client, w->err);
    if (r == 0)
        r = w->fn(&w->x, w->err);
    w->x.client = client_free(w->x.client);
    return r;
}

static int run(struct work *w, bool signals)
{
    int r = loop_new(&w->x.loop, w->err);

    if (r < 0)
        return r;
    r = loop_run(w->x.loop, run_work, w, signals);
    if (r < 0 && loop_signal(w->x.loop))
        r = err_set(w->err, -ECANCELED, "interrupted");
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

    return run(&w, true);
}

int job_run_plain(const struct cli *c, job_fn *fn, struct err *err)
{
    struct work w = work_of(c, fn, err);

    return run(&w, false);
}

int job_run_on(const struct cli *c, job_fn *fn, struct err *err)
{
    struct work w = work_of(c, fn, err);

    w.job = c->operands[0];
    if (str_starts(w.job, "application_"))
        return cli_bad(err, "'%s': jobs on YARN are not there yet", w.job);
    return run(&w, true);
}

int job_exit(const json_t *status, struct err *err)
{
    const json_t *code = json_object_get(status, "exit");

    if (json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) <= 255)
        return (int)json_integer_value(code);
    return err_set(err, -EPROTO, "the job has ended, but nobody says how");
}

int job_tell(const json_t *status, const char *logs, struct err *err)
{
    AUTO_BUF text = { .max = MIB };

    if (story_text(status, logs, &text) < 0)
        return err_oom(err);
    (void)path_write_fd(STDERR_FILENO, text.data, text.len); /* the exit code says it too */
    return 0;
}
