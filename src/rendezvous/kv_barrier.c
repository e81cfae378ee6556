/* kv_barrier.c - the verbs that wait: for a key, and for one another.
 *
 *     arrive ──► fewer than needed: wait ──► the last one arrives: all get "ok" ──► next round
 *                     │ deadline: "timeout", and it counts no longer
 *                     └── the role shrinks: those who remain may already be enough */
#include "base/array.h"
#include "rendezvous/kv_private.h"

#define MS_MAX ((int64_t)1000 * 1000 * 1000 * 1000)
#define COUNT_MAX 1000000

/* Word `i` as milliseconds from now; without it, never. Answers and says no when it is no time. */
static bool read_deadline(struct kv *k, const struct kv_ask *a, size_t i, int64_t *ret)
{
    int64_t ms = 0;
    char shown[KV_SHOWN];

    *ret = INT64_MAX;
    if (a->n <= i)
        return true;
    if (kv_number(&a->words[i], 0, MS_MAX, &ms) < 0) {
        kv_answer_error(k, a, "'%s' is not a number of milliseconds", kv_show(&a->words[i], shown));
        return false;
    }
    *ret = a->now + ms;
    return true;
}

static bool kv_barrier_may_wait(struct kv *k, const struct kv_ask *a)
{
    if (kv_task_waits(k, a->task) < KV_TASK_WAITS_MAX)
        return true;
    kv_answer_error(k, a, "%d requests of this task wait already", KV_TASK_WAITS_MAX);
    return false;
}

static int wait_at(struct kv *k, struct kv_place *p, const struct kv_ask *a, int64_t deadline,
                   struct err *err)
{
    if (kv_wait_add(k, p, a, deadline) == 0)
        return 0;
    kv_place_tidy(p);
    return err_oom(err);
}

int kv_wait(struct kv *k, const struct kv_ask *a, struct err *err)
{
    struct kv_place *p = kv_find_key(k, &a->words[1]);
    int64_t deadline = 0;

    if (!read_deadline(k, a, 2, &deadline))
        return 0;
    if (p) {
        kv_answer_value(k, a, p->value, p->value_n);
        return 0;
    }
    if (deadline <= a->now) {
        kv_answer(k, a, "timeout");
        return 0;
    }
    if (!kv_barrier_may_wait(k, a))
        return 0;
    p = kv_place_get(&k->keys, &a->words[1]);
    return p ? wait_at(k, p, a, deadline, err) : err_oom(err);
}

/* ---- barriers ---- */

static bool read_need(struct kv *k, const struct kv_ask *a, int64_t *ret)
{
    char shown[KV_SHOWN];

    if (a->n <= 2) {
        *ret = k->on.on_role_size(k->on.user, a->task);
        if (*ret == 0)
            kv_answer_error(k, a, "barrier: this task has been scaled away");
        return *ret > 0;
    }
    if (kv_number(&a->words[2], 1, COUNT_MAX, ret) == 0)
        return true;
    kv_answer_error(k, a, "barrier: '%s' is not a count from 1 to %d", kv_show(&a->words[2], shown),
                    COUNT_MAX);
    return false;
}

/* Lists those who wait; returns how many. */
static size_t list_came(struct kv_place *p)
{
    size_t n = 0;

    for (const struct kv_wait *w = p->first; w; w = w->place_next)
        p->came[n++] = (struct kv_done){ .task = w->task, .id = w->id };
    return n;
}

/* All go on, `last` too unless it is NULL, and the next to come opens the barrier again. The
 * passing is recorded before the first task hears of it, so that a restored store knows that all
 * have passed.
 */
static void kv_barrier_let_go(struct kv *k, struct kv_place *p, const struct kv_ask *last)
{
    size_t n = list_came(p);

    if (last)
        p->came[n++] = (struct kv_done){ .task = last->task, .id = last->id };
    if (n > 0) /* all may have been sent away */
        kv_changed(k, &(struct kv_change){ .done = p->came, .n_done = n });
    while (p->first) {
        struct kv_ask a = kv_ask_of(p->first);

        kv_wait_drop(k, p->first);
        kv_answer(k, &a, "ok");
    }
    kv_place_tidy(p);
}

/* The last one is here. */
static void open_barrier(struct kv *k, const struct kv_ask *last, struct kv_place *p)
{
    struct kv_done alone = { .task = last->task, .id = last->id };

    if (p)
        kv_barrier_let_go(k, p, last);
    else
        kv_changed(k, &(struct kv_change){ .done = &alone, .n_done = 1 });
    kv_answer(k, last, "ok");
}

/* Only the first one to give up tells who did not come: those after it miss one another. */
void kv_barrier_late(struct kv *k, struct kv_wait *w)
{
    struct kv_place *p = w->place;
    struct kv_late late = { .name = { p->node.key, p->node.key_n }, .usual = p->usual };

    if (p->late || !k->on.on_late)
        return;
    p->late = true;
    late.n_came = list_came(p);
    late.came = p->came;
    late.need = p->need;
    k->on.on_late(k->on.user, &late);
}

/* A task counts once: when it comes again (it was restarted, or gave up and tries again), its older
 * wait gets an error. All must name the same count; a wrong one would open the barrier too
 * early. */
int kv_barrier(struct kv *k, const struct kv_ask *a, struct err *err)
{
    struct kv_place *p = (struct kv_place *)map_find(&k->barriers, a->words[1].p, a->words[1].n);
    struct kv_wait *before = p ? kv_wait_find(k, p, a->task) : NULL;
    int64_t need = 0, deadline = 0;
    char shown[KV_SHOWN];
    int r;

    if (!read_need(k, a, &need) || !read_deadline(k, a, 3, &deadline))
        return 0;
    if (p && (int64_t)p->need != need) {
        kv_answer_error(k, a, "barrier '%s' waits for %zu, not for %lld",
                        kv_show(&a->words[1], shown), p->need, (long long)need);
        return 0;
    }
    if ((p ? (int64_t)p->waits : 0) - (before ? 1 : 0) + 1 >= need) {
        open_barrier(k, a, p);
        return 0;
    }
    if (deadline <= a->now) {
        kv_answer(k, a, "timeout");
        return 0;
    }
    if (!kv_barrier_may_wait(k, a))
        return 0;
    p = kv_place_get(&k->barriers, &a->words[1]);
    if (p && ARRAY_FIT(p->came, p->came_cap, p->waits + 2) < 0) { /* this one, and the last */
        kv_place_tidy(p);
        return err_oom(err);
    }
    r = p ? wait_at(k, p, a, deadline, err) : err_oom(err);
    if (r < 0)
        return r;
    p->need = (size_t)need;
    p->usual = a->n <= 2;
    if (before) {
        struct kv_ask old = kv_ask_of(before);

        kv_wait_drop(k, before);
        kv_answer_error(k, &old, "barrier '%s': this task came again",
                        kv_show(&a->words[1], shown));
    }
    return 0;
}

/* Tasks that are no longer part of their role do not count, and get an error. */
static void send_retired_away(struct kv *k, struct kv_place *p)
{
    struct kv_wait *next;

    for (struct kv_wait *w = p->first; w; w = next) {
        struct kv_ask a = kv_ask_of(w);

        next = w->place_next;
        if (k->on.on_role_size(k->on.user, w->task) > 0)
            continue;
        kv_wait_drop(k, w);
        kv_answer_error(k, &a, "barrier: this task has been scaled away");
    }
}

void kv_resized(struct kv *k)
{
    struct map_node *next;

    for (struct map_node *node = map_next(&k->barriers, NULL); node; node = next) {
        struct kv_place *p = (struct kv_place *)node;

        next = map_next(&k->barriers, node);
        if (!p->usual)
            continue;
        send_retired_away(k, p);
        if (p->first)
            p->need = k->on.on_role_size(k->on.user, p->first->task);
        if (p->waits >= p->need)
            kv_barrier_let_go(k, p, NULL);
        else
            kv_place_tidy(p);
    }
}
