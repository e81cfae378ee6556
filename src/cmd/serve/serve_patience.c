/* serve_patience.c - a queue may be full for hours, and that says nothing about the deployment: the
 * time for its first answer counts from when it has its containers. See serve_patience.h. */
#include "cmd/serve/serve_patience.h"
#include "launch/launch_options.h"
#include "terminal/format.h"
#include "terminal/wait_reason.h"

#include <stdio.h>

void serve_patience_begin(struct serve_patience *p, const struct job_call *x,
                          const struct serve_want *w)
{
    *p = (struct serve_patience){ .until = loop_in(x->loop, w->timeout),
                                  .since = loop_now(x->loop) };
}

static size_t count_waiting(const json_t *status)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i, n = 0;

    json_array_foreach(tasks, i, t) n += str_eq(format_text(t, "state"), "WAITING");
    return n;
}

void serve_patience_hint(const json_t *status, struct err *err)
{
    size_t n = count_waiting(status);

    if (*format_text(status, "waiting"))
        err_hint(err, "it was waiting for %s", format_text(status, "waiting"));
    else if (n > 0)
        err_hint(err, "it was waiting for %zu container%s", n, n == 1 ? "" : "s");
}

static bool waits_for_yarn(const struct serve_want *w, const json_t *status)
{
    return w->patient && w->on == OPTIONS_YARN &&
           (*format_text(status, "waiting") || count_waiting(status) > 0);
}

/* A line that there is no memory for is not missed. */
static void tell_wait(struct serve_patience *p, const struct job_call *x, const json_t *status)
{
    AUTO_BUF line = { .max = 4 * KIB };
    int64_t now = loop_now(x->loop);

    if (x->globals->quiet || now < waiting_due(p->since, p->told))
        return;
    if (waiting_line(status, now - p->since, &line) == 0 && line.len > 0)
        fprintf(stderr, "ydl: %s\n", buf_text(&line));
    p->told = now;
}

bool serve_patience_over(struct serve_patience *p, const struct job_call *x,
                         const struct serve_want *w, const json_t *status, bool moves)
{
    if (moves || waits_for_yarn(w, status))
        p->until = loop_in(x->loop, w->timeout);
    tell_wait(p, x, status);
    return loop_now(x->loop) > p->until;
}
