/* registry_entry.h - the job in YARN's registry, and names for its tasks. Private to the master.
 *
 *     /users/USER/services/ydl/NAME                      the job: where its API and its page are
 *     /users/USER/services/ydl/NAME/components/ctr-…     a task, by its container
 *     /users/USER/services/CLASS/NAME                    for the framework's own clients
 *
 * There is a registry where the configuration says in which ZooKeeper it is. The job does not fail
 * by it, and waits for it in one case only: where RegistryDNS serves the cluster, and a task may be
 * restarted alone, tasks are told each other's names (ROLE-RANK.NAME.USER.DOMAIN) instead of
 * numbers, so that one that moves to another machine need not be told to the others. Then a task is
 * not ready before its name can be looked up on our machine, for some seconds at most: otherwise
 * numbers have to do.
 *
 * All that is there goes when the job ends, by our hand; and what names tasks also when we die. A
 * fiber of its own does it all: nothing here waits, but for registry_entry_stop(). */
#pragma once
#include "master/yarn/master_yarn_private.h"

struct enrolled; /* opaque */
extern const struct names_ops registry_ops;

/* ---- registry_entry.c: the job ---- */
int registry_entry_start(struct master *m,
                         struct err *err);  /* nothing where there is no registry */
void registry_entry_end(struct master *m);  /* everything is to be taken away … */
void registry_entry_stop(struct master *m); /* … and has been. Fibers only */
/* Adds the path to the job's status, once it is there. */
int registry_entry_add_status(const struct master *m, json_t *status, struct err *err);

/* ---- registry_tasks.c: its tasks ---- */
/* A task is prepared. True when its name is to be known first: inbox_prepared() follows then. */
bool registry_tasks_before_ready(struct agent_conn *a, uint32_t task, const uint16_t *ports,
                                 unsigned n);
/* It is to be prepared once more: a report that is held until its name is known is dropped. */
void registry_tasks_prepare_again(struct master *m, uint32_t task);
/* A generation is about to be formed: are all tasks known by names? Tells the engine. */
void registry_tasks_decide(struct master *m);
/* What others reach a task by, as the engine has been told. */
const char *registry_tasks_host(const struct master *m, const struct task *t, const char *number,
                                char out[NAMES_TEXT]);
