/* handshake.h - the connection to the master: Hello and Welcome. Fibers only. */
#pragma once
#include "agent.pb-c.h"
#include "agent/link/join.h"
#include "wire/channel.h"

struct agent;
struct relay;
struct report;

struct agent_link {
    struct join join;         /* where the master is, and the key */
    struct channel *channel;  /* NULL: none */
    char host[64];            /* what others reach our tasks by */
    Agent__ToAgent *welcome;  /* the last one; NULL: none yet */
    int64_t lease, heartbeat; /* ms, as in the welcome; lease 0: a lost master does not come back */
    int64_t said_hello;       /* loop's clock, as the next one */
    int64_t last_ping;        /* a Welcome is the first */
    bool hopeless;            /* retrying is pointless … */
    bool refused;             /* … since the master has given us up */
    struct report *report;    /* agent_report.c */
    struct relay *relay;      /* kv_relay.c; NULL: no task has asked yet */
};

/* One try at link.join: dials, says what we have, and is welcomed. */
int handshake_master(struct agent *a, int64_t deadline, struct err *err);
/* The master's next message, the caller's: 1, or 0 when it has hung up. */
int handshake_next(struct agent *a, int64_t deadline, Agent__ToAgent **ret, struct err *err);
void handshake_part(struct agent *a); /* the connection is of no use any more */
/* Gives pages of code that was run once back to the kernel. Any thread. */
void handshake_forget_code(void);
