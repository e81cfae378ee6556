/* am_blacklist.c - each name has two bits: whether we want it on the list and whether the
 * ResourceManager has it there. What differs is sent; when a call fails or the server restarts,
 * its side is forgotten and all differs again. See am_blacklist.h. */
#include "hadoop/yarn/am_blacklist.h"
#include "base/array.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/message.h"

#include <string.h>

struct am_blacklist_name {
    char *name;
    bool on;        /* what we want */
    bool told;      /* what the RM has */
    bool flying;    /* what the request under way says… */
    bool in_flight; /* …if it says anything of this one */
    bool stale;     /* the RM may have it or not: tell it again */
};

void am_blacklist_done(struct am_blacklist *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->v[i].name);
    free(b->v);
    *b = (struct am_blacklist){ 0 };
}

static struct am_blacklist_name *am_blacklist_find(const struct am_blacklist *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->v[i].name, name))
            return &b->v[i];
    return NULL;
}

int am_blacklist_set(struct am_blacklist *b, const char *name, bool on)
{
    struct am_blacklist_name *known = am_blacklist_find(b, name);
    AUTO_FREE char *copy = NULL;

    if (!*name || str_eq(name, "*"))
        return -EINVAL;
    if (known) {
        known->on = on;
        return 0;
    }
    if (!on)
        return 0;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    return ARRAY_ADD(b->v, b->n, (struct am_blacklist_name){ .name = take(copy), .on = true });
}

static bool am_blacklist_differs(const struct am_blacklist_name *n)
{
    return n->stale || n->on != n->told;
}

bool am_blacklist_changed(const struct am_blacklist *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (am_blacklist_differs(&b->v[i]))
            return true;
    return false;
}

int am_blacklist_build(struct am_blacklist *b, Yarn__AllocateRequest *request)
{
    AUTO_MESSAGE Yarn__ResourceBlacklistRequest *m = NULL;

    if (!am_blacklist_changed(b))
        return 0;
    m = MESSAGE_NEW(yarn__resource_blacklist_request);
    if (!m)
        return -ENOMEM;
    for (size_t i = 0; i < b->n; i++) {
        const struct am_blacklist_name *n = &b->v[i];
        int r = 0;

        if (am_blacklist_differs(n))
            r = n->on ? MESSAGE_ADD_TEXT(m, additions, n->name)
                      : MESSAGE_ADD_TEXT(m, removals, n->name);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < b->n; i++) {
        b->v[i].in_flight = am_blacklist_differs(&b->v[i]);
        b->v[i].flying = b->v[i].on;
        b->v[i].stale = false;
    }
    request->blacklist_request = take(m);
    return 0;
}

/* Forgets the names that are off and that the RM knows to be off. */
static void drop(struct am_blacklist *b)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (!b->v[i].on && !am_blacklist_differs(&b->v[i]))
            free(b->v[i].name);
        else
            b->v[kept++] = b->v[i];
    }
    b->n = kept;
}

void am_blacklist_sent(struct am_blacklist *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->v[i].in_flight)
            b->v[i].told = b->v[i].flying;
        b->v[i].in_flight = false;
    }
    drop(b);
}

/* The request may have been taken over or not, so what it said is said once more, which does no
 * harm. */
void am_blacklist_failed(struct am_blacklist *b)
{
    for (size_t i = 0; i < b->n; i++) {
        b->v[i].stale |= b->v[i].in_flight;
        b->v[i].in_flight = false;
    }
}

void am_blacklist_forgotten(struct am_blacklist *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->v[i].told = b->v[i].in_flight = b->v[i].stale = false;
    drop(b);
}
