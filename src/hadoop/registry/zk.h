/* zk.h - a session with ZooKeeper, by its own C client on our loop. Private to this directory.
 *
 * The client's single-threaded form says which descriptor it waits for and for how long; a fiber
 * does the waiting. A lost connection is made again by the client, a lost (expired) session by us;
 * calls in between wait and are tried again until their deadline. Fibers only; any number of them
 * may call at once.
 *
 * The client looks up names by getaddrinfo(), which a static program must not: it gets numbers. */
#pragma once
#include "base/buf.h"
#include "base/str.h"
#include "loop/loop.h"

struct zk; /* opaque */

struct zk_options {
    const struct strs *servers; /* "host[:port]"; names are looked up when the session begins */
    const char *chroot;         /* "" or "/a/b": prefix of every path */
    int64_t session_ms;         /* how long the servers wait for us before they end it */
    /* Told, on the loop, when a session that was lost has been replaced: what was EPHEMERAL is
     * gone. May be NULL. */
    void (*on_new_session)(void *arg);
    void *arg;
};

/* Waits for the first session. `o` is copied. *ret is the caller's: zk_close(). */
int zk_open(struct loop *l, const struct zk_options *o, int64_t deadline, struct zk **ret,
            struct err *err);
/* Ends the session: what was EPHEMERAL goes with it. No call may be under way. It waits until the
 * servers have heard it, some seconds at most, also on a cancelled fiber. NULL is fine; always
 * NULL. */
struct zk *zk_close(struct zk *z);

/* Errors: -ENOENT (or its parent is missing), -EEXIST, -ENOTEMPTY, -EACCES, -ENOTDIR (below
 * something EPHEMERAL), -ETIMEDOUT, -ECANCELED, -EIO. */

/* -EEXIST also when an earlier try was lost on the way and had worked. Open to everybody: that is
 * the registry's rule on clusters without Kerberos. */
int zk_create(struct zk *z, const char *path, const struct buf *data, bool ephemeral,
              int64_t deadline, struct err *err);
int zk_set(struct zk *z, const char *path, const struct buf *data, int64_t deadline,
           struct err *err);
/* Adds the bytes to `ret`; -E2BIG past its ceiling. */
int zk_get(struct zk *z, const char *path, struct buf *ret, int64_t deadline, struct err *err);
int zk_delete(struct zk *z, const char *path, int64_t deadline, struct err *err);
/* The names of what is below, in place of what is in `ret`. */
int zk_children(struct zk *z, const char *path, struct strs *ret, int64_t deadline,
                struct err *err);

AUTO_DEFINE(zk, struct zk *, zk_close);
