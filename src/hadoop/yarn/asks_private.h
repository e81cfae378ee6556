/* asks_private.h - the table's insides, shared by asks.c (what is wanted) and asks_wire.c (what the
 * ResourceManager is told). */
#pragma once
#include "hadoop/yarn/asks.h"

#define ANYWHERE "*"
/* A priority with the id in it, where the RM knows none. */
#define ID_BITS 20
#define PRIORITY_MOST (INT32_MAX >> ID_BITS)
#define DEFAULT_RACK "/default-rack"

struct row {
    char *name; /* host, rack or "*" */
    char *rack; /* of a host; else NULL */
    int32_t count;
    int32_t rm;     /* what the RM has */
    int32_t flying; /* what the request under way says */
    bool in_flight;
    bool stale; /* to be sent even if the counts agree */
};

/* All rows of one (priority, id); rows[0] is "*". */
struct ask_group {
    int32_t priority;
    int64_t id;
    Yarn__Resource *capability;
    char *label;
    bool strict, opportunistic;
    struct row *rows;
    size_t n;
};

struct asks {
    struct ask_group *groups; /* sorted by key */
    size_t n;
    int64_t pending;
    bool changed;   /* some row may differ */
    bool unsettled; /* some row may have come to nothing */
    bool without_ids;
};

static inline bool row_differs(const struct row *r)
{
    return r->stale || r->count != r->rm;
}

void asks_row_done(struct row *r);
void asks_group_done(struct ask_group *g);
