/* outbox.h - what agents are told. Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"
#include "rendezvous/kv.h"

struct agent_conn;
struct master;

/* Numbers of tasks that go out together. */
struct numbers {
    uint32_t *v;
    size_t n, cap;
};
int numbers_add(struct numbers *l, uint32_t id);

struct outbox {
    struct numbers busy;     /* agents with something to be sent */
    struct numbers starting; /* agents whose Start waits for its turn */
    bool starter;            /* somebody sends to them */
};

/* ---- outbox.c ---- */
int outbox_prepare(struct master *m, uint32_t task, struct err *err);
int outbox_start(struct master *m, uint32_t task, struct err *err);
int outbox_stop(struct master *m, uint32_t task, int64_t grace, struct err *err);
int outbox_drop(struct master *m, uint32_t task, struct err *err);
void outbox_done(struct outbox *o);
void outbox_flush(struct master *m); /* sends what the calls above collected */
int outbox_welcome(struct agent_conn *a, struct err *err);
typedef void outbox_sender(struct agent_conn *a, Agent__ToAgent *msg);
/* A task that cannot be planned, or told to its agent, has failed like one whose command is
 * missing: nobody else would say so. */
int outbox_fail(struct master *m, uint32_t id, const struct err *why, struct err *err);
/* The Start messages of an agent (outbox_start.c). */
int outbox_send_start(struct agent_conn *a, outbox_sender *send, struct err *err);
void outbox_send(struct agent_conn *a, Agent__ToAgent *msg); /* one message, now */
/* As in struct kv_events. */
void outbox_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n);

/* ---- outbox_pace.c ---- */
void outbox_start_later(struct agent_conn *a);  /* its Start goes out, now or when there is room */
void outbox_start_first(struct agent_conn *a);  /* now, if it has to come before something else */
void outbox_start_forget(struct agent_conn *a); /* what waits is sent no more */
