/* master_lookup.c - the job's directory in HDFS: which master is the newest, and does the job still
 * exist?
 *
 *     JOBS/APP/master.json    {"format": 1, "attempt": 2, "address": "tcp:…"}
 *     no JOBS/APP at all      the job is over, and what it needed while it ran was removed
 *
 * Also, while connected: a master that cannot reach the ResourceManager may have been replaced
 * without knowing it, and then only agents can find out. Its pings say how long it has been alone.
 *
 * An agent that reaches neither a master in touch with the ResourceManager, nor the machines of
 * HDFS and of the ResourceManager, is on a node that is cut off. Its tasks must end before YARN
 * gives the node up, or each would run twice. */
#include "agent/link/master_lookup.h"
#include "agent/agent_private.h"
#include "agent/link/handshake.h"
#include "agent/link/job_files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "job/protocol.h"

#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define LOOK_MS 10000  /* for all of one look */
#define CALL_MS 4000   /* for one call of it */
#define ALONE_MS 15000 /* a ResourceManager usually restarts in less */
#define AGAIN_MS 30000 /* about the time between two lookups */
#define REACH_MS 4000  /* for connections to the servers of one kind */
#define TRY_LEAST 2000 /* for a handshake on a busy machine */
#define LATE_MS                                                                                    \
    40000 /* before the limit: a whole round of reconnect.c, and the pause before it               \
           */
#define FILE_MAX (8 * KIB)

struct look {
    struct agent *agent;
    const char *dir;
    struct lookup_found *found;
    bool done;
    struct cond changed;
};

static int lookup_read_all(struct fs_reader *in, struct buf *out, struct err *err)
{
    for (;;) {
        const void *p;
        ssize_t n = fs_read_next(in, &p, 0, err);

        if (n <= 0)
            return (int)n;
        if (buf_add(out, p, (size_t)n) < 0)
            return err_set(err, -E2BIG, "the file is too large");
    }
}

static int parse_file(const char *uri, const struct buf *text, struct lookup_found *ret,
                      struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *address = NULL;
    int attempt = 0, r = json_parse(uri, text->data, text->len, &v, err);

    if (r == 0)
        r = protocol_check_json(PROTOCOL_MASTER, v, err);
    if (r < 0)
        return r;
    if (json_unpack(v, "{s:s, s?:i}", "address", &address, "attempt", &attempt) < 0)
        return err_set(err, -EBADMSG, "'%s' names no address", uri);
    ret->address = strdup(address);
    ret->attempt = attempt > 0 ? (unsigned)attempt : 0;
    return ret->address ? 0 : err_oom(err);
}

/* The file is not there: is its directory? */
static int look_for_directory(struct fs *fs, const char *path, struct lookup_found *ret,
                              struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FS_ENTRY entry = { 0 };
    int r = dir ? fs_exists(fs, dir, &entry, err) : err_oom(err);

    ret->over = r == 0;
    return r < 0 ? r : -ENOENT;
}

/* A session is opened for each look and closed after it: agents look rarely, and an idle one should
 * not hold megabytes and a connection to the NameNode. */
static int lookup_read_place(const struct look *l, struct err *err)
{
    AUTO_REMOTE remote = { 0 };
    AUTO_FREE char *uri = path_join(l->dir, "master.json"), *path = NULL;
    AUTO_FS_READER *in = NULL;
    AUTO_BUF text = { .max = FILE_MAX };
    struct fs *fs = NULL;
    int r = uri ? remote_open(l->agent, uri, CALL_MS, &remote, err) : err_oom(err);

    if (r == 0)
        r = remote_find(&remote, uri, &fs, &path, err);
    if (r == 0)
        r = fs_open(fs, path, &in, err);
    if (r == 0)
        r = lookup_read_all(in, &text, err);
    in = fs_reader_close(in); /* before what it reads from goes */
    if (r == 0)
        r = parse_file(uri, &text, l->found, err);
    else if (r == -ENOENT && path)
        r = look_for_directory(fs, path, l->found, err);
    return r;
}

/* Errors that mean nobody answered. Any other error is an answer. */
static bool is_silence(int r)
{
    static const int codes[] = { -ETIMEDOUT, -EHOSTUNREACH, -ENETUNREACH,   -ENETDOWN,
                                 -EHOSTDOWN, -ENXIO,        -EADDRNOTAVAIL, -ECANCELED,
                                 -EMFILE,    -ENFILE,       -ENOMEM };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i] == r)
            return true;
    return false;
}

static void run_look(void *arg)
{
    struct look *l = arg;
    struct err err = ERR_INIT;
    int r = lookup_read_place(l, &err);

    l->found->reached = !is_silence(r);
    if (r < 0)
        trace(LOG_AGENT, "cannot look up the master: %s", err.text);
    l->done = true;
    cond_wake_all(&l->changed);
}

/* ---- are we cut off? ---- */

/* On a cluster with short timeouts there is less time for everything. */
static int64_t part_of_limit(const struct agent *a, int64_t ms, int part)
{
    return a->lookup.cut_ms > 0 && a->lookup.cut_ms / part < ms ? a->lookup.cut_ms / part : ms;
}

int64_t lookup_try_ms(const struct agent *a, int64_t ms)
{
    int64_t part = part_of_limit(a, ms, 8);

    return !lookup_is_late(a) ? ms : part > TRY_LEAST ? part : TRY_LEAST;
}

bool lookup_is_late(const struct agent *a)
{
    int64_t before = a->lookup.cut_ms / 2 < LATE_MS ? a->lookup.cut_ms / 2 : LATE_MS;

    return a->lookup.cut_ms > 0 && loop_now(a->loop) > a->lookup.known + a->lookup.cut_ms - before;
}

/* Is one of these machines reachable? A connection is enough, even a refused one: we have no token
 * for the ResourceManager, and a call to HDFS retries until it times out. */
static bool reach_one(struct agent *a, const struct hosts *hosts)
{
    int64_t ms = part_of_limit(a, REACH_MS, 12) / (int64_t)(hosts->n ? hosts->n : 1);

    for (size_t i = 0; i < hosts->n; i++) {
        AUTO_SOCK *s = NULL;
        int r;

        if (str_eq(hosts->v[i].host, "0.0.0.0")) /* it is not configured */
            continue;
        r = sock_connect(a->loop, hosts->v[i].host, hosts->v[i].port, loop_in(a->loop, ms), &s,
                         NULL);
        if (r == 0 || r == -ECONNREFUSED || r == -ECONNRESET)
            return true;
    }
    return false;
}

static const char *lookup_dir(const struct agent *a)
{
    return a->facts && *a->facts->staging ? a->facts->staging : a->home.staging;
}

void lookup_machines(const struct agent *a, struct hosts *rms, struct hosts *nns)
{
    static const char scheme[] = "hdfs://";
    const char *dir = lookup_dir(a);
    AUTO_FREE char *authority = NULL;
    AUTO_REMOTE remote = { 0 };
    const struct conf *conf;

    if (!a->home.staging || remote_open(a, dir, CALL_MS, &remote, NULL) < 0)
        return;
    conf = session_conf(remote.session);
    (void)conf_resourcemanagers(conf, RM_CLIENT, rms, NULL);
    if (!str_starts(dir, scheme))
        return;
    dir += strlen(scheme);
    authority = strndup(dir, strcspn(dir, "/"));
    if (authority)
        (void)conf_namenodes(conf, authority, nns, NULL);
}

/* If this node reaches the ResourceManager's machine, so do the NodeManager's heartbeats, and YARN
 * does not give the node up. */
static bool reach_cluster(struct agent *a)
{
    AUTO_HOSTS rms = { 0 }, nns = { 0 };

    lookup_machines(a, &rms, &nns);
    return reach_one(a, &rms) || reach_one(a, &nns);
}

/* A call to HDFS retries by itself for long, so it runs in a fiber that is given up at the
 * deadline. That one writes to our stack; hence it is waited for, shielded, after the cancellation.
 * `known` is the last time at which this node certainly had a connection to the cluster: any answer
 * counts, also "no such file", and when time is short also a mere connection. */
void lookup_master(struct agent *a, int64_t end, struct lookup_found *ret)
{
    struct look l = { .agent = a, .found = ret };
    struct fiber *f = NULL;
    int64_t deadline = loop_in(a->loop, part_of_limit(a, LOOK_MS, 4));
    int r = 0;

    *ret = (struct lookup_found){ 0 };
    l.dir = lookup_dir(a);
    if (!l.dir || fiber_start(a->loop, run_look, &l, &f, NULL) < 0)
        return;
    while (!l.done && r == 0)
        r = cond_wait(a->loop, &l.changed, deadline < end ? deadline : end);
    if (!l.done) { /* too slow, or we are to leave: it uses our stack */
        fiber_cancel(f);
        fiber_shield(a->loop, true);
        while (!l.done)
            (void)cond_wait(a->loop, &l.changed, LOOP_NEVER);
        fiber_shield(a->loop, false);
    }
    if (ret->reached || (lookup_is_late(a) && reach_cluster(a)))
        a->lookup.known = loop_now(a->loop);
}

void lookup_done(struct lookup_found *f)
{
    free(f->address);
    *f = (struct lookup_found){ 0 };
}

/* ---- while connected ---- */

/* Closes the connection; reconnect.c then finds the newer master. */
static void leave_master(struct agent *a, const char *address)
{
    log_warn(LOG_AGENT, "there is a newer master, at '%s'", address);
    a->lookup.superseded = true;
    (void)shutdown(sock_fd(stream_sock(channel_stream(a->link.channel))), SHUT_RDWR);
}

/* Closes the connection, too, but for good. */
static void leave_all(struct agent *a)
{
    log_warn(LOG_AGENT,
             "neither the ResourceManager nor HDFS has been reached for %lld s: tasks end before "
             "they are started elsewhere",
             (long long)(loop_now(a->loop) - a->lookup.known) / 1000);
    a->lookup.cut_off = true;
    (void)shutdown(sock_fd(stream_sock(channel_stream(a->link.channel))), SHUT_RDWR);
}

/* The channel may have been lost and replaced while we looked: then what was found is about another
 * connection, and nothing is done. Closing it by shutdown() lets the main fiber, which reads it,
 * notice by itself. */
static void run_newer(void *arg)
{
    struct agent *a = arg;
    AUTO_LOOKUP found = { 0 };
    const struct channel *c = a->link.channel;
    int64_t before = lookup_is_late(a) ? a->lookup.known : -1;

    lookup_master(a, LOOP_NEVER, &found);
    a->lookup.looking = false;
    if (a->link.channel == c && c && !a->leave.begun) {
        if (found.address && found.attempt > a->link.welcome->welcome->attempt)
            leave_master(a, found.address);
        else if (a->lookup.known == before)
            leave_all(a);
    }
    handshake_forget_code();
}

/* Called at each ping; `alone` is for how long that master has had no answer of the
 * ResourceManager. A ping of a master that is in touch proves that this node is not cut off. The
 * next look is at a random time, since all agents of the job got the same ping. */
void lookup_newer(struct agent *a, int64_t alone)
{
    int64_t now = loop_now(a->loop);
    uint32_t salt = 0;
    bool due = alone >= ALONE_MS && now >= a->lookup.after;

    if (now - alone > a->lookup.known)
        a->lookup.known = now - alone;
    if (!a->home.staging || !a->link.welcome->welcome->attempt || a->lookup.looking ||
        !(due || lookup_is_late(a)))
        return;
    (void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
    a->lookup.after = now + AGAIN_MS / 2 + (int64_t)(salt % AGAIN_MS); /* all of the job do */
    a->lookup.looking = fiber_start(a->loop, run_newer, a, NULL, NULL) == 0;
}
