/* local_platform.h - the embedded platform: agents are child processes of the master, on this
 * machine.
 *
 * Tasks are spread over `nodes` pretended machines (one without --nodes), with one agent for each
 * up to AGENT_TASKS_MAX tasks, and more agents beyond. Memory and GPUs that were asked for hold a
 * job back while other local jobs have them; nothing else does. */
#pragma once
#include "platform/platform.h"

struct local_options {
    struct loop *loop;
    const struct spec *spec;
    const char *node_program; /* path of ydl-node */
    const char *join_file;    /* 0600; where the agents find address, job and key */
    const char *state_dir;    /* $XDG_STATE_HOME/ydl: the ledger of what jobs hold is in it */
    const char *job_dir;      /* the job's, in it */
    const char *log_path;     /* what agents say on standard error is appended to it */
    const char *host_name;    /* of this machine */
    unsigned nodes;
};

/* `opt` and what it points to are borrowed and outlive the platform. *ret is the caller's:
 * ops->free(). */
int local_new(const struct local_options *opt, const struct platform_events *on,
              struct platform **ret, struct err *err);

/* The memory and GPUs of this machine, for checks before a job starts. */
struct local_machine {
    uint64_t memory; /* bytes, within the cgroup's limit */
    unsigned cpus, gpus;
};
void local_machine(struct local_machine *ret);
