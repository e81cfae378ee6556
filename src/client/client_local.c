/* client_local.c - a job on this machine: its master listens on a socket, its files are ours. */
#include "client/client_private.h"
#include "loop/fiber.h"
#include "loop/listen.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define RETRY_MS 50
#define GONE_MS 20
#define GONE_TRIES 100
#define AGENTS_TRIES 1000 /* 20 s: more than an agent gives its tasks */

struct local {
    struct client c;
    struct job_dir dir;
    struct fs_set *files;
};

static struct local *local_of(struct client *c)
{
    return (struct local *)c;
}

static int client_no_master(const struct local *l, bool alive, struct err *err)
{
    err_clear(err);
    err_set(err, -ENOTCONN, "the master of %s cannot be reached: %s", l->dir.id,
            alive ? "its socket is not there" : "it is gone");
    err_hint(err, "'ydl status %s' shows how far it got; %s/master.log may say why", l->dir.id,
             l->dir.path);
    return -ENOTCONN;
}

static int connect_once(struct local *l, int64_t deadline, struct sock **ret, struct err *err)
{
    AUTO_FREE char *path = jobs_find_run(&l->dir) ? path_join(l->dir.run, "api.sock") : NULL;

    if (!l->dir.run)
        return -ENOENT;
    return path ? sock_connect_unix(l->c.loop, path, deadline, ret, err) : err_oom(err);
}

/* A master that lives has a socket, or has it again in a moment: see master/local/run_dir.c. */
static int connect_local(struct client *c, struct stream **ret, struct err *err)
{
    struct local *l = local_of(c);
    int64_t deadline = loop_in(c->loop, c->connect_ms);
    struct sock *sock = NULL;
    int r = connect_once(l, deadline, &sock, err);

    while (r == -ENOENT || r == -ECONNREFUSED) {
        bool alive = jobs_alive(&l->dir);

        if (!alive || loop_now(c->loop) >= deadline)
            return client_no_master(l, alive, err);
        r = fiber_sleep(c->loop, RETRY_MS);
        if (r < 0)
            return err_set(err, r, "interrupted");
        err_clear(err);
        r = connect_once(l, deadline, &sock, err);
    }
    return r < 0 ? r : stream_plain(sock, ret, err);
}

static int alive_local(struct client *c, struct err *err)
{
    (void)err;
    return jobs_alive(&local_of(c)->dir);
}

/* A master that was killed lets go of its lock a moment after its connections. */
static bool gone(struct local *l)
{
    for (int i = 0; jobs_alive(&l->dir); i++)
        if (i == GONE_TRIES || fiber_sleep(l->c.loop, GONE_MS) < 0)
            return false;
    return true;
}

/* Tasks of a master that was killed have a moment to end, and their last lines are to be seen. Each
 * agent shares in a lock on the directory with their output (agent/dirs.c). */
static void await_agents(struct local *l)
{
    for (int i = 0; i < AGENTS_TRIES; i++) {
        AUTO_CLOSE int fd = open(l->c.logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK ||
            fiber_sleep(l->c.loop, GONE_MS) < 0)
            return;
    }
}

static bool settle_here(struct local *l)
{
    bool settled = gone(l);

    if (settled)
        await_agents(l);
    return settled;
}

/* Nobody takes the place of a master here. */
static int again_local(struct client *c, int r, struct err *err)
{
    if (settle_here(local_of(c)))
        return 0;
    return r < 0 ? r
                 : err_set(err, -ECONNRESET,
                           "the connection to the master of %s has ended, but not the job", c->id);
}

static void settle_local(struct client *c)
{
    (void)settle_here(local_of(c));
}

static int past_local(struct client *c, struct past *ret, struct err *err)
{
    struct local *l = local_of(c);
    AUTO_FREE char *path = NULL;
    int r = l->files ? 0 : fs_set_new(c->loop, NULL, &l->files, err);

    if (r == 0)
        r = fs_find(l->files, l->dir.path, FS_ON_LOCAL, &ret->fs, &path, err);
    if (r < 0)
        return r;
    ret->dir = c->home;
    ret->logs = c->logs;
    return 0;
}

static void free_local(struct client *c)
{
    struct local *l = local_of(c);

    fs_set_free(l->files);
    job_dir_done(&l->dir);
}

static const struct client_ops local_ops = {
    .where = "local",
    .connect = connect_local,
    .alive = alive_local,
    .again = again_local,
    .settle = settle_local,
    .past = past_local,
    .free = free_local,
    .here = true,
};

int client_new(struct loop *l, struct job_dir *d, struct client **ret, struct err *err)
{
    struct local *x = calloc(1, sizeof(*x));
    AUTO_CLIENT *c = (struct client *)x; /* its first member */

    if (!x)
        return err_oom(err);
    c->ops = &local_ops;
    x->dir = (struct job_dir)JOB_DIR_INIT;
    if (client_init(c, l, &local_ops, d->id, err) < 0)
        return -ENOMEM;
    c->home = strdup(d->path);
    c->logs = path_join(d->path, "logs");
    if (!c->home || !c->logs)
        return err_oom(err);
    x->dir = *d;
    *d = (struct job_dir)JOB_DIR_INIT;
    *ret = take(c);
    return 0;
}
