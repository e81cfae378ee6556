/* collapse.c - see collapse.h. Lines wait in a queue, in the order in which the first of each came;
 * a table of chains over it finds the one that a rank may join. */
#include "terminal/collapse.h"
#include "base/array.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 1024

struct held {
    struct held *next;  /* in the queue */
    struct held *chain; /* of the bucket, newest first */
    uint64_t seq, hash;
    struct collapse_line line;
    char text[];
};

struct collapse {
    collapse_fn *fn;
    void *user;
    struct held *first, *last;
    struct held *buckets[BUCKETS];
    uint64_t seq;
    size_t bytes;
};

int collapse_new(collapse_fn *fn, void *user, struct collapse **ret)
{
    struct collapse *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->fn = fn;
    c->user = user;
    *ret = c;
    return 0;
}

static void held_free(struct held *h)
{
    free(h->line.ranks);
    free(h);
}

struct collapse *collapse_free(struct collapse *c)
{
    if (!c)
        return NULL;
    while (c->first) {
        struct held *h = c->first;

        c->first = h->next;
        held_free(h);
    }
    free(c);
    return NULL;
}

static bool collapse_same(const struct held *h, const struct collapse_from *from, const char *text,
                          size_t len)
{
    return h->line.stream == from->stream && h->line.len == len &&
           strcmp(h->line.role, from->role) == 0 && memcmp(h->text, text, len) == 0;
}

/* The oldest line of that text which comes after all the rank has written.
 *
 * The oldest, because ranks that do the same write the same lines in the same order: the first line
 * that fits is the one that goes with what this rank has written so far, and a text that comes
 * again stays free for its second time. */
static struct held *collapse_find(struct collapse *c, const struct collapse_from *from,
                                  uint64_t hash, const char *text, size_t len)
{
    struct held *found = NULL;

    for (struct held *h = c->buckets[hash % BUCKETS]; h && h->seq > *from->last; h = h->chain)
        if (h->hash == hash && collapse_same(h, from, text, len))
            found = h;
    return found;
}

static int collapse_add_rank(struct held *h, uint32_t rank)
{
    struct collapse_line *l = &h->line;
    size_t at = l->n_ranks;

    while (at > 0 && l->ranks[at - 1] > rank) /* they come nearly in order */
        at--;
    return ARRAY_INSERT(l->ranks, l->n_ranks, at, rank);
}

/* Takes the first out of the queue and its chain, and hands it on. */
static int collapse_let_go(struct collapse *c)
{
    struct held *h = c->first;
    struct held **link = &c->buckets[h->hash % BUCKETS];
    int r;

    while (*link != h)
        link = &(*link)->chain;
    *link = h->chain;
    c->first = h->next;
    if (!c->first)
        c->last = NULL;
    c->bytes -= h->line.len;
    r = c->fn(c->user, &h->line);
    held_free(h);
    return r;
}

static int collapse_hold(struct collapse *c, const struct collapse_from *from, struct held **ret,
                         const char *text, size_t len)
{
    struct held *h = malloc(sizeof(*h) + len);

    if (!h)
        return -ENOMEM;
    *h = (struct held){ .seq = ++c->seq, .hash = str_hash(text, len) };
    h->line = (struct collapse_line){ .role = from->role, .stream = from->stream, .len = len };
    h->line.text = h->text;
    memcpy(h->text, text, len);
    if (collapse_add_rank(h, from->rank) < 0) {
        held_free(h);
        return -ENOMEM;
    }
    h->chain = c->buckets[h->hash % BUCKETS];
    c->buckets[h->hash % BUCKETS] = h;
    *(c->last ? &c->last->next : &c->first) = h;
    c->last = h;
    c->bytes += len;
    *ret = h;
    return 0;
}

int collapse_add(struct collapse *c, const struct collapse_from *from, const char *text, size_t len,
                 int64_t now)
{
    struct held *h = collapse_find(c, from, str_hash(text, len), text, len);
    int r;

    if (h) {
        r = collapse_add_rank(h, from->rank);
    } else {
        r = collapse_hold(c, from, &h, text, len);
        if (r == 0)
            h->line.at = now;
    }
    if (r == 0)
        *from->last = h->seq;
    while (r == 0 && c->bytes > COLLAPSE_HELD_MAX)
        r = collapse_let_go(c);
    return r;
}

int collapse_time(struct collapse *c, int64_t now)
{
    int r = 0;

    while (r == 0 && c->first && c->first->line.at + COLLAPSE_MS <= now)
        r = collapse_let_go(c);
    return r;
}

int collapse_flush(struct collapse *c)
{
    int r = 0;

    while (r == 0 && c->first)
        r = collapse_let_go(c);
    return r;
}

int64_t collapse_deadline(const struct collapse *c)
{
    return c->first ? c->first->line.at + COLLAPSE_MS : INT64_MAX;
}

const char *collapse_label(const struct collapse_line *l, char out[COLLAPSE_LABEL])
{
    size_t n = (size_t)snprintf(out, COLLAPSE_LABEL, "%s:", l->role), i = 0;
    char piece[24], more[16];

    while (n < COLLAPSE_LABEL && i < l->n_ranks) {
        size_t end = i + 1, len;

        while (end < l->n_ranks && l->ranks[end] == l->ranks[end - 1] + 1)
            end++;
        if (end - i == 2)
            end--; /* "0,1" says two better than "0-1" */
        snprintf(piece, sizeof(piece), end - i > 1 ? "%s%u-%u" : "%s%u", i ? "," : "", l->ranks[i],
                 l->ranks[end - 1]);
        len = strlen(piece);
        snprintf(more, sizeof(more), "+%zu", l->n_ranks - i);
        /* Room for the rest's number must be left, unless this is the last one. */
        if (n + len + (end < l->n_ranks ? strlen(more) : 0) >= COLLAPSE_LABEL) {
            snprintf(out + n, COLLAPSE_LABEL - n, "%s", more);
            break;
        }
        memcpy(out + n, piece, len + 1);
        n += len;
        i = end;
    }
    return out;
}
