/* reconnect.c - finding the master: for the first time, or after the connection was lost.
 *
 * After a lost connection the master is still where it was. One that died comes back elsewhere, as
 * another attempt of the application, and writes its address to STAGING/master.json. Until then,
 * but no longer than the lease, tasks continue. Every agent of the job reads the same file, so each
 * waits for a random time. */
#include "agent/link/reconnect.h"
#include "agent/agent_private.h"
#include "agent/link/handshake.h"
#include "agent/link/join.h"
#include "agent/link/master_lookup.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DIAL_MS 30000    /* for one try, when there is no other */
#define ARRIVE_MS 10000  /* for the first of many: all agents of a job may connect at once */
#define TRY_MS 5000      /* for one of many */
#define QUICK_MS 1000    /* for the master that was there before a short cut, … */
#define QUICKLY_MS 8000  /* … which has given us up after that */
#define FIRST_MS 60000   /* for a new container to find the master */
#define SOON_MS 300      /* about the time before the first try */
#define ROUND_MS 2000    /* between two rounds, from half to one and a half of it */
#define ROUND_LAST 10000 /* the same when it takes long */
#define ROUNDS_EAGER 15  /* how many rounds are not "long" */

/* From half of it to one and a half. */
static int64_t about(int64_t ms)
{
    uint32_t salt = 0;

    (void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
    return ms / 2 + (int64_t)(salt % (uint32_t)(ms + 1));
}

/* ---- rounds ---- */

static int try_at(struct agent *a, const char *address, int64_t end, struct err *err)
{
    int64_t deadline = loop_in(a->loop, lookup_try_ms(a, TRY_MS));
    int r = join_set_address(&a->link.join, address, err);

    if (r == 0)
        r = handshake_master(a, deadline < end ? deadline : end, err);
    if (r < 0)
        trace(LOG_AGENT, "'%s': %s", address, err->text);
    return r;
}

/* After a short cut the master that was there gives us up soon, and no newer one can be there yet:
 * it is tried often, and nothing is looked up. */
static bool is_short_cut(const struct agent *a)
{
    return a->fence.frozen && loop_now(a->loop) < a->fence.frozen_at + QUICKLY_MS &&
           !lookup_is_late(a);
}

/* Tries the address of the newest master, then the last known one. If neither answers and the job's
 * directory is gone, the job has ended without us: a NodeManager that lost track of our container
 * does not end it. */
static int try_both(struct agent *a, const char *known, int64_t end, struct err *err)
{
    AUTO_LOOKUP found = { 0 };
    int64_t soon = loop_in(a->loop, QUICK_MS);
    int r = -ENOENT;

    if (is_short_cut(a))
        return try_at(a, known, soon < end ? soon : end, err);
    lookup_master(a, end, &found);
    if (found.address && !str_eq(found.address, known))
        r = try_at(a, found.address, end, err);
    if (r < 0 && !a->link.hopeless)
        r = try_at(a, known, end, err);
    if (r < 0 && found.over && !a->link.hopeless) {
        a->link.hopeless = true;
        r = err_set(err, -ENOENT, "the job is over: its directory in HDFS is gone");
    }
    return r;
}

static bool reconnect_over(const struct agent *a, int r, int64_t end)
{
    return r == 0 || a->link.hopeless || a->life.signal || a->life.broken || a->lookup.cut_off ||
           loop_now(a->loop) >= end;
}

/* Rounds are quick while a restart of the master is likely and slow afterwards. When YARN's limit
 * for a silent node is short, pauses shrink with it, so that the last look before the limit is not
 * slept through; if that look finds nothing either, the node is cut off. */
static int rounds(struct agent *a, int64_t end, struct err *err)
{
    AUTO_FREE char *known = strdup(a->link.join.address);
    int r = known ? -EAGAIN : err_oom(err);

    for (unsigned n = 0; known && !reconnect_over(a, r, end); n++) {
        int64_t left = end - loop_now(a->loop);
        int64_t pause = about(n == 0 ? SOON_MS : n < ROUNDS_EAGER ? ROUND_MS : ROUND_LAST);

        if (is_short_cut(a))
            pause = about(SOON_MS);
        if (a->lookup.cut_ms > 0 && pause > a->lookup.cut_ms / 8)
            pause = a->lookup.cut_ms / 8;
        if (fiber_sleep(a->loop, pause < left ? pause : left) < 0)
            break;
        if (loop_now(a->loop) < end) {
            int64_t before = lookup_is_late(a) ? a->lookup.known : -1;

            r = try_both(a, known, end, err);
            a->lookup.cut_off = r < 0 && a->lookup.known == before; /* the look was in vain */
        }
    }
    return r;
}

/* On this machine. A master that a thousand agents connect to at once drops those that are slow to
 * say hello, as it would strangers: they retry. */
static int dial_until(struct agent *a, int64_t end, struct err *err)
{
    int r;

    do {
        int64_t deadline = loop_in(a->loop, DIAL_MS);

        err_clear(err);
        r = handshake_master(a, deadline < end ? deadline : end, err);
    } while ((r == -ECONNRESET || r == -ENODATA || r == -EPIPE || r == -ETIMEDOUT) &&
             !reconnect_over(a, r, end) && fiber_sleep(a->loop, about(SOON_MS)) == 0);
    return r;
}

/* A new container was told an address when it was started. Fetching its files may have taken
 * minutes since, and the master may be another one by now. So the given address is tried once, and
 * then master.json decides. */
int reconnect_first(struct agent *a, struct err *err)
{
    int r;

    if (!a->home.staging)
        return dial_until(a, loop_in(a->loop, FIRST_MS), err);
    r = handshake_master(a, loop_in(a->loop, ARRIVE_MS), err);
    if (r < 0 && !reconnect_over(a, r, LOOP_NEVER)) {
        trace(LOG_AGENT, "'%s': %s", a->link.join.address, err->text);
        r = rounds(a, loop_in(a->loop, FIRST_MS), err);
    }
    return r;
}

int reconnect_again(struct agent *a, struct err *err)
{
    int64_t end = a->link.last_ping + a->link.lease;
    int r;

    handshake_part(a);
    log_warn(LOG_AGENT, "the master is lost (%s): tasks %s for %lld s", err->text,
             a->fence.frozen ? "stand still" : "go on",
             (long long)(end > loop_now(a->loop) ? end - loop_now(a->loop) : 0) / 1000);
    r = rounds(a, end, err);
    if (r == 0)
        log_warn(LOG_AGENT, "the master is back, at '%s'", a->link.join.address);
    else if (a->lookup.cut_off)
        r = err_set(err, -ETIMEDOUT,
                    "this node is cut off: no master, HDFS or ResourceManager for %lld s",
                    (long long)(loop_now(a->loop) - a->lookup.known) / 1000);
    else if (!a->link.hopeless && !a->life.signal)
        r = err_set(err, -ETIMEDOUT, "the master has been lost for %lld s",
                    (long long)a->link.lease / 1000);
    return r;
}
