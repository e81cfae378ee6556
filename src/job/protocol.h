/* protocol.h - version numbers of what one process says or writes and another one reads.
 *
 * A client may be older or newer than a job that it looks at, so each conversation and each file
 * carries a number (doc/reference/versions.md has the table):
 *     a file or a record of JSON has a key "format"; without it the number is 1
 *     an HTTP request to a master and each of its answers have a header "Ydl-Protocol"
 *     the agents' channel has it in Hello and Welcome
 * A number is raised only for a change that an older reader would misunderstand. Everything else is
 * an addition: a reader ignores keys, events and paths that it does not know. Pure. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include <stddef.h>
#include <stdint.h>

enum protocol {
    PROTOCOL_API,    /* client and master */
    PROTOCOL_AGENT,  /* agent and master */
    PROTOCOL_EVENTS, /* the events log: in the first record of the job and of each master */
    PROTOCOL_JOB,    /* job.json, and spec.json beside it */
    PROTOCOL_BOOT,   /* what a container is told by its credentials */
    PROTOCOL_MASTER, /* master.json */
    PROTOCOL_JOIN,   /* join.json, and cluster.json beside it */
    PROTOCOL_STORE,  /* the log of the key-value store */
    PROTOCOL_TASK,   /* a task's socket */
    PROTOCOL_SLIDER, /* internal.json of a Slider application */
    PROTOCOLS_
};

#define PROTOCOL_KEY "format"
#define PROTOCOL_HEADER "Ydl-Protocol"

/* What this program says and writes. */
int protocol_number(enum protocol p);

/* Whether this program can read a document, or talk to a peer, with this number: 0, or
 * -EPROTONOSUPPORT with a sentence and a hint. */
int protocol_check(enum protocol p, int64_t number, struct err *err);
/* The number of a document: its "format", or 1. */
int protocol_check_json(enum protocol p, const json_t *document, struct err *err);
/* The same of a record of a log (a line). One that cannot be parsed is fine: others tell that. */
int protocol_check_line(enum protocol p, const char *line, size_t n, struct err *err);

/* ---- the API's header ---- */

/* What every request and every answer carries: "Ydl-Protocol: 1\r\n". */
const char *protocol_header(void);
/* For the client: can we read an answer with this value? NULL is 1. */
int protocol_check_answer(const char *value, struct err *err);
/* For the master: can we answer a request with this value? A newer client is answered as well: it
 * sees our number in the answer, and knows more of us than we of it. */
int protocol_check_request(const char *value, struct err *err);
