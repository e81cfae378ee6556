/* kvlog.h - the key-value store of a job whose masters may die: its log and its
 * answers. Loop thread only. */
#pragma once
#include "rendezvous/kv.h"

struct master;

/* Answers of the store that wait for its log; kvanswer.c. */
struct held_answers {
    struct held_answer *first, *last;
    size_t bytes;
    bool told; /* that they did not wait */
};

/* ---- kvlog.c ---- */
/* As in struct kv_events. */
void kvlog_change(void *user, const struct kv_change *c);
int kvlog_restore(struct master *m, struct err *err); /* the store of the masters before us */
void kvlog_done(struct master *m);

/* ---- kvanswer.c ---- */
/* As in struct kv_events: outbox_reply(), once the store's log in HDFS holds what is told. */
void kvanswer_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n);
void kvanswer_send(struct master *m);  /* those that may go */
void kvanswer_moved(struct master *m); /* the log began anew, with all that is in the store */
int64_t kvanswer_deadline(const struct master *m); /* master_now(); INT64_MAX: none */
void kvanswer_on_time(struct master *m);
void kvanswer_done(struct master *m);
