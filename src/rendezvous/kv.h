/* kv.h - the job's key-value store and barriers, for user code and PMI. No I/O.
 *
 * A request is a list of words; its answer comes once, at once or later, through on_reply:
 *     put KEY VALUE             → ok
 *     putnew KEY VALUE          → ok | exists VALUE  (the value it has; nothing was put)
 *     get KEY                   → value VALUE | none
 *     wait KEY [MS]             → value VALUE | timeout
 *     del KEY                   → ok | none
 *     list [PREFIX]             → keys K1 K2 …
 *     add KEY NUMBER            → value SUM          (an atomic counter, from 0)
 *     barrier NAME [COUNT [MS]] → ok | timeout       (COUNT: how many must come; the role's tasks
 *                                                     when left out; reusable)
 *     progress STEP [TOTAL] [NAME=NUMBER …] → ok
 *     scale ROLE COUNT          → ok                 (the role has so many tasks from now on)
 *     note TEXT                 → ok                 (a sentence for the job's events)
 *     leaving ROLE …            → value TASKS        (those of the roles that are to leave their
 *                                                     containers: "TASK,ATTEMPT,WHY,MS,NODE …",
 *                                                     WHY: node, avoided or container; MS: until
 *                                                     they are taken away, -1: not known. Who asks
 *                                                     moves them; see src/master/leaving.c)
 *     move TASK ATTEMPT         → ok                 (this start of the task ends, and the next one
 *                                                     is in another container)
 *     anything else             → error SENTENCE
 * Keys: 1 to 256 bytes; values up to 1 MiB; 64 MiB and 100,000 keys in all. A time of 0 ms does not
 * wait; without MS a request waits until its task ends or the generation does. In a barrier each
 * task counts once: when it comes again, its first request is answered with an error and the new
 * one stands in its place (a client that gave up may try again). A request that comes again under
 * the same id, from an agent that lost its connection, is not carried out again: it waits on as it
 * did, or gets the same answer once more; also from a store that was made by kv_restore(). A task
 * that comes with another COUNT than the waiting ones gets an error. A metric that is not finite
 * becomes null. Loop thread only. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>

struct kv; /* opaque */

struct kv_word {
    const void *p;
    size_t n;
};
#define KV_WORDS_MAX 64

/* A request that was carried out, and its answer. */
struct kv_done {
    uint32_t task;
    uint64_t id;
    bool has_number; /* the answer is "value NUMBER"; otherwise it is "ok" */
    int64_t number;
};

/* What a store must be told to be the same; all borrowed. A key gets a value or, with `value` NULL,
 * loses it; and requests are answered. One of both may be missing. With neither, the generation
 * changed. All of a change or nothing of it may be repeated: half a barrier would never open. */
struct kv_change {
    const struct kv_word *key, *value;
    const struct kv_done *done;
    size_t n_done;
};

/* A barrier at which a wait has timed out. */
struct kv_late {
    struct kv_word name;
    const struct kv_done *came; /* who is there, with the one that gives up */
    size_t n_came, need;
    bool usual; /* all tasks of the role must come */
};

/* Callbacks: the effects of a request. Called inside kv_request() and kv_on_time(), which they must
 * not call again; the words are borrowed. */
struct kv_events {
    void *user;
    void (*on_reply)(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n);
    void (*on_progress)(void *user, uint32_t task, int64_t step, int64_t total,
                        const char *metrics_json);       /* "{}" when there are none */
    unsigned (*on_role_size)(void *user, uint32_t task); /* tasks in the role of `task`; 0: it is
                                                          * not one of them any more */
    /* May be NULL: nobody can scale. A sentence says why it was refused. */
    int (*on_scale)(void *user, uint32_t task, const char *role, unsigned count, struct err *err);
    /* May be NULL: none ever leaves. -ENOMEM. */
    int (*on_leaving)(void *user, const struct kv_word *roles, size_t n, struct buf *out);
    /* May be NULL: nobody can move. A sentence says why it was refused. */
    int (*on_move)(void *user, uint32_t task, const char *which, uint32_t attempt, struct err *err);
    /* May be NULL. A sentence says why it was refused. */
    int (*on_note)(void *user, uint32_t task, const char *text, struct err *err);
    /* May be NULL. Told in order, before anybody is answered: who repeats all of it by kv_restore()
     * has the same keys and values, and answers the same requests. */
    void (*on_change)(void *user, const struct kv_change *c);
    void (*on_late)(void *user,
                    const struct kv_late *l); /* may be NULL; once until all have left */
};

/* `on` is copied. *ret is the caller's: kv_free(), which answers nobody. */
int kv_new(const struct kv_events *on, struct kv **ret, struct err *err);
struct kv *kv_free(struct kv *k); /* NULL is fine; always NULL */
AUTO_DEFINE(kv, struct kv *, kv_free);
#define AUTO_KV AUTO(kv) struct kv

/* A request; all borrowed for the call. */
struct kv_ask {
    uint32_t task;
    uint64_t id; /* the asker's own */
    const struct kv_word *words;
    size_t n;
    int64_t now;
};
/* -ENOMEM: nothing was done and nothing will be answered. A bad request is answered, not an
 * error. */
int kv_request(struct kv *k, const struct kv_ask *a, struct err *err);
void kv_forget(struct kv *k, uint32_t task); /* it ended: its waits are dropped unanswered */
/* A new generation: everybody that waits is dropped and barriers are emptied; keys stay unless they
 * begin with "pmi/". */
void kv_generation(struct kv *k);
/* Roles have gained or lost tasks: barriers without a COUNT wait for as many as there are now. */
void kv_resized(struct kv *k);
int64_t kv_deadline(const struct kv *k); /* INT64_MAX: none */

/* As on_change told it; nobody is answered, nothing is told. -EINVAL, and nothing changed, for what
 * cannot have been told; -ENOMEM. */
int kv_restore(struct kv *k, const struct kv_change *c);
void kv_clear(struct kv *k); /* all keys and answers; nobody is told */
/* Calls `fn` for every key; what is not 0 ends it and is returned. */
int kv_each(const struct kv *k,
            int (*fn)(void *arg, const struct kv_word *key, const struct kv_word *value),
            void *arg);
/* The same for every task's answers that may be asked for once more, oldest first. */
int kv_each_done(const struct kv *k, int (*fn)(void *arg, const struct kv_done *done, size_t n),
                 void *arg);
void kv_on_time(struct kv *k, int64_t now);
