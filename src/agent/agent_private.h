/* agent_private.h - one agent as a whole: what was asked of it, its life, and one part for each
 * file that keeps something. A part is declared in the header of its file and changed by that file
 * alone, unless it says otherwise there; others read it. Everything runs on the loop's thread. */
#pragma once
#include "agent/agent.h"
#include "agent/agent_leave.h"
#include "agent/container_gpus.h"
#include "agent/dirs.h"
#include "agent/link/fence.h"
#include "agent/link/handshake.h"
#include "agent/link/master_lookup.h"
#include "agent/output/logrotate.h"
#include "agent/platform/agent_platform.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/conda_activate.h"
#include "agent/tasks/freeze.h"
#include "agent/tasks/limits.h"
#include "agent/tasks/measure.h"
#include "agent/tasks/ports.h"
#include "agent/tasks/reap.h"
#include "agent/tasks/task_start.h"
#include "agent/tasks/task_stop.h"
#include "agent/tree_remove.h"
#include "loop/loop.h"
#include <uv.h>

struct agent_container;
struct files;
struct follow;
struct spawner;

/* How it ends, and who may end it: agent.c, and at_client.c for the signal. */
struct agent_life {
    struct fiber *main;
    uv_signal_t signals[3];
    int signal;      /* the one that told us to leave; 0: none */
    int broken;      /* negative errno: we cannot go on … */
    char why[200];   /* … and why */
    struct err *err; /* why it ends, for whoever runs us */
};

struct agent {
    const struct agent_options *opt;
    const struct agent_platform *platform;
    struct agent_home home;
    struct agent_container *container; /* for platform/ only; NULL: on this machine */
    const Agent__JobFacts *facts;      /* of link.welcome; NULL before the first one */
    struct loop *loop;
    struct spawner *spawner;
    struct ports ports; /* the range that tasks get theirs from */

    struct agent_life life;
    struct agent_dirs dirs;
    struct agent_gpus gpus;
    struct agent_remover remover;
    struct agent_leave leave;

    struct agent_link link;
    struct agent_lookup lookup;
    struct agent_fence fence;

    struct agent_tasks tasks;
    struct files *files; /* task_files.c; NULL: no archive was unpacked */
    struct agent_conda conda;
    struct agent_spec spec;
    struct agent_reap reap;
    struct agent_stop stop;
    struct agent_freeze freeze;
    struct agent_limits limits;
    struct agent_measure measure;

    struct follow *follow; /* output_follow.c; NULL: nobody reads output */
    struct agent_logrotate logrotate;
    struct fiber *mirror; /* tensorboard_mirror.c; NULL: no directory is copied */
};

/* Answers a ping of the master. */
void agent_pong(struct agent *a, const Agent__Ping *ping);
/* Memory or the channel is gone: everything ends. The first reason is kept; `what` is copied. */
void agent_break(struct agent *a, int code, const char *what);
