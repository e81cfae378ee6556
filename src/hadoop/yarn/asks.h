/* asks.h - the table of what an application master still wants, kept like the ResourceManager's.
 *
 * The RM keeps, for each (priority, allocation request id), one row per place: a host, a rack, or
 * "*" for anywhere, with the number of containers outstanding there. A row that is sent replaces
 * the RM's; a row that is not sent stays; when the RM grants a container it counts its own rows
 * down. So both sides count, and a row must be sent only when they differ: a row that is sent
 * without need puts back what the RM has granted in the meantime.
 *
 * This table therefore knows of each row what it should be and what the RM has. A count is never
 * negative, and a row always has its priority and its capability: the RM takes others and breaks
 * later. Pure, no clock. */
#pragma once
#include "base/err.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn_am.pb-c.h"

/* A place a container may run on. */
struct ask_place {
    const char *host; /* NULL: anywhere in the rack */
    const char *rack; /* NULL: "/default-rack", where YARN puts every host without a topology */
};

/* `count` containers of one shape. All pointers are borrowed. */
struct ask {
    int32_t priority; /* smaller is served first */
    int64_t id;       /* comes back with each container; one shape per (priority, id) */
    int32_t count;
    struct yarn_resource resource;
    const struct ask_place *places; /* each container on any one of these; none: anywhere */
    size_t n_places;
    bool strict;        /* there and nowhere else */
    const char *label;  /* a node label, or NULL for the queue's default */
    bool opportunistic; /* may be granted from, and killed for, what guaranteed ones leave */
};

struct asks; /* opaque */

struct asks *asks_new(void);            /* NULL when out of memory */
struct asks *asks_free(struct asks *t); /* NULL is fine; always NULL */

/* Adds to what is asked for under its (priority, id). -EEXIST when that has containers outstanding
 * of another shape, label or strictness: the RM would overwrite one with the other. */
int asks_add(struct asks *t, const struct ask *ask, struct err *err);

/* Takes back `count` containers, or all with a negative one. Returns how many were outstanding and
 * are no more: 0 when there are none. */
int32_t asks_cancel(struct asks *t, int32_t priority, int64_t id, int32_t count);

/* What was strict may run anywhere from now on. -ENOENT when nothing is outstanding. */
int asks_relax(struct asks *t, int32_t priority, int64_t id);

int64_t asks_pending(const struct asks *t); /* all of them */
bool asks_changed(const struct asks *t);    /* there are rows to send */

/* For an RM before 2.8, which knows no request ids: it would merge all asks of one priority.
 * Each (priority, id) gets a priority of its own on the wire, in the same order. From now on. */
void asks_without_ids(struct asks *t);
/* The ask that a container was granted for: what the RM says of it, in our terms. */
void asks_key(const struct asks *t, const Yarn__Container *c, int32_t *ret_priority,
              int64_t *ret_id);

/* ---- the exchange: build, then exactly one of sent, failed, refused ---- */

/* Adds the rows that differ to `request`. On failure (-ENOMEM) nothing is marked. */
int asks_build(struct asks *t, Yarn__AllocateRequest *request);
/* The RM has them. To be called before the grants of the same answer: those were decided before
 * the rows arrived, and do not count against them. */
void asks_sent(struct asks *t);
/* Nobody knows whether it has them: they are to be sent again. */
void asks_failed(struct asks *t);
/* The RM refused them, all of them: drops everything asked for under their keys. Calls `refused`
 * once per key. */
void asks_refused(struct asks *t, void (*refused)(void *arg, int32_t priority, int64_t id),
                  void *arg);

/* A container was granted. False when nothing of the kind is outstanding. Between asks_sent() and
 * asks_settled(). */
bool asks_granted(struct asks *t, int32_t priority, int64_t id, const char *host);
/* The answer is digested: forgets which rows it was about, and drops empty groups. */
void asks_settled(struct asks *t);

/* The RM has forgotten everything (it restarted): all rows are to be sent again. */
void asks_forgotten(struct asks *t);
/* We do not know what it has: all rows, those with 0 too. */
void asks_unknown(struct asks *t);
