/* command_process.c - one fiber keeps the program alive; whoever asks it looks at its state. See
 * command_process.h. */
#include "serve/command/command_process.h"
#include "base/log.h"
#include "loop/listen.h"
#include "loop/proc.h"
#include "serve/command/command_output.h"
#include "serve/command/command_ports.h"
#include "wire/http.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define LOOK_MS 20 /* between two looks at the health path, while it starts */
#define LOOK_MAX_MS 500
#define ASK_MS 5000
#define STEADY_MS 10000 /* a program that lived so long did not fail to start */
#define DELAY_MS 100
#define DELAY_MAX_MS 10000

struct command_process {
    struct command_process_options o;
    struct proc *proc;
    struct command_output *output; /* of this process */
    struct line_out out;
    struct fiber *keeper;
    struct cond changed;
    unsigned port, life, failures;
    int64_t ready_ms; /* since when; 0: it is not */
    bool stopping;
    char trouble[128];
    char last_look[256]; /* why it was not ready then */
};

bool command_process_ready(const struct command_process *p)
{
    return p && p->ready_ms > 0;
}

unsigned command_process_port(const struct command_process *p)
{
    return p->port;
}

unsigned command_process_life(const struct command_process *p)
{
    return p->life;
}

const char *command_process_trouble(const struct command_process *p)
{
    return p ? p->trouble : "it is starting";
}

/* ---- starting ---- */

/* One that is free now. Whoever takes it meanwhile makes the program fail, which starts it again
 * with another. */
static int choose_port(unsigned *ret, struct err *err)
{
    int fd = -1, port = 0;
    int r = listen_tcp("127.0.0.1", 0, 0, &fd, &port, err);

    if (r == 0)
        listen_close(fd);
    *ret = (unsigned)port;
    return r;
}

static int make_environment(const struct command_process *p, struct strs *ret)
{
    int r = strs_printf(ret, "PORT=%u", p->port);

    for (char **e = environ; *e && r == 0; e++)
        if (!str_starts(*e, "PORT="))
            r = strs_add(ret, *e);
    return r;
}

/* ydl-native command-child PARENT PROGRAM … */
static int make_words(const struct command_process *p, struct strs *ret)
{
    int r = strs_add(ret, "ydl-native");

    if (r == 0)
        r = strs_add(ret, "command-child");
    if (r == 0)
        r = strs_printf(ret, "%d", (int)getpid());
    return r == 0 ? command_spec_words(p->o.spec, p->port, ret) : r;
}

/* With `output` as its standard output and error. */
static int process_spawn(struct command_process *p, int output, struct err *err)
{
    AUTO_STRS words = { 0 }, env = { 0 };

    if (make_words(p, &words) < 0 || make_environment(p, &env) < 0)
        return err_oom(err);
    const struct proc_spec spec = { .program = "/proc/self/exe",
                                    .argv = words.v,
                                    .envp = env.v,
                                    .cwd = p->o.spec->dir,
                                    .fds = { -1, output, output } };

    p->life++;
    return proc_start(p->o.loop, &spec, &p->proc, err);
}

/* What it prints is our log's: standard output may have lines for whoever started us. */
static int process_start(struct command_process *p, struct err *err)
{
    int ends[2] = { -1, -1 };
    int r = choose_port(&p->port, err);

    if (r < 0)
        return r;
    if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        r = err_sys(err, "make a pipe");
    if (r == 0)
        r = process_spawn(p, ends[1], err);
    if (ends[1] >= 0)
        close(ends[1]);
    if (r == 0)
        r = command_output_start(p->o.loop, &ends[0], &p->out, &p->output, err);
    if (ends[0] >= 0)
        close(ends[0]);
    return r;
}

/* The kernel tells of a parent's death from the call on: one that died before it is found by
 * asking. */
int command_become(pid_t parent, char **argv, struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return err_sys(err, "end with process %d", (int)parent);
    if (getppid() != parent)
        return err_set(err, -ESRCH, "process %d, which started us, has exited", (int)parent);
    (void)execvp(argv[0], argv);
    return err_sys(err, "start '%s'", argv[0]);
}

/* ---- is it ready? ---- */

/* It is no use without the reason, which is kept. */
static bool not_healthy(struct command_process *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static bool not_healthy(struct command_process *p, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(p->last_look, sizeof(p->last_look), fmt, args);
    va_end(args);
    return false;
}

static bool is_healthy(struct command_process *p)
{
    int64_t deadline = loop_in(p->o.loop, ASK_MS);
    AUTO(http_client) struct http_client *c = NULL;
    const struct http_request q = { .method = "GET", .target = p->o.spec->health };
    struct stream *stream = NULL;
    struct http_answer a = { 0 };
    struct err err = ERR_INIT;
    struct sock *s = NULL;

    if (sock_connect(p->o.loop, "127.0.0.1", (int)p->port, deadline, &s, NULL) < 0)
        return not_healthy(p, "nothing listens on 127.0.0.1:%u, which is {port}", p->port);
    if (!q.target) {
        sock_close(s);
        return true;
    }
    if (stream_plain(s, &stream, &err) < 0 ||
        http_client_new(p->o.loop, stream, "127.0.0.1", NULL, &c, &err) < 0 ||
        http_ask(c, &q, deadline, &a, &err) < 0)
        return not_healthy(p, "GET %s: %s", q.target, err.text);
    return a.status == 200 || not_healthy(p, "GET %s was answered with %d", q.target, a.status);
}

/* For the log and whoever started us; clients are told without its own words. */
static int tell_end(struct command_process *p, int status, struct err *err)
{
    const char *last;

    if (WIFSIGNALED(status))
        (void)snprintf(p->trouble, sizeof(p->trouble), "it was killed by signal %d",
                       WTERMSIG(status));
    else
        (void)snprintf(p->trouble, sizeof(p->trouble), "it ended with exit status %d",
                       WEXITSTATUS(status));
    command_output_look(p->output);
    last = command_output_last(p->output);
    return err_set(err, -ECHILD, "the model's program '%s' is not running: %s%s%s",
                   p->o.spec->words.v[0], p->trouble, *last ? ": " : "", last);
}

static int tell_late(struct command_process *p, struct err *err)
{
    char ports[64];
    unsigned n = command_ports(proc_pid(p->proc), ports, sizeof(ports));

    (void)snprintf(p->trouble, sizeof(p->trouble), "it did not become ready");
    return err_set(err, -ETIMEDOUT,
                   "the model's program '%s' was not ready within %.6g s (--load-timeout): %s%s%s",
                   p->o.spec->words.v[0], (double)p->o.load_ms / 1000, p->last_look,
                   n > 0 ? "; it listens on " : "", ports);
}

static int await_ready(struct command_process *p, struct err *err)
{
    int64_t deadline = loop_in(p->o.loop, p->o.load_ms), pause = LOOK_MS;
    int status = 0, r;

    (void)snprintf(p->trouble, sizeof(p->trouble), "it is starting");
    while (!is_healthy(p)) {
        if (fiber_cancelled(p->o.loop))
            return err_set(err, -ECANCELED, "interrupted");
        if (loop_now(p->o.loop) >= deadline)
            return tell_late(p, err);
        r = proc_wait(p->proc, loop_in(p->o.loop, pause), &status);
        if (r == 0)
            return tell_end(p, status, err);
        if (r != -ETIMEDOUT)
            return err_set(err, r, "interrupted");
        pause = pause * 2 < LOOK_MAX_MS ? pause * 2 : LOOK_MAX_MS;
    }
    p->ready_ms = loop_now(p->o.loop);
    p->trouble[0] = '\0';
    return 0;
}

/* ---- keeping it ---- */

/* Taken first, so that one fiber alone ends it. */
static void process_end(struct command_process *p)
{
    struct proc *proc = take(p->proc);
    int status;

    p->ready_ms = 0;
    if (!proc)
        return;
    (void)proc_end(proc, p->o.grace_ms, &status);
    proc_free(proc);
    p->output = command_output_stop(p->output);
}

static int64_t next_delay(struct command_process *p, int64_t lived)
{
    int64_t ms;

    p->failures = lived > STEADY_MS ? 1 : p->failures + 1;
    ms = p->failures > 1 ? DELAY_MS << (p->failures < 9 ? p->failures : 9) : 0;
    return ms < DELAY_MAX_MS ? ms : DELAY_MAX_MS;
}

/* One more life of it; for how long it was ready.
 *
 * Its first life was begun by command_process_start(), whose caller wants to know how it went. */
static int64_t live_once(struct command_process *p)
{
    struct err err = ERR_INIT;
    int64_t lived;
    int status = 0;
    int r = p->proc ? 0 : process_start(p, &err);

    if (r == 0 && p->ready_ms == 0)
        r = await_ready(p, &err);
    if (r == 0 && proc_wait(p->proc, LOOP_NEVER, &status) == 0)
        (void)tell_end(p, status, &err);
    lived = p->ready_ms > 0 ? loop_now(p->o.loop) - p->ready_ms : 0;
    p->ready_ms = 0;
    if (err.code && err.code != -ECANCELED && !p->stopping)
        log_warn(LOG_MAIN, "%s", err.text);
    if (!p->stopping)
        process_end(p);
    return lived;
}

static void keep(void *arg)
{
    struct command_process *p = arg;

    while (!p->stopping) {
        int64_t ms = next_delay(p, live_once(p));

        if (!p->stopping && fiber_sleep(p->o.loop, ms) < 0)
            break;
    }
    p->keeper = NULL;
    cond_wake_all(&p->changed);
}

int command_process_start(const struct command_process_options *o, struct command_process **ret,
                          struct err *err)
{
    struct command_process *p = calloc(1, sizeof(*p));
    int r;

    if (!p)
        return err_oom(err);
    p->o = *o;
    line_out_open(&p->out, STDERR_FILENO);
    r = process_start(p, err);
    if (r == 0)
        r = await_ready(p, err);
    if (r == 0)
        r = fiber_start(o->loop, keep, p, &p->keeper, err);
    if (r < 0) {
        command_process_stop(p);
        return r;
    }
    *ret = p;
    return 0;
}

/* The program ends first, with its grace, while the keeper still waits for it: that one sees the
 * end, and `stopping` keeps it from starting another one and from freeing what is used here. */
struct command_process *command_process_stop(struct command_process *p)
{
    int status;

    if (!p)
        return NULL;
    p->stopping = true;
    fiber_shield(p->o.loop, true);
    if (p->proc) /* with its grace, which a cancelled fiber would not give */
        (void)proc_end(p->proc, p->o.grace_ms, &status);
    if (p->keeper)
        fiber_cancel(p->keeper);
    while (p->keeper)
        (void)cond_wait(p->o.loop, &p->changed, LOOP_NEVER);
    p->proc = proc_free(p->proc);
    p->output = command_output_stop(p->output);
    line_out_done(&p->out);
    fiber_shield(p->o.loop, false);
    free(p);
    return NULL;
}
