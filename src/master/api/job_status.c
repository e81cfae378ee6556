/* job_status.c - the job as it is: the document of job/history.h, from the journal and the engine.
 */
#include "master/master_private.h"

#include <string.h>

int job_status_new(struct job_status *s, struct err *err)
{
    return history_new(&s->history, err);
}

void job_status_done(struct job_status *s)
{
    s->history = history_free(s->history);
}

static int see_lines(struct master *m, const char *p, size_t n, struct err *err)
{
    const char *at = p, *end;

    while ((end = memchr(at, '\n', (size_t)(p + n - at))) != NULL) {
        if (history_apply(m->status.history, at, (size_t)(end - at), err) == -ENOMEM)
            return -ENOMEM;
        err_clear(err);
        at = end + 1;
    }
    return 0;
}

/* What tasks have said of their progress and the log does not have. */
static int see_progress(struct master *m, struct err *err)
{
    AUTO_BUF lines = { .max = 64 * MIB };

    if (engine_untold(m->engine, &lines) < 0)
        return err_oom(err);
    return lines.len ? see_lines(m, (char *)lines.data, lines.len, err) : 0;
}

/* Lets the history see what the journal has got since, in steps between which others have the loop;
 * who comes meanwhile waits. */
static int job_status_catch_up(struct master *m, struct err *err)
{
    AUTO_BUF lines = { .max = JOURNAL_LINES_MAX };
    int r = 0;

    while (r == 0 && m->status.catching_up)
        r = fiber_yield(m->loop);
    m->status.catching_up = r == 0;
    while (r == 0 && m->status.at < m->journal.size) {
        uint64_t at = m->status.at;
        ssize_t n = journal_lines(&m->journal, &at, &lines);

        if (n < 0)
            r = err_code(err, (int)n, "read the events log");
        else if (n > 0)
            r = see_lines(m, (char *)lines.data, (size_t)n, err);
        if (r == 0)
            m->status.at = at;
        if (r == 0 && m->status.at < m->journal.size)
            r = fiber_yield(m->loop);
    }
    m->status.catching_up = false;
    return r < 0 ? r : see_progress(m, err);
}

static int add_tensorboard(struct master *m, json_t *job, struct err *err)
{
    AUTO_FREE char *url = NULL;
    int r = tensorboard_url(m, &url, err);

    if (r == 0 && url && json_object_set_new(job, "tensorboard", json_string(url)) < 0)
        return err_oom(err);
    return r;
}

/* What the job waits for, and why it may have to wait for long. */
static void job_status_add_waiting(struct master *m, struct buf *out)
{
    const char *trouble = m->ended ? "" : platform_trouble(m->platform);

    engine_waiting_for(m->engine, out);
    if (*trouble)
        (void)buf_printf(out, "%s%s", out->len ? "; " : "", trouble);
}

/* The log, read by the same code as a past job's, and on top of it what only a living master knows:
 * what is waited for, and what no record says yet. */
int api_status(struct master *m, bool tasks, json_t **ret, struct err *err)
{
    AUTO_BUF waiting = { .max = 4 * KIB };
    int r = job_status_catch_up(m, err);

    if (r == 0)
        r = history_json(m->status.history, tasks, ret, err);
    if (r < 0)
        return r;
    job_status_add_waiting(m, &waiting);
    if (waiting.len > 0 && buf_text(&waiting) &&
        json_object_set_new(*ret, "waiting", json_text(buf_text(&waiting))) < 0)
        return err_oom(err);
    r = m->ops->names->add_status(m, *ret, err);
    if (r == 0 && tasks)
        r = hub_add_saved(m, *ret, err);
    return r < 0 ? r : add_tensorboard(m, *ret, err);
}
