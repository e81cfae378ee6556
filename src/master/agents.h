/* agents.h - the master's agents: who they are, their connections, and what they save at the end.
 * Part of master_private.h, which has the structures. Loop thread only. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct agent_conn;
struct channel;
struct engine;
struct master;
struct sock;
struct visitor;

/* ---- agents.c ---- */
int agents_listen(struct master *m, struct err *err);
/* Is it expected, and has not said a word yet? */
bool agents_never_here(struct master *m, uint32_t number);
void agents_watch(struct master *m); /* heartbeats; called once a second or so */
/* Writes down that it is up or lost. */
void agents_tell(struct agent_conn *a, const char *state);
/* Is it beside the client? */
bool agents_at_client(const struct agent_conn *a);
void agents_client_gone(struct master *m); /* then nobody waits for that one */
/* Its slot was given back: it has nothing to do any more. */
void agents_leave(struct master *m, uint32_t number);
void agents_refuse(struct channel *c, const char *text);
/* Reads who a new connection is of. Fibers only. */
int agents_hello(struct master *m, struct channel *c, struct agent_conn **ret, struct err *err);
/* Tells the engine something of each slot that the agent has. */
void agents_tell_slots(struct agent_conn *a,
                       int (*tell)(struct engine *e, uint32_t slot, int64_t now, struct err *err));
void agents_away(struct agent_conn *a); /* its connection is broken: the engine is told, once */

/* ---- agents_table.c ---- */
/* NULL: unknown, or gone for good. What it returns is there until the caller waits. */
struct agent_conn *agents_get(const struct master *m, uint32_t number);
int agents_expect(struct master *m, uint32_t number, struct err *err);
/* What its container is called, also when that is gone; "": it has none. */
const char *agents_container(struct agent_conn *a);
void agents_forget(struct master *m); /* those that nothing speaks of any more */
void agents_done(struct master *m);

/* ---- agents_serve.c ---- */
bool agents_may_connect(void *user, int fd); /* `user` is the master */
void agents_serve(void *user, struct visitor *v, struct sock *s);
void agents_close(struct agent_conn *a); /* its connection, if there is one */
void agents_hang_up(struct master *m);   /* no more agents, and no more words of any. Fibers only */

/* ---- agents_save.c ---- */
void agents_shutdown(struct master *m, int64_t grace);
bool agents_saved(const struct master *m); /* after that: has everybody saved what there is? */
/* One that comes when the job has ended already was not there when the others were told to go. It
 * has nothing to save, unless it is an old one. */
void agents_save_late(struct agent_conn *a);
/* Whether one that is cut off will come back, or end its container when it has saved everything. */
bool agents_will_be_heard(const struct agent_conn *a);
void agents_tell_saved(struct agent_conn *a); /* it has saved what its tasks left */
/* It is gone: if it was to save something and did not, people are told so. */
void agents_unsaved(struct master *m, uint32_t number, const char *why);
