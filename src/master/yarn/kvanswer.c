/* kvanswer.c - answers of the key-value store, held until its log in HDFS has what they tell.
 *
 *     request ──► store changes ──► kvlog ──► HDFS ──► answer
 *
 * Whoever was answered counts on it: a key that was put is there, and a barrier that one task has
 * passed is open for all, also under the next master. So an answer waits for everything that was
 * logged before it was given; that is one write to HDFS, which all that happens meanwhile shares,
 * and nothing at all when nothing has changed. HDFS does not hold the job up: when it fails, or has
 * not answered after some seconds, answers go out, and the log says that the next master may not
 * know of them. */
#include "base/log.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"

#include <string.h>

#define HOLD_MS 3000
#define BYTES_MAX (32 * MIB)

struct held_answer {
    struct held_answer *next;
    uint64_t behind; /* bytes of the store's log that must be there … */
    unsigned round;  /* … since it last began anew */
    int64_t until;
    uint32_t task;
    uint64_t id;
    size_t bytes, n;
    struct kv_word words[]; /* and their bytes */
};

static struct held_answer *copy_answer(const struct kv_word *words, size_t n)
{
    size_t size = sizeof(struct held_answer) + n * sizeof(*words);
    struct held_answer *h;
    char *at;

    for (size_t i = 0; i < n; i++)
        size += words[i].n;
    h = calloc(1, size);
    if (!h)
        return NULL;
    h->bytes = size;
    h->n = n;
    at = (char *)&h->words[n];
    for (size_t i = 0; i < n; i++) {
        if (words[i].n)
            memcpy(at, words[i].p, words[i].n);
        h->words[i] = (struct kv_word){ at, words[i].n };
        at += words[i].n;
    }
    return h;
}

static void kvanswer_send_first(struct master *m)
{
    struct held_answers *all = &yarn_of(m)->kv.held;
    AUTO_FREE struct held_answer *h = all->first;

    all->first = h->next;
    if (!all->first)
        all->last = NULL;
    all->bytes -= h->bytes;
    outbox_reply(m, h->task, h->id, h->words, h->n);
}

static void kvanswer_send_all(struct master *m)
{
    if (yarn_of(m)->kv.held.first && !yarn_of(m)->kv.held.told) {
        yarn_of(m)->kv.held.told = true;
        log_warn(LOG_MASTER, "the key-value store answers before HDFS has its log: if this master "
                             "dies now, the next one may not know what was answered");
    }
    while (yarn_of(m)->kv.held.first)
        kvanswer_send_first(m);
}

static bool kvanswer_may_go(const struct master *m, unsigned round, uint64_t behind)
{
    return yarn_of(m)->kv.unlogged || mirror_holds(yarn_of(m)->kv.mirror, round, behind);
}

void kvanswer_send(struct master *m)
{
    const struct held_answer *h;

    while ((h = yarn_of(m)->kv.held.first) && kvanswer_may_go(m, h->round, h->behind))
        kvanswer_send_first(m);
}

/* Order is kept: while one answer waits, all that come later wait behind it, even if they tell
 * nothing new. Where there is no memory to hold one, all go out at once, as after HOLD_MS. */
void kvanswer_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct master *m = user;
    struct held_answers *all = &yarn_of(m)->kv.held;
    struct held_answer *h;

    if (!all->first &&
        kvanswer_may_go(m, yarn_of(m)->kv.journal.round, yarn_of(m)->kv.journal.size)) {
        outbox_reply(m, task, id, words, n);
        return;
    }
    h = all->bytes < BYTES_MAX ? copy_answer(words, n) : NULL;
    if (!h) {
        kvanswer_send_all(m);
        outbox_reply(m, task, id, words, n);
        return;
    }
    h->task = task;
    h->id = id;
    h->round = yarn_of(m)->kv.journal.round;
    h->behind = yarn_of(m)->kv.journal.size;
    h->until = master_now(m) + HOLD_MS;
    all->bytes += h->bytes;
    *(all->last ? &all->last->next : &all->first) = h;
    all->last = h;
    master_wake(m); /* there is a deadline to be kept */
}

/* The log has begun anew, with the whole store in it: offsets in the old file mean nothing any
 * more, and everything that was answered is in the new one. */
void kvanswer_moved(struct master *m)
{
    for (struct held_answer *h = yarn_of(m)->kv.held.first; h; h = h->next) {
        h->round = yarn_of(m)->kv.journal.round;
        h->behind = yarn_of(m)->kv.journal.size;
    }
}

int64_t kvanswer_deadline(const struct master *m)
{
    return yarn_of(m)->kv.held.first ? yarn_of(m)->kv.held.first->until : INT64_MAX;
}

void kvanswer_on_time(struct master *m)
{
    if (kvanswer_deadline(m) <= master_now(m))
        kvanswer_send_all(m);
}

void kvanswer_done(struct master *m)
{
    while (yarn_of(m)->kv.held.first) {
        struct held_answer *h = yarn_of(m)->kv.held.first;

        yarn_of(m)->kv.held.first = h->next;
        free(h);
    }
    yarn_of(m)->kv.held = (struct held_answers){ 0 };
}
