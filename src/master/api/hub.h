/* hub.h - output of tasks and events, to whoever reads them. See hub.c. Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include "loop/fiber.h"
#include "wire/http.h"

struct agent_conn;
struct hub; /* opaque */
struct master;

struct follower; /* one reader of output and events */
struct follow_options {
    const char *tasks; /* "worker:1,ps" ; NULL: all */
    bool out, err, events, logs, follow, stop_when_gone;
    bool plain;        /* what was written and nothing else: for one stream of one task */
    uint64_t tail;     /* only so many bytes of its end, for who does not follow; 0: all */
    int64_t silent_ms; /* for an agent that sends nothing to who does not follow; 0: 3 s */
};
/* Streams to `c` until the job has ended and everything was sent, or the client goes. */
int hub_stream(struct master *m, struct http_call *c, const struct follow_options *o,
               struct err *err);
void hub_output(struct agent_conn *a, const Agent__OutputPiece *piece);
void hub_task_started(struct master *m, uint32_t task);
/* The same for one that its agent has. */
void hub_task_held(struct master *m, const Agent__HeldTask *h);
/* Before hub_task_started(): what the agent says of the task's files there. */
void hub_task_place(struct master *m, const Agent__StartedTask *s);
/* Adds "saved_files" to tasks of a status document: see struct feed. */
int hub_add_saved(struct master *m, json_t *status, struct err *err);
/* What a task that is being prepared has written in other places. */
void hub_base(const struct master *m, uint32_t task, uint64_t *ret_out, uint64_t *ret_err);
/* The start, counted from 1, that its file there begins with; 0: the one that comes. */
uint32_t hub_began(const struct master *m, uint32_t task);
/* An agent's connection is a new one: readers of its tasks go on where they were. */
void hub_follow_again(struct agent_conn *a);
/* It has ended, having written so much in all. */
void hub_task_ended(struct master *m, uint32_t task, uint64_t out_bytes, uint64_t err_bytes);
/* It was started under a master before us. */
void hub_task_ran(struct master *m, uint32_t task);
/* Its agent is gone: what it could not send is read from the files. */
void hub_task_lost(struct master *m, uint32_t task);
void hub_wake(struct master *m); /* there are new events */
/* Waits until the readers have everything, for as long as they go on reading. */
void hub_drain(struct master *m);
int hub_new(struct hub **ret, struct err *err);
struct hub *hub_free(struct hub *h);
