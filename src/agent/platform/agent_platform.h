/* agent_platform.h - what differs between the places that an agent runs in: a container of YARN,
 * beside the client, or this machine. Chosen once, when the agent starts; nothing else asks which
 * it is. Loop thread. */
#pragma once
#include "agent.pb-c.h"
#include "agent/environ.h"
#include "base/err.h"
#include "base/str.h"

struct agent;
struct agent_options;
struct agent_task;
struct remote;
struct session;
struct session_options;

/* Where the agent is: set by join(). All are borrowed, until done(). */
struct agent_home {
    const char *own;     /* the directory for our own things, absolute */
    const char *dir;     /* where tasks run; NULL: each in a directory of its own */
    const char *log;     /* where output belongs; NULL: below what is ours */
    const char *id;      /* the container's id, which is unique; NULL: none */
    const char *node;    /* this machine's name in the cluster; NULL: its host name */
    const char *staging; /* the job's directory in HDFS, where each master says its address; NULL:
                            there is one master only */
};

struct agent_platform {
    bool unpacks;      /* what the job brought along is unpacked into home.dir */
    bool successors;   /* agents may succeed each other in the same directories: output is named as
                          YARN's pages show it, and what a successor must know is kept */
    bool saves;        /* nothing stays here: results are always saved elsewhere */
    bool saves_lost;   /* … and output even when the master is lost */
    bool told_by_rm;   /* whoever ends us by a signal tells the master why */
    bool cut_off;      /* tasks must end when the cluster has given this node up */
    bool cluster_name; /* others reach tasks by home.node, where that has an address */
    bool cluster_fs;   /* a path without a scheme is on the cluster */
    int64_t signal_grace; /* ms for tasks to end after a signal to us; 0: the usual */

    /* Whose we are: fills link.join and home. done() is needed in any case. */
    int (*join)(struct agent *a, struct err *err);
    void (*done)(struct agent *a);
    /* Before the first dial. Fibers only. NULL: nothing is to be done. */
    int (*begin)(struct agent *a, struct err *err);
    /* Once the directories are there. */
    int (*set_up)(struct agent *a, struct err *err);
    /* Newer tokens for tasks and for us. NULL: they have none. */
    void (*tokens)(struct agent *a, const Agent__Tokens *m);
    /* Has home.dir been removed? NULL: nobody removes it. */
    bool (*gone)(const struct agent *a);
    /* A task's variables besides the job's: an image's own override `weak` ones. */
    int (*env)(const struct agent_task *t, struct env *weak, struct env *e);
    /* What a container image sees besides the task's own directories; -ENOMEM. */
    int (*mounts)(const struct agent *a, struct strs *to);
    /* A session with the cluster, the caller's; none when `uri` needs none. `o` is filled. */
    int (*session)(const struct agent *a, const char *uri, struct session_options *o,
                   struct session **ret, struct err *err);
    /* When the job began, in ms by the clock of its files; 0: unknown. Fibers only. */
    int64_t (*job_began)(const struct agent *a, const struct remote *remote);
    /* At the end. `master_gone`: nobody else would remove it. Fibers only. */
    void (*remove_own)(struct agent *a, bool master_gone);
};

extern const struct agent_platform agent_on_yarn, agent_at_client, agent_on_machine;

const struct agent_platform *agent_platform_of(const struct agent_options *o);
