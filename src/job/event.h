/* event.h - what happened to a job, as records: the events log is JSON Lines of these.
 *
 * One record is one line: {"seq": 7, "t": 1763274830123, "event": "task", "task": "worker:1",
 * "state": "RUNNING", …}. `t` is milliseconds since 1970. Readers are history.h (status, past jobs)
 * and engine_restore() (a new master), which counts lines only up to one with "rest": true: there
 * everything was decided that had begun. Unknown events and keys are to be ignored. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>

/* Bytes of a record, without its newline. Readers of the log skip a longer one. */
#define EVENT_LINE_MAX ((size_t)1 * MIB)

enum event_kind {
    EVENT_JOB,  /* job state: state, reason, generation. The first one (NEW) says what the job is:
                 * job, name, user, platform, framework, roles: [{name, count, procs, decides,
                 * side}]; FINISHING says how it will end: final, exit, by_task, text */
    EVENT_TASK, /* task state: task, state, generation, attempt; agent from GRANTED on; ports when
                 * READY; pid, ready when RUNNING; code, class, stopped when it ended */
    EVENT_FAILURE, /* a failed task, classed: task, class, code, signal, when, generation, attempt,
                    * text, lines, hint, counted; then (what follows: policy_action_name()), gone
                    * (with its container) */
    EVENT_RESTART, /* task or gang: what, attempt/generation, used, max, delay, reason; young: how
                    * often in a row it died soon */
    EVENT_GANG,   /* step (asks, forms, back-off, returns), reason, generation, have, want, delay */
    EVENT_AGENT,  /* agent up, leaving, lost or saved: agent, state, container, node, host, reason;
                   * output: [{task, first, last}] attempts whose output is not known to be saved
                   * there, and why; made by the master, so that its successor can recognize its
                   * agents */
    EVENT_MASTER, /* first record of each master's part of the log: attempt, address; its own */
    EVENT_CONTAINER, /* what no task's state tells: task (its first), state (LEAVING, GONE), class
                      */
    EVENT_REQUEST,   /* a person's wish: what (stop, kill, restart, scale), task, role, count, who;
                      * grace of a stop */
    EVENT_PROGRESS,  /* task, step, total, metrics. In the log the first of each start, the last,
                      * and some between (engine_events.c); to a follower of the job one a second per
                      * task, without a number */
    EVENT_READY,     /* a task became ready: task */
    EVENT_PHASE, /* how far the start has come: name, who (was waited for); made by the master */
    EVENT_NOTE,  /* a sentence for people: text, level; unsaved: results could not be saved;
                  * published: the version of a model that the job's output became;
                  * missing: output of so many task attempts is not known to be saved;
                  * avoid, lift: a node that gets no more containers, or may have some again */
    EVENT_TASK_NOTE, /* a sentence of a task's own (YDL_SOCKET): task, text */
    EVENT_STORY,     /* the first failure, decided at the end: as EVENT_FAILURE */
    EVENT_END,       /* last record: state, exit, whose (task), text, unsaved */
    EVENT_SUMMARY,   /* everything so far, for a reader that begins there; without a number, at the
                      * beginning of a segment (engine_summary.c): what, and more */
    EVENT_KINDS_
};
const char *event_name(enum event_kind k);

/* Why a task is no longer running; the order of the rows in the policy table. */
enum fail_class {
    FAIL_NONE,   /* exit code 0 */
    FAIL_EXIT,   /* its own exit code */
    FAIL_SIGNAL, /* a signal nobody of us sent */
    FAIL_MEMORY, /* out of memory: kernel, agent's watch, or NodeManager */
    FAIL_START,  /* could not be started: no such command, not executable, environment too large */
    FAIL_FILES,  /* its files could not be put in place */
    FAIL_PORT,   /* its port could not be reserved, or was taken */
    FAIL_DISK,   /* the disk is full or broken */
    FAIL_NOT_READY, /* not ready within its time */
    FAIL_LOG_LIMIT, /* wrote more output than allowed */
    FAIL_NODE,      /* node, container or agent lost */
    FAIL_PREEMPTED, /* taken back by the cluster */
    FAIL_PERSON,    /* killed by a person or by YARN on a person's behalf */
    FAIL_IMAGE,     /* its container image is not available (last: agents send the number) */
    FAIL_CLASSES_
};
const char *fail_name(enum fail_class c); /* "out of memory" */
const char *fail_key(enum fail_class c);  /* "memory", as in JSON */
int fail_from_key(const char *key, enum fail_class *ret);

/* Builds one line. Begin, add fields, end; an allocation failure is remembered and returned by
 * event_end(), which then leaves nothing of the line. Strings may be any bytes: what is not UTF-8
 * is replaced. */
struct event {
    struct buf *out;
    size_t start; /* of the line in `out` */
    int bad;
};
void event_begin(struct event *e, struct buf *out, uint64_t seq, int64_t t, enum event_kind k);
/* The same of a line that is not in the log, and so has no number. */
void event_begin_live(struct event *e, struct buf *out, int64_t t, enum event_kind k);
void event_str(struct event *e, const char *key, const char *value); /* NULL value: left out */
void event_strn(struct event *e, const char *key, const char *value, size_t n);
void event_int(struct event *e, const char *key, int64_t value);
void event_num(struct event *e, const char *key, double value);
void event_bool(struct event *e, const char *key, int value);
void event_ports(struct event *e, const char *key, const uint16_t *ports, size_t n);
void event_json(struct event *e, const char *key, const json_t *value); /* NULL value: left out */
int event_end(struct event *e);

/* The number of a record, which stands first in its line. False when there is none. */
bool event_number(const char *line, size_t n, uint64_t *ret);
