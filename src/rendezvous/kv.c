/* kv.c - the key-value store of a job: its verbs, answers, deadlines, and beginning again. See
 * kv.h.
 *
 *     task ──► its agent ──► request ──► verb ──► change (written down) ──► answer ──► task
 *
 * A request is checked against a table of verbs; each verb makes what it needs before it changes
 * anything, so that running out of memory leaves the store as it was. A change is reported before
 * its answer: a master that dies in between has done nothing that its successor does not know. */
#include "rendezvous/kv.h"
#include "base/str.h"
#include "rendezvous/kv_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- answers ---- */

static bool is_done_once(const struct kv_ask *a, size_t n);

void kv_reply(struct kv *k, const struct kv_ask *a, const struct kv_word *words, size_t n)
{
    if (is_done_once(a, n))
        kv_told_keep(k, a, words, n);
    k->on.on_reply(k->on.user, a->task, a->id, words, n);
}

void kv_changed(struct kv *k, const struct kv_change *c)
{
    for (size_t i = 0; i < c->n_done; i++)
        kv_told_done(k, &c->done[i]);
    if (k->on.on_change)
        k->on.on_change(k->on.user, c);
}

static struct kv_word word_of(const char *s)
{
    return (struct kv_word){ s, strlen(s) };
}

void kv_answer(struct kv *k, const struct kv_ask *a, const char *word)
{
    struct kv_word w = word_of(word);

    kv_reply(k, a, &w, 1);
}

void kv_answer_value(struct kv *k, const struct kv_ask *a, const void *p, size_t n)
{
    struct kv_word w[] = { word_of("value"), { p, n } };

    kv_reply(k, a, w, COUNT_OF(w));
}

void kv_answer_error(struct kv *k, const struct kv_ask *a, const char *fmt, ...)
{
    char text[300];
    struct kv_word w[] = { word_of("error"), { text, 0 } };
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    w[1].n = strlen(text);
    kv_reply(k, a, w, COUNT_OF(w));
}

const char *kv_show(const struct kv_word *w, char out[KV_SHOWN])
{
    char raw[KV_SHOWN];
    size_t n = w->n < sizeof(raw) ? w->n : sizeof(raw) - 1;

    if (n)
        memcpy(raw, w->p, n);
    raw[n] = 0;
    (void)str_clean(out, KV_SHOWN, raw);
    return out;
}

int kv_number(const struct kv_word *w, int64_t min, int64_t max, int64_t *ret)
{
    char text[24];

    if (w->n == 0 || w->n >= sizeof(text) || memchr(w->p, 0, w->n))
        return -EINVAL;
    memcpy(text, w->p, w->n);
    text[w->n] = 0;
    return str_to_i64(text, min, max, ret) < 0 ? -EINVAL : 0;
}

struct kv_ask kv_ask_of(const struct kv_wait *w)
{
    return (struct kv_ask){ .task = w->task, .id = w->id };
}

/* Asked again it is the same again: the number is not a difference. */
int kv_scale(struct kv *k, const struct kv_ask *a, struct err *err)
{
    AUTO_FREE char *role = strndup(a->words[1].p, a->words[1].n);
    struct err why = ERR_INIT;
    int64_t count = 0;

    if (!role)
        return err_oom(err);
    if (kv_number(&a->words[2], 0, UINT32_MAX, &count) < 0)
        kv_answer_error(k, a, "scale: COUNT is a whole number from 0 on");
    else if (!k->on.on_scale)
        kv_answer_error(k, a, "this job cannot be scaled by its tasks");
    else if (k->on.on_scale(k->on.user, a->task, role, (unsigned)count, &why) < 0)
        kv_answer_error(k, a, "scale: %s", why.text);
    else
        kv_answer(k, a, "ok");
    return 0;
}

/* ---- the table ---- */

struct verb {
    const char *name;
    size_t min, max; /* words, with the verb */
    bool named;      /* the second word is a key or the name of a barrier */
    bool once;       /* it must not be carried out again when it is asked again */
    kv_verb *fn;
};

/* clang-format off */
static const struct verb verbs[] = {
    { "put",      3, 3,            true,  true,  kv_put },
    { "putnew",   3, 3,            true,  true,  kv_putnew },
    { "get",      2, 2,            true,  false, kv_get },
    { "wait",     2, 3,            true,  false, kv_wait },
    { "del",      2, 2,            true,  true,  kv_del },
    { "list",     1, 2,            false, false, kv_list },
    { "add",      3, 3,            true,  true,  kv_add },
    { "barrier",  2, 4,            true,  true,  kv_barrier },
    { "progress", 2, KV_WORDS_MAX, false, false, kv_progress },
    { "scale",    3, 3,            true,  false, kv_scale },
    { "note",     2, 2,            false, true,  kv_note },
    { "leaving",  2, KV_WORDS_MAX, true,  false, kv_leaving },
    { "move",     3, 3,            true,  false, kv_move },
};
/* clang-format on */

static const struct verb *kv_find_verb(const struct kv_word *w)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strlen(verbs[i].name) == w->n && memcmp(verbs[i].name, w->p, w->n) == 0)
            return &verbs[i];
    }
    return NULL;
}

/* Is the answer of `n` words to something that must not be done again? One that waited has lost its
 * words; a value then is that of a key, which can be looked at again. */
static bool is_done_once(const struct kv_ask *a, size_t n)
{
    const struct verb *v = a->n ? kv_find_verb(&a->words[0]) : NULL;

    return v ? v->once : n == 1;
}

static int dispatch(struct kv *k, const struct kv_ask *a, struct err *err)
{
    const struct verb *v = a->n ? kv_find_verb(&a->words[0]) : NULL;
    char shown[KV_SHOWN];

    if (!v) {
        kv_answer_error(k, a, "'%s' is no request", a->n ? kv_show(&a->words[0], shown) : "");
        return 0;
    }
    if (a->n < v->min || a->n > v->max) {
        kv_answer_error(k, a, "%s: %zu words are too %s", v->name, a->n - 1,
                        a->n < v->min ? "few" : "many");
        return 0;
    }
    if (v->named && (a->words[1].n == 0 || a->words[1].n > KV_KEY_MAX)) {
        kv_answer_error(k, a, "%s: a name has 1 to %d bytes, not %zu", v->name, KV_KEY_MAX,
                        a->words[1].n);
        return 0;
    }
    if (v->once && kv_told_reserve(k, a->task) < 0)
        return err_oom(err);
    return v->fn(k, a, err);
}

int kv_request(struct kv *k, const struct kv_ask *a, struct err *err)
{
    if (kv_wait_is_known(k, a) || kv_told_again(k, a))
        return 0; /* by an agent that lost its connection: nothing is done twice */
    return dispatch(k, a, err);
}

/* The wait is dropped and its place tidied before the answer: the answer may bring the next request
 * for the same place. */
void kv_on_time(struct kv *k, int64_t now)
{
    while (k->heap_n && k->heap[0]->deadline <= now) {
        struct kv_ask a = kv_ask_of(k->heap[0]);
        struct kv_place *p = k->heap[0]->place;

        if (p->map == &k->barriers)
            kv_barrier_late(k, k->heap[0]);
        kv_wait_drop(k, k->heap[0]);
        kv_place_tidy(p);
        kv_answer(k, &a, "timeout");
    }
}

/* ---- life ---- */

void kv_forget(struct kv *k, uint32_t task)
{
    kv_told_forget(k, task);
    for (;;) {
        struct kv_task *t = (struct kv_task *)map_find(&k->tasks, &task, sizeof(task));
        struct kv_place *p;

        if (!t)
            return;
        p = t->first->place;
        kv_wait_drop(k, t->first);
        kv_place_tidy(p);
    }
}

static void kv_forget_all(struct kv *k)
{
    struct map_node *next;

    kv_told_forget_all(k);
    for (struct map_node *node = map_next(&k->tasks, NULL); node; node = next) {
        next = map_next(&k->tasks, node);
        kv_forget(k, ((struct kv_task *)node)->task);
    }
}

static void erase_prefix(struct kv *k, const char *prefix)
{
    size_t n = strlen(prefix);
    struct map_node *next;

    for (struct map_node *node = map_next(&k->keys, NULL); node; node = next) {
        next = map_next(&k->keys, node);
        if (node->key_n >= n && memcmp(node->key, prefix, n) == 0 &&
            ((struct kv_place *)node)->value) /* others are only waited for */
            kv_erase(k, (struct kv_place *)node);
    }
}

/* What tasks put under "pmi/" are addresses, and wrong in the next generation; other keys are the
 * job's own and stay. Requests of tasks that are being stopped are answered by nobody. */
void kv_generation(struct kv *k)
{
    kv_forget_all(k);
    erase_prefix(k, "pmi/");
    kv_changed(k, &(struct kv_change){ 0 });
}

static int restore_key(struct kv *k, const struct kv_change *c)
{
    struct kv_place *p = kv_find_key(k, c->key);

    if (c->value)
        return kv_store(k, c->key, c->value);
    if (p)
        kv_erase(k, p);
    return 0;
}

/* The log of the last master, replayed: a value, an erased key, a new generation (neither key nor
 * requests), and the requests that were carried out, so that their repetition is recognized. */
int kv_restore(struct kv *k, const struct kv_change *c)
{
    int r = c->key ? restore_key(k, c) : 0;

    if (!c->key && c->n_done == 0) {
        kv_told_forget_all(k);
        erase_prefix(k, "pmi/");
    }
    for (size_t i = 0; i < c->n_done && r == 0; i++) {
        r = kv_told_reserve(k, c->done[i].task);
        kv_told_done(k, &c->done[i]);
    }
    return r;
}

void kv_clear(struct kv *k)
{
    kv_told_forget_all(k);
    erase_prefix(k, "");
}

int kv_each(const struct kv *k,
            int (*fn)(void *arg, const struct kv_word *key, const struct kv_word *value), void *arg)
{
    int r = 0;

    for (struct map_node *node = map_next(&k->keys, NULL); node && r == 0;
         node = map_next(&k->keys, node)) {
        const struct kv_place *p = (const struct kv_place *)node;

        if (p->value)
            r = fn(arg, &(struct kv_word){ node->key, node->key_n },
                   &(struct kv_word){ p->value, p->value_n });
    }
    return r;
}

int kv_new(const struct kv_events *on, struct kv **ret, struct err *err)
{
    struct kv *k = calloc(1, sizeof(*k));

    if (!k)
        return err_oom(err);
    k->on = *on;
    *ret = k;
    return 0;
}

struct kv *kv_free(struct kv *k)
{
    if (!k)
        return NULL;
    kv_forget_all(k);
    erase_prefix(k, "");
    map_done(&k->keys);
    map_done(&k->barriers);
    map_done(&k->tasks);
    map_done(&k->told);
    free(k->heap);
    free(k);
    return NULL;
}
