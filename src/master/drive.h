/* drive.h - what the engine wants, carried out; and what becomes of slots. Loop thread only. */
#pragma once
#include "base/json.h"
#include "job/engine/engine.h"
#include "job/spec/spec.h"
#include "platform/platform.h"
#include "rendezvous/kv.h"

struct agent_conn;
struct master;

struct slot_info {
    uint32_t agent; /* 0: none */
    int64_t asked;  /* when it was asked for, and has not been served; 0: nothing is wanted */
    uint32_t *gpus;
    size_t n_gpus;
    /* Its container is gone, and its agent, which is not, ends its tasks (lost.c). */
    int64_t lost_until; /* the engine hears of it then; 0: it is not so */
    uint32_t living;    /* tasks that have not ended yet */
    enum fail_class lost_as;
    char *lost_why;
    /* The platform takes its container back (leaving.c). */
    int64_t taken_at; /* then; 0: it does not */
    int64_t leave_at; /* its tasks are told to end then at the latest; INT64_MAX: they have been */
};

struct slots {
    struct slot_info *v; /* by the engine's numbers */
    uint32_t n;
    uint32_t n_lost; /* whose loss the engine has not heard of */
};

/* What will be taken away. */
struct leaving_node {
    char *name;
    int64_t until; /* 0: not known */
    bool told;     /* it is in the log */
};
struct leaving {
    struct leaving_node *v;
    size_t n;
    uint32_t n_waiting;            /* containers that are taken back and still used */
    int64_t asked[SPEC_ROLES_MAX]; /* when somebody asked last which of a role's are to leave */
};

/* The end of the job: agents save what tasks left. */
struct saving {
    int64_t until;       /* all tasks have ended, agents save what they left; 0: not yet */
    int64_t ask_by;      /* … and are asked to when a copy has the record of it, or then … */
    uint64_t ask_behind; /* … which ends here in the journal */
    uint32_t acks;       /* so many agents wait for a SavedAck */
    char *unsaved;       /* why not all that tasks left could be saved, first of all; or NULL */
    bool told_lost;      /* what was lost with containers is among that */
};

/* ---- drive.c ---- */
/* Until the end; one that was taken over has begun already. */
int drive_job(struct master *m, bool begun, struct err *err);
void slots_done(struct slots *s);
int drive_set_slot(struct master *m, uint32_t slot, uint32_t agent, struct err *err);
/* The engine hears that a slot's container is lost. */
void drive_lost(struct master *m, uint32_t slot, enum fail_class cls, const char *text);
extern const struct platform_events drive_platform_events; /* .user is set by the master */

/* ---- kv_effects.c ---- */
extern const struct kv_events drive_kv_events;

/* ---- lost.c ---- */
/* Does the engine hear of this loss later, by drive_lost()? Its agent has been told to leave. */
bool lost_waits(struct master *m, uint32_t slot, enum fail_class cls, const char *text);
void lost_forget(struct master *m, uint32_t slot); /* it is told, or the slot is another's */
/* What an agent says whose container is lost, and when it says no more. */
void lost_task_ended(struct agent_conn *a, const struct task *t, uint32_t attempt);
void lost_hung_up(struct agent_conn *a);
int64_t lost_deadline(const struct master *m); /* INT64_MAX: none */
void lost_on_time(struct master *m);

/* ---- leaving.c ---- */
/* A node leaves the cluster, within so many ms (-1: not known); or stays after all. */
void leaving_node_news(struct master *m, const char *node, bool leaves, int64_t ms);
/* The platform takes a container back, within so many ms (-1: not known). */
void leaving_slot(struct master *m, uint32_t slot, int64_t ms, const char *text);
void leaving_forget(struct master *m, uint32_t slot); /* it has another container, or none */
int64_t leaving_deadline(const struct master *m);     /* INT64_MAX: none */
void leaving_on_time(struct master *m);
/* The answer to "leaving ROLE …" of kv.h; from now on who asks looks after these roles. -ENOMEM. */
int leaving_list(struct master *m, const struct kv_word *roles, size_t n, struct buf *out);
/* One note of an earlier master's log, parsed; and what the next one is to read. */
int leaving_restore(struct master *m, const json_t *note);
void leaving_each(const struct master *m, void (*fn)(void *arg, const char *node, int64_t until),
                  void *arg);
void leaving_done(struct master *m);

/* ---- node_faults.c ---- */
/* Something failed on this node; when that happens too often, it is avoided. */
void node_faults_node(struct master *m, const char *node, enum fail_class cls);
/* When a node may have to be let off, as asks are not served; INT64_MAX: not at all. */
int64_t node_faults_deadline(const struct master *m);
void node_faults_on_time(struct master *m);
/* One note of an earlier master's log, parsed; later, when there is a platform: tells it. */
int node_faults_restore(struct master *m, const json_t *note);
void node_faults_resume(struct master *m);
