/* kv_told.c - answers that may have to be given once more.
 *
 * An agent that has lost its connection asks again, under the same number, what was not answered.
 * The request itself may have been carried out, and only its answer lost: to add twice, or to wait
 * at a barrier that has opened, would be wrong. Answers travel in the order in which they are given
 * and a task has a limited number of requests under way at a time, so that those which were lost
 * are always among its last ones. */
#include "base/str.h"
#include "rendezvous/kv_private.h"

#include <stdio.h>
#include <string.h>

enum told_kind { TOLD_NOTHING, TOLD_OK, TOLD_NONE, TOLD_TIMEOUT, TOLD_NUMBER };

static const char *const words_of[] = {
    [TOLD_OK] = "ok", [TOLD_NONE] = "none", [TOLD_TIMEOUT] = "timeout", [TOLD_NUMBER] = "value"
};

struct kv_told {
    struct map_node node; /* first */
    uint32_t task;
    unsigned next;            /* the oldest, to be replaced */
    uint64_t id[KV_TOLD_MAX]; /* side by side: there may be ten thousand tasks */
    int64_t number[KV_TOLD_MAX];
    uint8_t kind[KV_TOLD_MAX];
};

static struct kv_told *told_find(const struct kv *k, uint32_t task)
{
    return (struct kv_told *)map_find(&k->told, &task, sizeof(task));
}

int kv_told_reserve(struct kv *k, uint32_t task)
{
    struct kv_told *t = told_find(k, task);

    if (t)
        return 0;
    t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->task = task;
    t->node.key = &t->task;
    t->node.key_n = sizeof(t->task);
    if (map_add(&k->told, &t->node) < 0) {
        free(t);
        return -ENOMEM;
    }
    return 0;
}

static enum told_kind kv_told_kind_of(const struct kv_word *words, size_t n, int64_t *number)
{
    for (size_t i = TOLD_OK; i < COUNT_OF(words_of); i++) {
        if (words[0].n != strlen(words_of[i]) || memcmp(words[0].p, words_of[i], words[0].n) != 0)
            continue;
        if (i != TOLD_NUMBER)
            return (enum told_kind)i;
        if (n == 2 && kv_number(&words[1], INT64_MIN, INT64_MAX, number) == 0)
            return TOLD_NUMBER;
    }
    return TOLD_NOTHING;
}

static bool is_kept(const struct kv_told *t, uint64_t id, unsigned *ret)
{
    for (*ret = 0; *ret < KV_TOLD_MAX; ++*ret)
        if (t->kind[*ret] && t->id[*ret] == id)
            return true;
    return false;
}

/* A ring for each task: the oldest answer gives way. It has room for more than an agent keeps under
 * way, so an answer that may have to be given again is never overwritten. */
static void keep_answer(struct kv_told *t, uint64_t id, enum told_kind kind, int64_t number)
{
    unsigned at;

    if (is_kept(t, id, &at))
        return;
    t->id[t->next] = id;
    t->number[t->next] = number;
    t->kind[t->next] = (uint8_t)kind;
    t->next = (t->next + 1) % KV_TOLD_MAX;
}

void kv_told_keep(struct kv *k, const struct kv_ask *a, const struct kv_word *words, size_t n)
{
    struct kv_told *t = told_find(k, a->task);
    int64_t number = 0;
    enum told_kind kind = t && n ? kv_told_kind_of(words, n, &number) : TOLD_NOTHING;

    if (kind != TOLD_NOTHING)
        keep_answer(t, a->id, kind, number);
}

/* Called with each change before its answer is given (kv_changed()), and again when a master's log
 * is read: the same requests are known in both. */
void kv_told_done(struct kv *k, const struct kv_done *d)
{
    struct kv_told *t = told_find(k, d->task);

    if (t)
        keep_answer(t, d->id, d->has_number ? TOLD_NUMBER : TOLD_OK, d->number);
}

/* For the next master's log. "None" and "timeout" changed nothing, so they can be worked out
 * again. */
int kv_each_done(const struct kv *k, int (*fn)(void *arg, const struct kv_done *done, size_t n),
                 void *arg)
{
    struct kv_done done[KV_TOLD_MAX];
    int r = 0;

    for (struct map_node *node = map_next(&k->told, NULL); node && r == 0;
         node = map_next(&k->told, node)) {
        const struct kv_told *t = (const struct kv_told *)node;
        size_t n = 0;

        for (unsigned i = 0; i < KV_TOLD_MAX; i++) {
            unsigned at = (t->next + i) % KV_TOLD_MAX;

            if (t->kind[at] == TOLD_OK || t->kind[at] == TOLD_NUMBER)
                done[n++] = (struct kv_done){ t->task, t->id[at], t->kind[at] == TOLD_NUMBER,
                                              t->number[at] };
        }
        if (n > 0)
            r = fn(arg, done, n);
    }
    return r;
}

bool kv_told_again(struct kv *k, const struct kv_ask *a)
{
    const struct kv_told *t = told_find(k, a->task);
    struct kv_word words[2] = { { NULL, 0 }, { NULL, 0 } };
    char text[24];
    unsigned i = 0;

    if (!t || !is_kept(t, a->id, &i))
        return false;
    words[0] = (struct kv_word){ words_of[t->kind[i]], strlen(words_of[t->kind[i]]) };
    words[1].p = text;
    words[1].n = (size_t)snprintf(text, sizeof(text), "%lld", (long long)t->number[i]);
    k->on.on_reply(k->on.user, a->task, a->id, words, t->kind[i] == TOLD_NUMBER ? 2 : 1);
    return true;
}

void kv_told_forget(struct kv *k, uint32_t task)
{
    struct kv_told *t = told_find(k, task);

    if (!t)
        return;
    map_remove(&k->told, &t->node);
    free(t);
}

void kv_told_forget_all(struct kv *k)
{
    struct map_node *next;

    for (struct map_node *node = map_next(&k->told, NULL); node; node = next) {
        next = map_next(&k->told, node);
        kv_told_forget(k, ((struct kv_told *)node)->task);
    }
}
