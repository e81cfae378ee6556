/* agents.h - the master's agents: who they are, their connections, and what they save at the end.
 * Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include "base/err.h"
#include "loop/fiber.h"
#include "master/outbox.h"
#include "platform/platform.h"
#include <stdbool.h>
#include <stdint.h>

/* An agent that says nothing for so long is lost. It is told so in its Welcome: on a node that is
 * cut off it stops its tasks before this time is over, so that they never run beside their
 * replacements (src/agent/link/fence_clock.h has the arithmetic). */
#define AGENTS_SILENCE_MS 9000

struct agent_conn;
struct channel;
struct engine;
struct master;
struct sock;
struct visitor;

/* Which agent it is, as its Hello says. */
enum agent_coming {
    AGENT_NEW,
    AGENT_RESTARTED, /* the one before it, in the same container, has died */
    AGENT_BACK,      /* had lost its connection, to us or to a master before us */
};

struct agent_conn { /* an agent, from its grant to its loss */
    struct master *master;
    uint32_t number;
    struct channel *channel; /* NULL while it is not connected */
    char host[64], node[128];
    char *container; /* its name; also when that is gone. NULL: it has none, or none yet */
    char ip[64]; /* where its connection comes from; empty before the first, and on a Unix socket */
    int64_t heard; /* loop time of its last message */
    uint64_t ping;
    uint64_t answered; /* the newest of its pongs over this connection; 0: none */
    struct numbers prepare, start, stop, drop;
    int64_t stop_grace;  /* of everything in `stop` */
    uint64_t credit_due; /* bytes of output that were delivered and may come again */
    uint64_t spec_sent;  /* which specification it has (form.id); 0: none */
    bool queued, lost, credited;
    bool given_up; /* it has been silent for too long; it counts as lost when its container is gone
                    */
    bool start_waits;  /* outbox_pace.c */
    bool leaving;      /* was told to */
    bool asked;        /* was told that the job has ended, and to save what its tasks left */
    bool saved;        /* … and has done so */
    bool results_left; /* … but for results: it was ended before it could save them */
    bool output_saved; /* what its tasks wrote is: no task starts there any more */
    uint64_t ack_at;   /* it leaves when a copy has so much of the journal: agents_save.c */
    bool adopted;      /* of an earlier master's, and not here yet */
    bool described;    /* the cluster's description borrows its host and node */
    bool used;         /* agents_forget() */
    unsigned readers;  /* connections that still have it */
    bool knows_owners; /* of sockets on its machine: own_peer.c */
    enum agent_coming comes;
};

struct agents {
    struct agent_conn **v; /* that there are, in the order of their numbers */
    uint32_t n, cap;
    struct admission *listener; /* where they come */
    struct group readers;       /* of what they say now */
    struct stream_tls *tls;
    bool hung_up; /* they are not listened to any more */
};

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
/* It has saved what its tasks left; `results`: these too. Only the first time counts. */
void agents_tell_saved(struct agent_conn *a, bool results);
/* It has said what it saved, and leaves when that is written down (SavedAck). */
void agents_ack_later(struct agent_conn *a);
/* The journal has all that was said: from here on only the copy is waited for. */
void agents_ack_told(struct master *m);
void agents_ack(struct master *m); /* the copy has more than before */
/* It is gone: if it was to save something and did not, people are told so. */
void agents_unsaved(struct master *m, uint32_t number, const char *why);
/* One that a master before us had told to leave has ended. */
void agents_leaver_gone(struct master *m, uint32_t number, enum platform_left how, const char *why);
/* At the end of the job: reports results that were lost before they could be saved. */
void agents_tell_lost_results(struct master *m);

/* ---- inbox.c ---- */
/* What one message means. A negative result ends the agent's connection. */
int inbox_message(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err);
/* A task is prepared, and stands in the registry if it is to: the engine hears it, if it is so
 * still. */
int inbox_prepared(struct agent_conn *a, uint32_t task, const uint16_t *ports, unsigned n,
                   struct err *err);

/* What an agent has that comes back, by its Hello. */
int inbox_held(struct agent_conn *a, const Agent__Hello *h, struct err *err);
