/* prepare.h - Prepare and Drop: what a task needs before it can be started. */
#pragma once
#include "agent.pb-c.h"
#include "agent/tasks/ports.h"
#include "base/err.h"
#include "job/event.h"

struct agent;
struct agent_task;

#define AGENT_PORTS_MAX 4 /* of one task */

struct task_prep { /* as the last Prepare said */
    bool done;     /* all of it is there: it may be started */
    struct port ports[AGENT_PORTS_MAX];
    size_t n_ports;
    bool share_ports;  /* the program binds beside us */
    uint32_t slot;     /* tasks of one slot may share a limit of memory */
    char *gpus;        /* numbers as in CUDA_VISIBLE_DEVICES; "" for none */
    bool gpus_unknown; /* it was given some of a kind that we cannot name */
    char *scratch;     /* prefix of the paths of its files */
    char *work;        /* where it runs */
    char *out;         /* YDL_OUT; NULL: we do not set it */
    bool has_work;     /* a directory of its own is there, … */
    bool removing;     /* … or being removed: tree_remove.c */
};

int prepare_name(struct agent_task *t, struct err *err); /* a new one: paths of the above */
/* Prepares all that `m` names, in a fiber, and reports each. Takes `m` over, also when it fails. */
int prepare_begin(struct agent *a, Agent__ToAgent *m, struct err *err);
/* Ports and files, its directory soon; nothing while it lives. */
void prepare_drop(struct agent_task *t);
/* A file of the task's own, "…/tasks/worker-3.WHAT", the caller's; NULL when out of memory. */
char *prepare_path(const struct agent_task *t, const char *what);
/* Removes what an earlier attempt left and the next would take for its own. */
int prepare_clear(struct agent_task *t, struct err *err);
/* The class of a failure to make files; r: negative errno. */
enum fail_class prepare_file_class(int r);
void prepare_done(struct agent_task *t); /* ports and names; for good */
