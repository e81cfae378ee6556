/* blacklist.c - a table says which failure counts how much for each policy. A node that is let
 * off later may be tried once: its next fault puts it back at once. See blacklist.h. */
#include "job/blacklist.h"
#include "base/array.h"
#include "base/str.h"

#include <string.h>

#define FAULTS_OF_NODES 2
#define FAULTS_OF_ANY 1

struct node {
    char *name;
    unsigned faults;
    uint64_t since; /* when it was put on the list, as a count of such; 0: it is not */
};

struct blacklist {
    enum blacklist_mode mode;
    unsigned max;
    struct node *nodes;
    size_t n;
    size_t n_avoided;
    uint64_t clock;
    unsigned lifts;
    int64_t last_lift; /* 0: none yet */
};

/* clang-format off */
static const bool counts[BLACKLIST_CAUSES_][BLACKLIST_ANY_FAULT + 1] = {
    [BLACKLIST_START]     = { [BLACKLIST_NODES_FAULT] = true, [BLACKLIST_ANY_FAULT] = true },
    [BLACKLIST_FILES]     = { [BLACKLIST_NODES_FAULT] = true, [BLACKLIST_ANY_FAULT] = true },
    [BLACKLIST_DISK]      = { [BLACKLIST_NODES_FAULT] = true, [BLACKLIST_ANY_FAULT] = true },
    [BLACKLIST_AGENT]     = { [BLACKLIST_NODES_FAULT] = true, [BLACKLIST_ANY_FAULT] = true },
    [BLACKLIST_TASK]      = { [BLACKLIST_ANY_FAULT]   = true },
    /* BLACKLIST_LOST, BLACKLIST_PREEMPTED: never */
};

static const enum blacklist_cause causes[FAIL_CLASSES_] = {
    [FAIL_NONE]      = BLACKLIST_PREEMPTED, /* nothing is wrong */
    [FAIL_EXIT]      = BLACKLIST_TASK,
    [FAIL_SIGNAL]    = BLACKLIST_TASK,
    [FAIL_MEMORY]    = BLACKLIST_TASK,
    [FAIL_START]     = BLACKLIST_START,
    [FAIL_FILES]     = BLACKLIST_FILES,
    [FAIL_PORT]      = BLACKLIST_TASK,
    [FAIL_DISK]      = BLACKLIST_DISK,
    [FAIL_NOT_READY] = BLACKLIST_TASK,
    [FAIL_LOG_LIMIT] = BLACKLIST_TASK,
    [FAIL_IMAGE]     = BLACKLIST_TASK, /* the job named it */
    [FAIL_NODE]      = BLACKLIST_LOST,
    [FAIL_PREEMPTED] = BLACKLIST_PREEMPTED,
    [FAIL_PERSON]    = BLACKLIST_PREEMPTED,
};
/* clang-format on */

enum blacklist_cause blacklist_cause_of(enum fail_class cls)
{
    return causes[cls];
}

int blacklist_new(enum blacklist_mode mode, unsigned max, struct blacklist **ret, struct err *err)
{
    struct blacklist *a = calloc(1, sizeof(*a));

    if (!a)
        return err_oom(err);
    a->mode = mode;
    a->max = max ? max : mode == BLACKLIST_ANY_FAULT ? FAULTS_OF_ANY : FAULTS_OF_NODES;
    *ret = a;
    return 0;
}

struct blacklist *blacklist_free(struct blacklist *a)
{
    if (!a)
        return NULL;
    for (size_t i = 0; i < a->n; i++)
        free(a->nodes[i].name);
    free(a->nodes);
    free(a);
    return NULL;
}

static struct node *blacklist_find(const struct blacklist *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (str_eq(a->nodes[i].name, name))
            return &a->nodes[i];
    return NULL;
}

static struct node *blacklist_add(struct blacklist *a, const char *name)
{
    AUTO_FREE char *copy = strdup(name);

    if (!copy || ARRAY_ADD(a->nodes, a->n, (struct node){ .name = take(copy) }) < 0)
        return NULL;
    return &a->nodes[a->n - 1];
}

static void blacklist_put(struct blacklist *a, struct node *n)
{
    n->since = ++a->clock;
    a->n_avoided++;
}

static void let_off(struct blacklist *a, struct node *n)
{
    n->since = 0;
    n->faults = a->max - 1; /* one more, and it is avoided again */
    a->n_avoided--;
}

/* The last node that the job could run on is never put on the list: a bad node is better than
 * none. */
int blacklist_fault(struct blacklist *a, const char *node, enum blacklist_cause cause,
                    unsigned n_fit)
{
    struct node *n;

    if (!counts[cause][a->mode])
        return 0;
    n = blacklist_find(a, node);
    if (!n)
        n = blacklist_add(a, node);
    if (!n)
        return -ENOMEM;
    if (n->faults < UINT32_MAX)
        n->faults++;
    if (n->since || n->faults < a->max)
        return 0;
    if (n_fit > 0 && a->n_avoided + 1 >= n_fit)
        return 0; /* somewhere it has to run */
    blacklist_put(a, n);
    return 1;
}

bool blacklist_any(const struct blacklist *a)
{
    return a->n_avoided > 0;
}

int blacklist_restore(struct blacklist *a, const char *node, bool on)
{
    struct node *n = blacklist_find(a, node);

    if (!n)
        n = blacklist_add(a, node);
    if (!n)
        return -ENOMEM;
    if (on && !n->since)
        blacklist_put(a, n);
    else if (!on && n->since)
        let_off(a, n);
    return 0;
}

bool blacklist_has(const struct blacklist *a, const char *node)
{
    const struct node *n = blacklist_find(a, node);

    return n && n->since;
}

/* The next one after `since` in the order of the list; NULL: none. */
static struct node *next(const struct blacklist *a, uint64_t since)
{
    struct node *found = NULL;

    for (size_t i = 0; i < a->n && a->n_avoided > 0; i++) {
        struct node *n = &a->nodes[i];

        if (n->since > since && (!found || n->since < found->since))
            found = n;
    }
    return found;
}

/* Each node that is let off makes the wait for the next one twice as long, up to a limit: a cluster
 * that is bad everywhere is not tried in a circle. */
int64_t blacklist_lift_at(const struct blacklist *a, int64_t since, unsigned n_fit)
{
    int64_t wait = BLACKLIST_FIRST_MS;

    if (a->n_avoided == 0)
        return INT64_MAX;
    if (n_fit > 0 && a->n_avoided >= n_fit)
        return since; /* others have gone meanwhile */
    for (unsigned i = 0; i < a->lifts && wait < BLACKLIST_MOST_MS; i++)
        wait *= 2;
    if (wait > BLACKLIST_MOST_MS)
        wait = BLACKLIST_MOST_MS;
    return (since > a->last_lift ? since : a->last_lift) + wait;
}

const char *blacklist_lift(struct blacklist *a, int64_t now)
{
    struct node *n = next(a, 0);

    if (!n)
        return NULL;
    let_off(a, n);
    a->lifts++;
    a->last_lift = now;
    return n->name;
}

void blacklist_each(const struct blacklist *a, void (*fn)(void *arg, const char *node), void *arg)
{
    for (const struct node *n = next(a, 0); n; n = next(a, n->since))
        fn(arg, n->name);
}
