/* haproxy_process.c - the child, its pipe and its end.
 *
 *     gateway ──posix_spawn──► ydl-native haproxy-child ──exec──► haproxy -db -f CONF
 *        │                        (dies with its parent)            0: the listening socket
 *        └──────────────────── reads ◄──────────────────────────── 1, 2: a pipe
 *
 * A pipe loses nothing while there is room, and HAProxy never waits for it: what does not fit is
 * dropped by HAProxy and missing in the counts, and no request is slower for it. While requests
 * come we read now and then, not at each line: waking us would take a processor from the next
 * request. */
#include "serve/gateway/haproxy_process.h"
#include "base/buf.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "loop/proc.h"
#include "loop/sock.h"
#include "serve/gateway/haproxy_log.h"
#include "serve/gateway/haproxy_runtime.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PIPE_BYTES (1 << 20)
#define LINE_MAX_BYTES ((size_t)4096)
#define STOP_MS 2000 /* until it says that it accepts no more */
#define LOOK_MS 5    /* until the run-time API is asked again */
#define GATHER_MS 25 /* in which lines of its log come together */

struct haproxy {
    struct haproxy_options o;
    char *socket;
    struct proc *proc;
    struct sock *out;
    struct fiber *reader;
    struct cond read_to_end, stopped;
    bool is_stopped; /* accepts no more: it said so */
    char last[400];  /* of its own words: the last alert, else the last line */
    bool alerted;
};

/* ---- what it prints ---- */

/* Behind the alert that says what is wrong come others, which say that something is. */
static bool process_is_sum(const char *text)
{
    return strstr(text, "Fatal errors found") || strstr(text, "Error(s) found in configuration");
}

/* True: it was one of the log. */
static bool process_line(struct haproxy *h, const char *line, size_t n)
{
    char clean[sizeof(h->last)];
    AUTO_FREE char *text = NULL;
    bool alert;

    h->o.on_line(h->o.user, line, n);
    if (n >= strlen(HAPROXY_LOG_MARK) &&
        memcmp(line, HAPROXY_LOG_MARK, strlen(HAPROXY_LOG_MARK)) == 0)
        return true;
    text = strndup(line, n);
    if (text && strstr(text, "Proxy gateway stopped")) {
        h->is_stopped = true;
        cond_wake_all(&h->stopped);
    }
    alert = text && str_starts(text, "[ALERT]");
    if (!text || (h->alerted && !alert) || process_is_sum(text))
        return false;
    (void)str_clean(clean, sizeof(clean), text);
    memcpy(h->last, clean, sizeof(h->last));
    h->alerted = alert;
    return false;
}

/* True: lines of the log were among them. */
static bool process_lines(struct haproxy *h, struct buf *b)
{
    bool requests = false;
    size_t at = 0;
    const uint8_t *end;

    while (at < b->len && (end = memchr(b->data + at, '\n', b->len - at))) {
        size_t n = (size_t)(end - (b->data + at));

        requests |= process_line(h, (const char *)b->data + at, n);
        at += n + 1;
    }
    buf_eat(b, at);
    if (b->len == b->max)
        buf_reset(b); /* a line that long is none of ours */
    return requests;
}

static void process_read(void *arg)
{
    struct haproxy *h = arg;
    AUTO_BUF b = { .max = 64 * KIB };

    for (;;) {
        uint8_t *at;
        size_t room = b.max - b.len < LINE_MAX_BYTES * 4 ? b.max - b.len : LINE_MAX_BYTES * 4;
        ssize_t n = buf_room(&b, room, &at) < 0
                        ? -ENOMEM
                        : sock_read(h->out, at, room, LOOP_NEVER); /* ends with the child */

        if (n <= 0)
            break;
        b.len += (size_t)n;
        if (process_lines(h, &b) && (size_t)n < room)
            (void)fiber_sleep(h->o.loop, GATHER_MS);
    }
    h->reader = NULL;
    cond_wake_all(&h->read_to_end);
    cond_wake_all(&h->stopped);
}

/* ---- starting ---- */

static int process_pipe(struct haproxy *h, int *ret_write, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_sys(err, "a pipe for HAProxy");
    *ret_write = ends[1];
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* or what is allowed */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return sock_from_fd(h->o.loop, ends[0], &h->out, err);
}

static int process_spawn(struct haproxy *h, struct err *err)
{
    char parent[24];
    char *argv[] = {
        (char *)"ydl-native", (char *)"haproxy-child", parent, (char *)h->o.program, (char *)"-db",
        (char *)"-f",         (char *)h->o.conf,       NULL
    };
    AUTO_CLOSE int out = -1;
    struct proc_spec spec = { .program = "/proc/self/exe", .argv = argv };
    int r = process_pipe(h, &out, err);

    if (r < 0)
        return r;
    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    spec.fds[0] = h->o.listen_fd;
    spec.fds[1] = spec.fds[2] = out;
    r = proc_start(h->o.loop, &spec, &h->proc, err);
    if (r == 0)
        r = fiber_start(h->o.loop, process_read, h, &h->reader, err);
    return r;
}

/* The kernel tells of a parent's death from the call on: one that died before it is found by
 * asking. */
int haproxy_become(pid_t parent, char **argv, struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return err_sys(err, "end with process %d", (int)parent);
    if (getppid() != parent)
        return err_set(err, -ESRCH, "process %d, which started us, has exited", (int)parent);
    (void)execv(argv[0], argv);
    return err_sys(err, "start '%s'", argv[0]);
}

static int process_failed(struct haproxy *h, struct err *err)
{
    int64_t deadline = loop_in(h->o.loop, 1000);

    while (h->reader && cond_wait(h->o.loop, &h->read_to_end, deadline) == 0)
        ;
    return err_set(err, -ECHILD, "HAProxy did not start: %s",
                   h->last[0] ? h->last : "it ended without a word");
}

static int process_await(struct haproxy *h, struct err *err)
{
    int64_t deadline = loop_in(h->o.loop, HAPROXY_START_MS);

    for (;;) {
        AUTO_BUF answer = { .max = 64 * KIB };
        int status, r = haproxy_ask(h->o.loop, h->socket, "show info", &answer, NULL);

        if (r == 0 && answer.len > 0)
            return 0;
        if (proc_ended(h->proc, &status))
            return process_failed(h, err);
        if (loop_now(h->o.loop) >= deadline)
            return err_set(err, -ETIMEDOUT, "HAProxy did not answer within %d seconds",
                           HAPROXY_START_MS / 1000);
        r = fiber_sleep(h->o.loop, LOOK_MS);
        if (r < 0)
            return r;
    }
}

static void process_on_end(void *user)
{
    struct haproxy *h = user;

    h->o.on_end(h->o.user);
}

int haproxy_start(const struct haproxy_options *o, struct haproxy **ret, struct err *err)
{
    AUTO(haproxy) struct haproxy *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return err_oom(err);
    h->o = *o;
    h->socket = strdup(o->socket);
    if (!h->socket)
        return err_oom(err);
    (void)unlink(h->socket);
    r = process_spawn(h, err);
    if (r == 0)
        r = process_await(h, err);
    if (r < 0)
        return r;
    r = proc_on_end(h->proc, process_on_end, h);
    if (r < 0)
        return err_code(err, r, "watch HAProxy");
    *ret = take(h);
    return 0;
}

/* ---- afterwards ---- */

bool haproxy_ended(struct haproxy *h)
{
    int status;

    return proc_ended(h->proc, &status);
}

bool haproxy_was_told(struct haproxy *h)
{
    int status = 0;

    return proc_ended(h->proc, &status) && WIFSIGNALED(status) &&
           (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
}

pid_t haproxy_pid(const struct haproxy *h)
{
    return proc_pid(h->proc);
}

const char *haproxy_socket(const struct haproxy *h)
{
    return h->socket;
}

void haproxy_retire(struct haproxy *h)
{
    int64_t deadline = loop_in(h->o.loop, STOP_MS);

    (void)kill(proc_pid(h->proc), SIGUSR1); /* the number is its own until proc_free() */
    while (!h->is_stopped && !haproxy_ended(h) && cond_wait(h->o.loop, &h->stopped, deadline) == 0)
        ;
}

void haproxy_wait_end(struct haproxy *h, int64_t ms)
{
    int status;

    fiber_shield(h->o.loop, true);
    if (proc_wait(h->proc, loop_in(h->o.loop, ms), &status) < 0)
        (void)proc_signal_group(h->proc, SIGKILL);
    fiber_shield(h->o.loop, false);
}

/* Its reader holds `h`: the pipe's end is waited for, which is at once when the child is gone. */
struct haproxy *haproxy_free(struct haproxy *h)
{
    if (!h)
        return NULL;
    proc_free(h->proc);
    fiber_shield(h->o.loop, true);
    while (h->reader && cond_wait(h->o.loop, &h->read_to_end, loop_in(h->o.loop, 2000)) == 0)
        ;
    if (h->reader && h->out) {
        fiber_cancel(h->reader);
        while (h->reader)
            (void)cond_wait(h->o.loop, &h->read_to_end, LOOP_NEVER);
    }
    fiber_shield(h->o.loop, false);
    sock_close(h->out);
    if (h->socket)
        (void)unlink(h->socket);
    free(h->socket);
    free(h);
    return NULL;
}
