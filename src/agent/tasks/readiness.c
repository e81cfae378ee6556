/* readiness.c - readiness checks: is the port open, does it answer, does the file exist, does the
 * output contain the text?
 *
 * A fiber for each task that is not ready yet. It checks often at first, then once a second. */
#include "agent/tasks/readiness.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/task_stop.h"
#include "base/log.h"
#include "base/path.h"
#include "job/spec/spec.h"
#include "loop/sock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FIRST_MS 50
#define LAST_MS 1000
#define ANSWER_MS 5000
#define CHUNK (16 * KIB)

struct probe {
    struct agent_task *task;
    uint32_t kind;
    char *what;
    int64_t timeout;
    uint64_t seen[2]; /* of the output files */
};

/* ---- the kinds ---- */

static struct sock *probe_dial(const struct probe *p)
{
    const struct agent_task *t = p->task;
    const char *hosts[] = { t->agent->link.host, "127.0.0.1", "::1" };
    struct loop *l = t->agent->loop;
    struct sock *s = NULL;

    for (size_t i = 0; i < COUNT_OF(hosts) && !s && t->prep.n_ports > 0; i++)
        if (sock_connect(l, hosts[i], t->prep.ports[0].number, loop_in(l, ANSWER_MS), &s, NULL) < 0)
            s = NULL;
    return s;
}

static bool port_open(struct probe *p)
{
    AUTO_SOCK *s = probe_dial(p);

    return s != NULL;
}

/* "HTTP/1.1 200 OK" is enough; the rest of the answer is not read. */
static bool http_fine(struct probe *p)
{
    AUTO_SOCK *s = probe_dial(p);
    AUTO_FREE char *ask = NULL;
    char line[16];
    int64_t deadline;

    if (!s)
        return false;
    deadline = loop_in(p->task->agent->loop, ANSWER_MS);
    ask = str_printf("GET %s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                     *p->what == '/' ? "" : "/", p->what);
    if (!ask || sock_write(s, ask, strlen(ask), deadline) < 0 ||
        sock_read_full(s, line, 12, deadline) < 0)
        return false;
    return memcmp(line, "HTTP/1.", 7) == 0 && memcmp(line + 8, " 200", 4) == 0;
}

static bool file_there(struct probe *p)
{
    AUTO_FREE char *path = path_join(p->task->prep.work, p->what);

    return path && access(path, F_OK) == 0;
}

/* Continues a little before the end of the last look: the text may have been half written. */
static bool said_in(struct probe *p, int i, char *chunk)
{
    struct rotate *of = &p->task->output.streams[i].cut;
    size_t len = strlen(p->what);
    ssize_t n;

    if (p->seen[i] < rotate_begin(of))
        p->seen[i] = rotate_begin(of);
    while ((n = rotate_read(of, p->seen[i], chunk, CHUNK)) > 0) {
        if (memmem(chunk, (size_t)n, p->what, len))
            return true;
        if ((size_t)n < len)
            break;
        p->seen[i] += (size_t)n - len + 1;
    }
    return false;
}

static bool probe_said(struct probe *p)
{
    AUTO_FREE char *chunk = malloc(CHUNK);

    return chunk && *p->what && strlen(p->what) < CHUNK / 2 &&
           (said_in(p, 0, chunk) || said_in(p, 1, chunk));
}

static const struct {
    bool (*check)(struct probe *p);
    const char *lacks; /* why it is not ready */
} kinds[] = {
    [SPEC_READY_PORT] = { port_open, "nothing accepts connections on its port" },
    [SPEC_READY_HTTP] = { http_fine, "it does not answer with 200" },
    [SPEC_READY_FILE] = { file_there, "the file is not there" },
    [SPEC_READY_LOG] = { probe_said, "its output does not contain the text" },
};

/* ---- the fiber ---- */

static void probe_too_late(const struct probe *p)
{
    char text[256];

    snprintf(text, sizeof(text), "not ready within %lld.%lld s: %s%s%.100s%s",
             (long long)p->timeout / 1000, (long long)p->timeout % 1000 / 100, kinds[p->kind].lacks,
             *p->what ? " ('" : "", p->what, *p->what ? "')" : "");
    stop_for(p->task, FAIL_NOT_READY, text);
}

/* probe_end() cancels the fiber and forgets it; the fiber frees what is its own when it notices. A
 * check that was cancelled in the middle counts for nothing. */
static void probe_run(void *arg)
{
    struct probe *p = arg;
    struct agent_task *t = p->task;
    struct loop *l = t->agent->loop;
    int64_t deadline = p->timeout > 0 ? loop_in(l, p->timeout) : LOOP_NEVER, pause = FIRST_MS;
    int64_t stood = t->agent->fence.stood;

    while (!fiber_cancelled(l)) {
        bool ready = kinds[p->kind].check(p);

        if (fence_wait(t->agent) < 0 || fiber_cancelled(l))
            break;
        if (p->timeout > 0) /* time in which it stood still does not count */
            deadline += t->agent->fence.stood - stood;
        stood = t->agent->fence.stood;
        if (ready || loop_now(l) >= deadline) {
            t->readiness.probe = NULL;
            if (ready)
                report_ready(t);
            else
                probe_too_late(p);
            break;
        }
        if (loop_in(l, pause) > deadline)
            pause = deadline - loop_now(l) + 1;
        (void)fiber_sleep(l, pause);
        pause = pause + pause / 2 < LAST_MS ? pause + pause / 2 : LAST_MS;
    }
    free(p->what);
    free(p);
}

int probe_begin(struct agent_task *t, const Agent__Ready *ready, struct err *err)
{
    struct probe *p = NULL;
    int r;

    if (ready->kind >= COUNT_OF(kinds) || !kinds[ready->kind].check)
        return err_set(err, -EPROTO, "unknown readiness check %u", ready->kind);
    p = calloc(1, sizeof(*p));
    if (p) {
        *p = (struct probe){ .task = t, .kind = ready->kind, .timeout = ready->timeout_ms };
        memcpy(p->seen, t->output.start, sizeof(p->seen));
        p->what = strdup(ready->what);
    }
    r = p && p->what ? fiber_start(t->agent->loop, probe_run, p, &t->readiness.probe, err)
                     : err_oom(err);
    if (r < 0 && p) {
        free(p->what);
        free(p);
    }
    return r;
}

void probe_end(struct agent_task *t)
{
    if (t->readiness.probe)
        fiber_cancel(t->readiness.probe);
    t->readiness.probe = NULL;
}
