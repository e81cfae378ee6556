/* gateway.c - the life of a gateway: it binds, starts HAProxy, and then looks again and again
 * whether everything is as it should be: is HAProxy alive, does it have the servers that it should
 * have, do requests go where they should.
 *
 * Whatever has to be done follows from what is seen, not from what was done before: after HAProxy
 * died, or a command failed half way, the same look finds what is missing. */
#include "base/path.h"
#include "loop/listen.h"
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/haproxy_log.h"
#include "wire/admission.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_MS 60000
#define LOOK_MS 500     /* when all is as it should be */
#define LOOK_SOON_MS 50 /* while something changes */
#define MUTE_LOOKS 4    /* in a row, each of HAPROXY_ANSWER_MS */
#define TOLD_MS 500     /* until a signal to HAProxy has not been one to us as well */
#define RESTART_MS 100  /* the delay after a start that failed, at first */
#define RESTART_MAX_MS 5000
#define END_MS 2000 /* more than the grace of the spec, for HAProxy to end */

/* Fibers hold it across waits for HAProxy's answers: what the watcher saw must not be changed by an
 * `apply` before it has acted on it. */
int gateway_lock(struct gateway *g)
{
    int64_t deadline = loop_in(g->loop, LOCK_MS);
    int r = 0;

    while (r == 0 && g->busy)
        r = cond_wait(g->loop, &g->unlocked, deadline);
    if (r == 0)
        g->busy = true;
    return r;
}

void gateway_unlock(struct gateway *g)
{
    g->busy = false;
    cond_wake(&g->unlocked);
}

void gateway_note(const struct gateway *g, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    g->o.note(g->o.user, text);
}

void gateway_wake(void *g)
{
    cond_wake_all(&((struct gateway *)g)->changed);
}

/* ---- looking ---- */

/* Old processes that have ended, and the present one if it has: a new one is started at once. */
static int gateway_keep_alive(struct gateway *g, int64_t *delay)
{
    struct gateway_process fresh = { 0 };
    struct err err = ERR_INIT;
    int r;

    for (size_t i = 0; i < g->n_leaving;)
        if (haproxy_ended(g->leaving[i].haproxy)) {
            gateway_process_end(g, &g->leaving[i]);
            g->leaving[i] = g->leaving[--g->n_leaving];
        } else {
            i++;
        }
    if (g->now.haproxy && !haproxy_ended(g->now.haproxy))
        return 0;
    /* Who stops all processes of a task tells HAProxy too, perhaps a moment before us. */
    if (g->now.haproxy && haproxy_was_told(g->now.haproxy) && fiber_sleep(g->loop, TOLD_MS) < 0)
        return -ECANCELED;
    if (g->now.haproxy) {
        gateway_note(g, "HAProxy (process %d) died; starting it again",
                     (int)haproxy_pid(g->now.haproxy));
        gateway_process_end(g, &g->now);
        g->restarts++;
    }
    r = gateway_launch(g, g->spec, g->routes, &g->secrets, &fresh, &err);
    if (r == 0) {
        g->now = fresh;
        *delay = RESTART_MS;
        for (size_t i = 0; i < g->spec->n; i++)
            g->routes[i].told_version = g->routes[i].told_canary = g->routes[i].told_percent = 0;
    } else if (r != -ECANCELED) {
        gateway_note(g, "%s; trying again in %lld ms", err.text, (long long)*delay);
        (void)fiber_sleep(g->loop, *delay);
        *delay = *delay * 2 < RESTART_MAX_MS ? *delay * 2 : RESTART_MAX_MS;
    }
    return r;
}

/* One that is alive and does not answer again and again would keep its port for nothing: it is
 * killed, and the next look starts another one. */
static void gateway_heard(struct gateway *g, int r)
{
    g->mute = r == -ETIMEDOUT ? g->mute + 1 : 0;
    if (g->mute < MUTE_LOOKS)
        return;
    g->mute = 0;
    gateway_note(g, "HAProxy (process %d) did not answer %d times",
                 (int)haproxy_pid(g->now.haproxy), MUTE_LOOKS);
    (void)kill(haproxy_pid(g->now.haproxy), SIGKILL); /* the number is its own until its end */
}

/* A failure is no reason to end: HAProxy may be about to die, and the next look will see.
 *
 * The order matters: servers first, then the routes, which lead only to versions that
 * gateway_look() has seen a server of. What was done is seen at the next look, so a step of servers
 * and the route that depends on it are never in one turn. */
static void gateway_turn(struct gateway *g, int64_t *delay)
{
    struct err err = ERR_INIT;
    int r = gateway_keep_alive(g, delay);

    g->settled = false;
    if (r == 0) {
        r = gateway_look(g, &err);
        gateway_heard(g, r);
    }
    if (r == 0)
        r = gateway_servers(g, &err);
    if (r == 0) {
        gateway_routes_step(g);
        r = gateway_routes_tell(g, &err);
    }
    if (r < 0)
        g->settled = false;
    if (r < 0 && err.text[0])
        trace(LOG_MAIN, "gateway: %s, looking again", err.text);
}

static int gateway_watch(struct gateway *g)
{
    int64_t delay = RESTART_MS;

    for (;;) {
        int r = gateway_lock(g);

        if (r == -ETIMEDOUT)
            continue; /* somebody applies one spec after the other */
        if (r < 0)
            return r;
        gateway_turn(g, &delay);
        gateway_unlock(g);
        r = cond_wait(g->loop, &g->changed, loop_in(g->loop, g->settled ? LOOK_MS : LOOK_SOON_MS));
        if (r == -ECANCELED || fiber_cancelled(g->loop))
            return -ECANCELED;
    }
}

/* ---- beginning and end ---- */

/* Who started us may hold the port for us; another gateway on it would answer half of the requests.
 */
static int gateway_listen(struct gateway *g, struct err *err)
{
    const struct gateway_spec *s = g->spec;
    int r = s->port ? listen_tcp_held(s->host, s->port, &g->listen_fd, err)
                    : listen_tcp(s->host, 0, 0, &g->listen_fd, &g->port, err);

    if (r == 0 && s->port)
        g->port = (int)s->port;
    if (r < 0)
        err_hint(err, "another program may use port %u: choose another one in \"listen\"",
                 g->spec->port);
    return r;
}

static int64_t gateway_left(const struct gateway *g, int64_t deadline)
{
    int64_t left = deadline - loop_now(g->loop);

    return left > 0 ? left : 0;
}

/* Once nobody accepts, the port is closed: a client that comes now is refused, and can go
 * elsewhere, instead of waiting for an answer that nobody will give.
 *
 * HAProxy has copies of the socket, and lets go of them when it says that it has stopped: closed
 * before that, the port would still take connections. */
static void gateway_end(struct gateway *g)
{
    int64_t deadline = loop_in(g->loop, g->spec ? g->spec->drain_ms + END_MS : 0);

    admission_close(g->control);
    if (g->now.haproxy)
        haproxy_retire(g->now.haproxy);
    g->listen_fd = listen_close(g->listen_fd);
    if (g->now.haproxy)
        haproxy_wait_end(g->now.haproxy, gateway_left(g, deadline));
    gateway_process_end(g, &g->now);
    for (size_t i = 0; i < g->n_leaving; i++) {
        haproxy_wait_end(g->leaving[i].haproxy, gateway_left(g, deadline));
        gateway_process_end(g, &g->leaving[i]);
    }
    if (g->dir_fd >= 0)
        close(g->dir_fd);
    haproxy_table_done(&g->view.state);
    haproxy_table_done(&g->view.stat);
    free(g->view.servers);
    free(g->routes);
    traffic_free(g->traffic);
    json_decref(g->others);
    strs_done(&g->drained);
    buf_done(&g->core);
    gateway_secrets_done(&g->secrets);
    gateway_spec_free(g->spec);
}

/* What a gateway left that was killed: DIR/g1, DIR/g2 … with hashes of keys, and a private key. */
static int gateway_sweep(const struct gateway *g, struct err *err)
{
    AUTO_DIR DIR *d = opendir(g->o.dir);
    struct dirent *e;
    int r = 0;

    if (!d)
        return err_sys(err, "list '%s'", g->o.dir);
    while (r == 0 && (e = readdir(d))) {
        AUTO_FREE char *path = NULL;
        int64_t n;

        if (*e->d_name != 'g' || str_to_i64(e->d_name + 1, 1, UINT32_MAX, &n) < 0)
            continue;
        path = path_join(g->o.dir, e->d_name);
        r = path ? path_remove(path, err) : err_oom(err);
    }
    return r;
}

/* The directory is one gateway's: a second one would write over the files of the first, and change
 * the servers of its HAProxy. The lock ends with the process. */
static int gateway_take_dir(struct gateway *g, struct err *err)
{
    int r = path_mkdirs(g->o.dir, 0700, err);

    if (r == 0)
        r = path_trusted(g->o.dir, err);
    if (r < 0)
        return r;
    g->dir_fd = open(g->o.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->dir_fd < 0)
        return err_sys(err, "open '%s'", g->o.dir);
    if (flock(g->dir_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return err_sys(err, "lock '%s'", g->o.dir);
        err_set(err, -EBUSY, "another gateway is using the directory '%s'", g->o.dir);
        err_hint(err, "choose another one with --dir");
        return -EBUSY;
    }
    return gateway_sweep(g, err);
}

static int gateway_begin(struct gateway *g, struct err *err)
{
    int r = gateway_take_dir(g, err);

    if (r == 0)
        r = gateway_spec_read(g->o.spec, &g->spec, err);
    if (r == 0)
        r = gateway_listen(g, err);
    if (r == 0)
        r = gateway_declare(g, err); /* replicas that are known to be up are asked at once */
    if (r == 0)
        r = gateway_apply(g, g->o.spec, err);
    if (r == 0)
        r = gateway_control_start(g, err);
    return r;
}

int gateway_run(const struct gateway_options *o, struct err *err)
{
    struct gateway g = { .o = *o, .loop = o->loop, .listen_fd = -1, .dir_fd = -1 };
    int r;

    buf_init(&g.core, HAPROXY_CONF_MAX);
    g.traffic = traffic_new();
    r = g.traffic ? gateway_begin(&g, err) : err_oom(err);
    if (r == 0) {
        o->on_ready(o->user, g.spec->host, g.port);
        r = gateway_watch(&g);
    }
    gateway_end(&g);
    return r == -ECANCELED ? 0 : r;
}
