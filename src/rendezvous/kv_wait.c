/* kv_wait.c - places and who waits at them. Deadlines are a binary heap, earliest first, in which
 * every wait knows its index, so that one which ends early leaves at once. A wait is in three
 * structures at once, each for a question of its own:
 *
 *     its place's list    who gets the value, or how many have come, in their order
 *     its task's list     what ends with the task, how many it has, was it asked before
 *     the heap            whose deadline is next; not for those without one */
#include "base/array.h"
#include "rendezvous/kv_private.h"

#include <string.h>

/* ---- the heap ---- */

static void put_at(struct kv *k, size_t i, struct kv_wait *w)
{
    k->heap[i] = w;
    w->heap_at = i;
}

static void kv_wait_sift_up(struct kv *k, size_t i, struct kv_wait *w)
{
    while (i > 0 && k->heap[(i - 1) / 2]->deadline > w->deadline) {
        put_at(k, i, k->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put_at(k, i, w);
}

static void sift_down(struct kv *k, size_t i, struct kv_wait *w)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < k->heap_n && k->heap[child + 1]->deadline < k->heap[child]->deadline)
            child++;
        if (child >= k->heap_n || k->heap[child]->deadline >= w->deadline)
            break;
        put_at(k, i, k->heap[child]);
        i = child;
    }
    put_at(k, i, w);
}

static int heap_add(struct kv *k, struct kv_wait *w)
{
    if (ARRAY_ROOM(k->heap, k->heap_n) < 0)
        return -ENOMEM;
    k->heap_n++;
    kv_wait_sift_up(k, k->heap_n - 1, w);
    return 0;
}

/* The last entry fills the hole. It may belong further up or further down: it comes from another
 * branch. */
static void heap_remove(struct kv *k, const struct kv_wait *w)
{
    size_t i = w->heap_at;
    struct kv_wait *last = k->heap[--k->heap_n];

    if (last == w)
        return;
    if (last->deadline < w->deadline)
        kv_wait_sift_up(k, i, last);
    else
        sift_down(k, i, last);
}

int64_t kv_deadline(const struct kv *k)
{
    return k->heap_n ? k->heap[0]->deadline : INT64_MAX;
}

/* ---- places ---- */

struct kv_place *kv_place_get(struct map *m, const struct kv_word *name)
{
    struct kv_place *p = (struct kv_place *)map_find(m, name->p, name->n);

    if (p)
        return p;
    p = calloc(1, sizeof(*p) + name->n);
    if (!p)
        return NULL;
    memcpy(p->name, name->p, name->n);
    p->node.key = p->name;
    p->node.key_n = name->n;
    p->map = m;
    if (map_add(m, &p->node) < 0) {
        free(p);
        return NULL;
    }
    return p;
}

void kv_place_tidy(struct kv_place *p)
{
    if (p->value || p->first)
        return;
    map_remove(p->map, &p->node);
    free(p->came);
    free(p);
}

/* ---- tasks ---- */

static struct kv_task *task_find(const struct kv *k, uint32_t task)
{
    return (struct kv_task *)map_find(&k->tasks, &task, sizeof(task));
}

static struct kv_task *kv_wait_task_get(struct kv *k, uint32_t task)
{
    struct kv_task *t = task_find(k, task);

    if (t)
        return t;
    t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->task = task;
    t->node.key = &t->task;
    t->node.key_n = sizeof(t->task);
    if (map_add(&k->tasks, &t->node) < 0) {
        free(t);
        return NULL;
    }
    return t;
}

static void task_tidy(struct kv *k, struct kv_task *t)
{
    if (t->first)
        return;
    map_remove(&k->tasks, &t->node);
    free(t);
}

size_t kv_task_waits(const struct kv *k, uint32_t task)
{
    const struct kv_task *t = task_find(k, task);

    return t ? t->waits : 0;
}

struct kv_wait *kv_wait_find(const struct kv *k, const struct kv_place *p, uint32_t task)
{
    const struct kv_task *t = task_find(k, task);

    for (struct kv_wait *w = t ? t->first : NULL; w; w = w->task_next) {
        if (w->place == p)
            return w;
    }
    return NULL;
}

bool kv_wait_is_known(const struct kv *k, const struct kv_ask *a)
{
    const struct kv_task *t = task_find(k, a->task);

    for (const struct kv_wait *w = t ? t->first : NULL; w; w = w->task_next) {
        if (w->id == a->id)
            return true;
    }
    return false;
}

/* ---- waits ---- */

static void link_wait(struct kv_wait *w, struct kv_place *p, struct kv_task *t)
{
    w->place = p;
    w->place_prev = p->last;
    if (p->last)
        p->last->place_next = w;
    else
        p->first = w;
    p->last = w;
    p->waits++;
    w->of = t;
    w->task_next = t->first;
    if (t->first)
        t->first->task_prev = w;
    t->first = w;
    t->waits++;
}

static void unlink_wait(struct kv_wait *w)
{
    struct kv_place *p = w->place;
    struct kv_task *t = w->of;

    *(w->place_prev ? &w->place_prev->place_next : &p->first) = w->place_next;
    *(w->place_next ? &w->place_next->place_prev : &p->last) = w->place_prev;
    p->waits--;
    *(w->task_prev ? &w->task_prev->task_next : &t->first) = w->task_next;
    if (w->task_next)
        w->task_next->task_prev = w->task_prev;
    t->waits--;
}

int kv_wait_add(struct kv *k, struct kv_place *p, const struct kv_ask *a, int64_t deadline)
{
    AUTO_FREE struct kv_wait *w = calloc(1, sizeof(*w));
    struct kv_task *t = w ? kv_wait_task_get(k, a->task) : NULL;

    if (!t)
        return -ENOMEM;
    w->task = a->task;
    w->id = a->id;
    w->deadline = deadline;
    if (deadline != INT64_MAX && heap_add(k, w) < 0) {
        task_tidy(k, t);
        return -ENOMEM;
    }
    link_wait(w, p, t);
    (void)take(w);
    return 0;
}

void kv_wait_drop(struct kv *k, struct kv_wait *w)
{
    if (w->deadline != INT64_MAX)
        heap_remove(k, w);
    unlink_wait(w);
    task_tidy(k, w->of);
    free(w);
}
