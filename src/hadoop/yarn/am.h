/* am.h - an application master at work: amrm.h with a connection and a clock.
 *
 *     am_new(session, &conf, &am, err);   am_start(am, err);
 *     amrm_ask(am_rm(am), &ask, err);                        // sent at once
 *     while ((r = am_next(am, &event, deadline, err)) == 0)
 *         …start containers, look at the ones that ended…
 *     am_finish(am, SUCCEEDED, "all done", url, deadline, err);
 *     am_free(am);
 *
 * A fiber of its own registers and sends the heartbeats: quickly while asks are outstanding,
 * slower the longer they are, slowly when there is nothing to wait for, at once when there is
 * something to say. It survives restarts and failovers of the ResourceManager, and never waits for
 * the consumer of the events. Fibers of one loop only. */
#pragma once
#include "base/auto.h"
#include "hadoop/yarn/amrm.h"
#include "hadoop/yarn/nm.h"
#include "loop/loop.h"

struct session;
struct am; /* opaque */

struct am_conf {
    struct amrm_conf shown; /* what the RM shows of us */
    int64_t busy_ms;        /* between heartbeats while asks are new; 0 means 10 */
    int64_t idle_ms;        /* while nothing is outstanding; 0 means 1000 */
    int64_t patience_ms;   /* without an RM, before giving up; 0 means what the configuration has */
    struct nm_pool *nodes; /* gets the nodes' tokens before their containers come; or NULL */
    const struct conf *node; /* whose scheduler it is, where that is not the session's; or NULL */
};

/* Takes the AMRM token from the session's credentials, whatever service it names; -ENOKEY when
 * there is none, which means that we are not running as a master. `s` and conf->nodes are
 * borrowed. Contacts nobody. *ret is the caller's: am_free(). */
int am_new(struct session *s, const struct am_conf *conf, struct am **ret, struct err *err);
/* Registers and sends heartbeats from then on. Returns at once: AMRM_REGISTERED tells of the
 * success. */
int am_start(struct am *a, struct err *err);
/* On a fiber: waits for the heartbeat to end. It does not finish: that is am_finish(). NULL is
 * fine; always NULL. */
struct am *am_free(struct am *a);

/* To ask, release, blacklist and look; changes are sent at once. Borrowed. Not for
 * amrm_finish(), and not for the exchange. */
struct amrm *am_rm(struct am *a);

/* The next heartbeat is sent at once, though there is nothing to say: to learn how things are. */
void am_hurry(struct am *a);

/* The next event, in the order the RM told them; borrowed until the next call. -ETIMEDOUT at the
 * deadline, -ENODATA when there will be none any more. After AMRM_ENDED, or when the RM was away
 * for too long, am_error() says why. */
int am_next(struct am *a, const struct amrm_event **ret, int64_t deadline, struct err *err);
/* When the RM last answered, on the loop's clock; before its first answer, when we were started. */
int64_t am_answered(const struct am *a);
/* Why heartbeats fail at present; code 0 when the last one was answered. */
const struct err *am_trouble(const struct am *a);
/* Why there will be no more events; code 0 while there may be, and after a good end. */
const struct err *am_error(const struct am *a);

/* The last word. Returns when the RM has it; the program should end soon after. Events that are
 * still to be taken stay where they are. */
int am_finish(struct am *a, Yarn__FinalStatus status, const char *diagnostics, const char *url,
              int64_t deadline, struct err *err);

/* The kind of token that only a master has: keep it from the containers. */
#define AM_TOKEN_KIND "YARN_AM_RM_TOKEN"

AUTO_DEFINE(am, struct am *, am_free);
#define AUTO_AM AUTO(am) struct am
