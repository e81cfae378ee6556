/* agent.c - the agent's life: dial, say hello, obey, end everything, leave. */
#include "agent/agent_private.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/path.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#define DIAL_MS 30000
#define LOST_GRACE 2000 /* for tasks whose master is gone */
#define END_MS 5000     /* for the kernel to end what was killed */
#define FRAME_MAX (64 * MIB)
#define QUEUE_MAX (64 * MIB)

int64_t agent_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct task *agent_task(const struct agent *a, uint32_t id)
{
    return id < a->n_ids ? a->by_id[id] : NULL;
}

void agent_break(struct agent *a, int code, const char *what)
{
    if (a->broken)
        return;
    a->broken = code;
    snprintf(a->why, sizeof(a->why), "%s", what);
    fiber_cancel(a->main);
}

/* ---- signals ---- */

static void on_signal(uv_signal_t *h, int signum)
{
    struct agent *a = h->data;

    if (!a->signal)
        a->signal = signum;
    fiber_cancel(a->main); /* again and again is fine: it is shielded while it cleans up */
}

static int watch_signals(struct agent *a, struct err *err)
{
    static const int wanted[] = { SIGTERM, SIGINT, SIGHUP };

    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        int r;

        uv_signal_init(loop_uv(a->loop), &a->signals[i + 1]);
        a->signals[i + 1].data = a;
        r = uv_signal_start(&a->signals[i + 1], on_signal, wanted[i]);
        if (r < 0)
            return err_code(err, r, "watch for signals");
    }
    return 0;
}

/* ---- hello ---- */

static int dial(struct agent *a, struct err *err)
{
    const struct channel_limits limits = { .frame_max = FRAME_MAX, .queue_max = QUEUE_MAX };
    int64_t deadline = loop_in(a->loop, DIAL_MS);
    struct stream *stream = NULL;
    struct sock *s = NULL;
    int r;

    if (a->join.path)
        r = sock_connect_unix(a->loop, a->join.path, deadline, &s, err);
    else
        r = sock_connect(a->loop, a->join.host, a->join.port, deadline, &s, err);
    if (r < 0)
        return r;
    if (a->join.path)
        r = stream_plain(s, &stream, err);
    else
        r = stream_tls_client(s, &a->join.key, deadline, &stream, err);
    if (r < 0)
        return r;
    return channel_new(a->loop, stream, &limits, &a->channel, err);
}

/* What others reach its tasks by. */
static const char *own_address(struct agent *a)
{
    if (a->opt->host)
        return a->opt->host;
    if (a->join.path)
        return "127.0.0.1";
    return sock_local_ip(stream_sock(channel_stream(a->channel)));
}

static int say_hello(struct agent *a, struct err *err)
{
    Agent__Hello hello = AGENT__HELLO__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;
    char name[256] = "localhost";

    (void)gethostname(name, sizeof(name) - 1);
    hello.version = AGENT_PROTOCOL;
    hello.build = (char *)YDL_VERSION;
    hello.job = a->join.key.identity;
    if (a->join.path) /* with TLS the key has spoken already */
        hello.key = (ProtobufCBinaryData){ .data = a->join.key.key, .len = STREAM_KEY };
    hello.agent = a->opt->number;
    snprintf(a->host, sizeof(a->host), "%s", own_address(a));
    hello.host = a->host;
    hello.node = a->opt->node ? (char *)a->opt->node : name;
    hello.pid = (uint32_t)getpid();
    m.hello = &hello;
    m.body_case = AGENT__TO_MASTER__BODY_HELLO;
    return channel_send(a->channel, &m.base, err);
}

static int next_message(struct agent *a, int64_t deadline, Agent__ToAgent **ret, struct err *err)
{
    ProtobufCMessage *m = NULL;
    int r = channel_read(a->channel, &agent__to_agent__descriptor, deadline, &m, err);

    *ret = (Agent__ToAgent *)m;
    return r;
}

/* Where things go: the job's word, or beside the join file. */
static int settle(struct agent *a, struct err *err)
{
    const Agent__JobFacts *f = a->facts;
    int r;

    a->work_dir = *f->work_dir ? strdup(f->work_dir) : path_dir(a->opt->join_file);
    a->tasks_dir = a->work_dir ? path_join(a->work_dir, "tasks") : NULL;
    a->log_dir = a->work_dir && !*f->log_dir ? path_join(a->work_dir, "logs") : strdup(f->log_dir);
    if (!a->work_dir || !a->tasks_dir || !a->log_dir)
        return err_oom(err);
    log_set_job(f->job);
    r = path_mkdirs(a->log_dir, 0750, err);
    if (r == 0)
        r = path_mkdirs(a->tasks_dir, 0700, err);
    a->tmp_dir = str_printf("%s/tmp-%u", a->tasks_dir, a->opt->number);
    if (r < 0 || !a->tmp_dir)
        return r < 0 ? r : err_oom(err);
    return path_mkdirs(a->tmp_dir, 0700, err);
}

/* A handshake runs through megabytes of code that are not needed again. Its pages are the program
 * file's own, unchanged: the kernel drops them, and brings back what is run after all. */
static void forget_code(void)
{
    extern const char __executable_start, etext;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    uintptr_t from = ((uintptr_t)&__executable_start + page) & ~page,
              to = (uintptr_t)&etext & ~page;

    if (to > from)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

static int be_welcomed(struct agent *a, struct err *err)
{
    int r = next_message(a, loop_in(a->loop, DIAL_MS), &a->welcome, err);

    if (r == 0)
        return err_set(err, -ECONNRESET, "the master hung up at once");
    if (r < 0)
        return err_wrap(err, r, "wait for the master's welcome");
    if (a->welcome->body_case == AGENT__TO_AGENT__BODY_REFUSED)
        return err_set(err, -EACCES, "the master refuses us: %.200s", a->welcome->refused->text);
    if (a->welcome->body_case != AGENT__TO_AGENT__BODY_WELCOME || !a->welcome->welcome->job)
        return err_set(err, -EPROTO, "the master's first message is no welcome");
    a->facts = a->welcome->welcome->job;
    a->lease = a->welcome->welcome->lease_ms;
    a->last_ping = loop_now(a->loop);
    if (!a->join.path)
        forget_code();
    r = ports_init(&a->ports, a->facts->port_low, a->facts->port_high, err);
    return r == 0 ? settle(a, err) : r;
}

/* ---- obeying ---- */

static uint64_t own_memory(void)
{
    struct tree_proc p;

    return tree_look(getpid(), &p) ? p.rss : 0;
}

static void answer_ping(struct agent *a, const Agent__Ping *ping)
{
    Agent__Pong pong = AGENT__PONG__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    a->last_ping = loop_now(a->loop);
    a->oom_kills = finish_oom_kills();
    pong.seq = ping->seq;
    pong.rss = own_memory();
    pong.tasks = (uint32_t)a->living;
    m.pong = &pong;
    m.body_case = AGENT__TO_MASTER__BODY_PONG;
    report_send(a, &m);
}

static int stop_named(struct agent *a, const Agent__Stop *m, struct err *err)
{
    AUTO_FREE struct task **v = calloc(m->n_tasks + 1, sizeof(struct task *));
    size_t n = 0;

    if (!v)
        return err_oom(err);
    for (size_t i = 0; i < m->n_tasks; i++) {
        v[n] = agent_task(a, m->tasks[i]);
        n += v[n] != NULL;
    }
    stop_tasks(a, v, n, m->grace_ms, m->deadline);
    return 0;
}

static void drop_named(struct agent *a, const Agent__Drop *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        struct task *t = agent_task(a, m->tasks[i]);

        if (t)
            prepare_drop(t);
    }
}

/* Takes `m` over. 1 when it is the last. */
static int obey(struct agent *a, Agent__ToAgent *m, int64_t *ret_grace, struct err *err)
{
    int r = 0;

    switch (m->body_case) {
    case AGENT__TO_AGENT__BODY_PREPARE:
        return prepare_begin(a, m, err);
    case AGENT__TO_AGENT__BODY_START:
        return start_begin(a, m, err);
    case AGENT__TO_AGENT__BODY_STOP:
        r = stop_named(a, m->stop, err);
        break;
    case AGENT__TO_AGENT__BODY_DROP:
        drop_named(a, m->drop);
        break;
    case AGENT__TO_AGENT__BODY_FOLLOW:
        r = follow_begin(a, m->follow) < 0 ? err_oom(err) : 0;
        break;
    case AGENT__TO_AGENT__BODY_KV:
        relay_answer(a, m->kv);
        break;
    case AGENT__TO_AGENT__BODY_PING:
        answer_ping(a, m->ping);
        break;
    case AGENT__TO_AGENT__BODY_SHUTDOWN:
        *ret_grace = m->shutdown->grace_ms;
        r = 1;
        break;
    default: /* of a newer master */
        trace(LOG_AGENT, "a message of kind %d, ignoring", (int)m->body_case);
    }
    agent__to_agent__free_unpacked(m, NULL);
    return r;
}

/* Until the master says so, or is gone, or a signal comes. */
static int obey_all(struct agent *a, int64_t *ret_grace, struct err *err)
{
    int r = 0;

    while (r == 0) {
        int64_t deadline = a->lease > 0 ? a->last_ping + a->lease : LOOP_NEVER;
        Agent__ToAgent *m = NULL;

        r = next_message(a, deadline, &m, err);
        if (r == 0)
            return err_set(err, -ECONNRESET, "the master is gone");
        r = r > 0 ? obey(a, m, ret_grace, err) : r;
    }
    if (r == -ETIMEDOUT)
        return err_set(err, r, "the master has said nothing for %lld s",
                       (long long)a->lease / 1000);
    return r;
}

/* The lease goes on without a connection; with nothing left to look after it is over. */
static void wait_for_lease(struct agent *a)
{
    int64_t end = a->last_ping + a->lease;

    a->channel = channel_close(a->channel);
    relay_stop(a);
    while (loop_now(a->loop) < end && (a->living || a->busy))
        if (cond_wait(a->loop, &a->quiet, end) < 0)
            break;
}

/* ---- leaving ---- */

static void end_tasks(struct agent *a, int64_t grace)
{
    int64_t deadline = loop_in(a->loop, (grace > 0 ? grace : 0) + END_MS);

    a->leaving = true;
    stop_all(a, grace);
    for (struct helper *h = a->helpers; h; h = h->next)
        (void)kill(-h->pid, SIGKILL);
    while ((a->living || a->busy) && cond_wait(a->loop, &a->quiet, deadline) == 0)
        ;
    relay_stop(a);
    if (!reap_all(a, loop_in(a->loop, END_MS)))
        log_error(LOG_AGENT, "processes are left that cannot be killed");
}

/* The run directory, when the master could not remove it and no other agent uses it any more.
 * Whoever removes the directory of tasks, which must be empty, was the last. */
static void remove_run(struct agent *a)
{
    AUTO_FREE char *run = path_dir(a->opt->join_file);
    struct stat st;

    if (!run || !a->tasks_dir || !str_starts(a->work_dir, run) || lstat(run, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    if (rmdir(a->tasks_dir) < 0 && errno != ENOENT)
        return;
    if (path_remove(run, NULL) < 0)
        log_warn(LOG_AGENT, "cannot remove '%s', ignoring", run);
}

static void clean_up(struct agent *a, bool master_gone)
{
    report_flush(a);
    if (a->channel)
        (void)channel_flush(a->channel, loop_in(a->loop, END_MS), NULL);
    for (size_t i = 0; i < a->n_tasks; i++) {
        a->tasks[i]->phase = PHASE_IDLE;
        prepare_drop(a->tasks[i]);
    }
    files_done(a);
    start_done(a);
    if (a->tmp_dir)
        (void)path_remove(a->tmp_dir, NULL);
    if (master_gone && a->facts)
        remove_run(a);
    follow_stop(a);
    a->channel = channel_close(a->channel);
}

static int live(void *arg)
{
    struct agent *a = arg;
    int64_t grace = LOST_GRACE;
    int r;

    a->main = fiber_self(a->loop);
    r = dial(a, a->err);
    if (r == 0)
        r = say_hello(a, a->err);
    if (r == 0)
        r = be_welcomed(a, a->err);
    if (r == 0)
        r = obey_all(a, &grace, a->err);
    if (r < 0 && r != -ETIMEDOUT && a->lease > 0 && !a->signal && !a->broken)
        wait_for_lease(a);
    fiber_shield(a->loop, true);
    end_tasks(a, grace);
    clean_up(a, r < 0);
    fiber_shield(a->loop, false);
    return r;
}

/* ---- all of it ---- */

static void close_handles(struct agent *a)
{
    uv_handle_t *const all[] = { (uv_handle_t *)&a->signals[0],  (uv_handle_t *)&a->signals[1],
                                 (uv_handle_t *)&a->signals[2],  (uv_handle_t *)&a->signals[3],
                                 (uv_handle_t *)&a->sweep_timer, (uv_handle_t *)&a->stop_timer,
                                 (uv_handle_t *)&a->watch_timer };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i]->data && !uv_is_closing(all[i]))
            uv_close(all[i], NULL);
}

static void agent_done(struct agent *a)
{
    close_handles(a);
    a->loop = loop_free(a->loop); /* whatever fibers there are end here */
    prepare_free(a);
    report_free(a);
    free(a->relay);
    spawner_free(a->spawner);
    tree_done(&a->tree);
    cgroups_done(&a->cgroups);
    join_done(&a->join);
    if (a->welcome)
        agent__to_agent__free_unpacked(a->welcome, NULL);
    free(a->work_dir);
    free(a->tmp_dir);
    free(a->log_dir);
    free(a->tasks_dir);
}

static int set_up(struct agent *a, struct err *err)
{
    int r = join_read(a->opt->join_file, &a->join, err);

    if (r == 0)
        r = spawner_new(&a->spawner, err);
    if (r == 0)
        r = loop_new(&a->loop, err);
    if (r < 0)
        return r;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_sys(err, "become a subreaper");
    uv_timer_init(loop_uv(a->loop), &a->stop_timer);
    uv_timer_init(loop_uv(a->loop), &a->watch_timer);
    a->stop_timer.data = a->watch_timer.data = a;
    a->oom_kills = finish_oom_kills();
    a->umask = umask(0);
    (void)umask(a->umask);
    r = reap_init(a, err);
    if (r == 0)
        r = watch_signals(a, err);
    return r == 0 ? report_init(a, err) : r;
}

int agent_run(const struct agent_options *o, struct err *err)
{
    struct agent a = { .opt = o, .err = err };
    int r = set_up(&a, err);

    if (r == 0)
        r = loop_run(a.loop, live, &a, false);
    if (a.signal)
        r = 128 + a.signal;
    else if (a.broken)
        r = err_set(err, a.broken, "the agent cannot go on: %s", a.why);
    else if (r > 0)
        r = 0; /* told to leave */
    agent_done(&a);
    return r;
}
