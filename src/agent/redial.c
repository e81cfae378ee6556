/* redial.c - looking for the master: a new one of a container, or one that was lost.
 *
 * A master that only lost the connection is found where it was. One that died comes back somewhere
 * else, as another attempt of the application, and says where in STAGING/master.json. Until then,
 * and for no longer than the lease, tasks go on. Every agent of the job looks at the same file, so
 * each waits for a time of its own. */
#include "agent/agent_private.h"
#include "agent/remote.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DIAL_MS 30000    /* for one try, when there is no other */
#define ARRIVE_MS 10000  /* for the first of many: a whole job may be dialling */
#define TRY_MS 5000      /* for one of many */
#define FIRST_MS 60000   /* for a new container to find the master */
#define SOON_MS 300      /* before the first try, more or less */
#define ROUND_MS 2000    /* between two rounds, from half to one and a half of it */
#define ROUND_LAST 10000 /* the same when it takes long */
#define ROUNDS_EAGER 15  /* how many rounds are not "long" */
#define LOOK_MS 10000    /* for all of one look into HDFS */
#define CALL_MS 4000     /* for one call of it */
#define FILE_MAX (8 * KIB)

/* From half of it to one and a half. */
static int64_t about(int64_t ms)
{
    uint32_t salt = 0;

    (void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
    return ms / 2 + (int64_t)(salt % (uint32_t)(ms + 1));
}

/* ---- the look into HDFS ---- */

struct look {
    struct agent *agent;
    const char *dir;
    char *address;
    bool done;
    struct cond changed;
    struct err err;
};

static int read_all(struct fs_reader *in, struct buf *out, struct err *err)
{
    for (;;) {
        const void *p;
        ssize_t n = fs_read_next(in, &p, 0, err);

        if (n <= 0)
            return (int)n;
        if (buf_add(out, p, (size_t)n) < 0)
            return err_set(err, -E2BIG, "it is too large");
    }
}

static int read_address(struct look *l, struct err *err)
{
    AUTO_REMOTE remote = { 0 };
    AUTO_FREE char *uri = path_join(l->dir, "master.json"), *path = NULL;
    AUTO_FS_READER *in = NULL;
    AUTO_BUF text = { .max = FILE_MAX };
    AUTO_JSON *v = NULL;
    struct fs *fs = NULL;
    const char *address = NULL;
    int r = uri ? remote_open(l->agent, uri, CALL_MS, &remote, err) : err_oom(err);

    if (r == 0)
        r = remote_find(&remote, uri, &fs, &path, err);
    if (r == 0)
        r = fs_open(fs, path, &in, err);
    if (r == 0)
        r = read_all(in, &text, err);
    in = fs_reader_close(in); /* before what it reads from goes */
    if (r == 0)
        r = json_parse(uri, text.data, text.len, &v, err);
    if (r < 0)
        return r;
    if (json_unpack(v, "{s:s}", "address", &address) < 0)
        return err_set(err, -EBADMSG, "'%s' names no address", uri);
    l->address = strdup(address);
    return l->address ? 0 : err_oom(err);
}

static void run_look(void *arg)
{
    struct look *l = arg;

    if (read_address(l, &l->err) < 0)
        trace(LOG_AGENT, "no word of the master: %s", l->err.text);
    l->done = true;
    cond_wake_all(&l->changed);
}

/* The address that the newest master has left, or NULL. */
static char *look_for_master(struct agent *a, int64_t end)
{
    struct look l = { .agent = a };
    struct fiber *f = NULL;
    int64_t deadline = loop_in(a->loop, LOOK_MS);
    int r = 0;

    l.dir = a->facts && *a->facts->staging ? a->facts->staging : NULL;
    if (!l.dir && a->container)
        l.dir = a->container->staging;
    if (!l.dir || fiber_start(a->loop, run_look, &l, &f, NULL) < 0)
        return NULL;
    while (!l.done && r == 0)
        r = cond_wait(a->loop, &l.changed, deadline < end ? deadline : end);
    if (!l.done) { /* too slow, or we are to leave: it uses our stack */
        fiber_cancel(f);
        fiber_shield(a->loop, true);
        while (!l.done)
            (void)cond_wait(a->loop, &l.changed, LOOP_NEVER);
        fiber_shield(a->loop, false);
    }
    return l.address;
}

/* ---- rounds ---- */

static int try_at(struct agent *a, const char *address, int64_t end, struct err *err)
{
    int64_t deadline = loop_in(a->loop, TRY_MS);
    int r = join_set_address(&a->join, address, err);

    if (r == 0)
        r = meet_master(a, deadline < end ? deadline : end, err);
    if (r < 0)
        trace(LOG_AGENT, "'%s': %s", address, err->text);
    return r;
}

/* Where the newest one says that it is, then where we last knew one. */
static int try_both(struct agent *a, const char *known, int64_t end, struct err *err)
{
    AUTO_FREE char *found = look_for_master(a, end);
    int r = -ENOENT;

    if (found && !str_eq(found, known))
        r = try_at(a, found, end, err);
    return r < 0 && !a->hopeless ? try_at(a, known, end, err) : r;
}

static bool over(const struct agent *a, int r, int64_t end)
{
    return r == 0 || a->hopeless || a->signal || a->broken || loop_now(a->loop) >= end;
}

static int rounds(struct agent *a, int64_t end, struct err *err)
{
    AUTO_FREE char *known = strdup(a->join.address);
    int r = known ? -EAGAIN : err_oom(err);

    for (unsigned n = 0; known && !over(a, r, end); n++) {
        int64_t left = end - loop_now(a->loop);
        int64_t pause = about(n == 0 ? SOON_MS : n < ROUNDS_EAGER ? ROUND_MS : ROUND_LAST);

        if (fiber_sleep(a->loop, pause < left ? pause : left) < 0)
            break;
        if (loop_now(a->loop) < end)
            r = try_both(a, known, end, err);
    }
    return r;
}

int redial_first(struct agent *a, struct err *err)
{
    int r = meet_master(a, loop_in(a->loop, a->container ? ARRIVE_MS : DIAL_MS), err);

    if (r < 0 && a->container && !over(a, r, LOOP_NEVER)) {
        trace(LOG_AGENT, "'%s': %s", a->join.address, err->text);
        r = rounds(a, loop_in(a->loop, FIRST_MS), err);
    }
    return r;
}

int redial_again(struct agent *a, struct err *err)
{
    int64_t end = a->last_ping + a->lease;
    int r;

    meet_part(a);
    log_warn(LOG_AGENT, "the master is lost (%s): tasks go on for %lld s", err->text,
             (long long)(end > loop_now(a->loop) ? end - loop_now(a->loop) : 0) / 1000);
    r = rounds(a, end, err);
    if (r == 0)
        log_warn(LOG_AGENT, "the master is back, at '%s'", a->join.address);
    else if (!a->hopeless && !a->signal)
        r = err_set(err, -ETIMEDOUT, "the master has been lost for %lld s",
                    (long long)a->lease / 1000);
    return r;
}
