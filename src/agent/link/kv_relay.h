/* kv_relay.h - requests of tasks to the job's key-value store, which the master has. */
#pragma once
#include "agent.pb-c.h"
#include "agent/socket/kvline.h"
#include "base/buf.h"

struct agent;
struct agent_task;

/* One request and its answer's words in `ret` (each with its length before it: relay_next()).
 * -ECONNABORTED when nobody can answer any more. Fibers only: waits for the master. */
int relay_ask(struct agent_task *t, const struct kvline_word *words, size_t n, struct buf *ret);
bool relay_next(struct view *answer, struct kvline_word *ret); /* borrows from `answer` */
void relay_answer(struct agent *a, const Agent__KvReplies *m);
void relay_again(struct agent *a); /* repeats requests without an answer: there is a new channel */
void relay_stop(struct agent *a);  /* whoever waits gets -ECONNABORTED */
