/* plan.h - exactly what one task will be: arguments, environment, ports, resources.
 *
 * The same function serves `ydl plan`, which prints it with made-up addresses, and the master,
 * which carries it out: so a plan cannot lie. Pure.
 *
 * Who wins when a variable is set more than once: YDL_* is ours alone; then the role's `env`, then
 * the job's, then the framework's. What the user writes down is never replaced, not even RANK. */
#pragma once
#include "framework/framework.h"
#include "job/cluster_spec.h"
#include "job/spec/spec.h"

/* Most bytes of one argument or variable, with its NUL: Linux refuses more. */
#define PLAN_TEXT_MAX (128 * KIB)

struct plan_cache; /* opaque */

/* What an agent adds to a task's environment: paths and devices of its machine, which a plan can
 * only name. What is not known before the task starts stands as "<socket of the task>". */
struct plan_agent {
    bool yarn;       /* in a container of a cluster */
    const char *cwd; /* where tasks run that have no files of their own; NULL: not known */
};

struct plan {
    const struct spec *spec; /* complete and checked; borrowed */
    const struct framework *framework;
    const char *job; /* id */
    const char *out; /* YDL_OUT */
    const struct cluster *cluster;
    const char *server_host; /* of the rendezvous servers */
    int server_port;
    unsigned attempt;
    const char *error_file;       /* NULL: the agent sets TORCHELASTIC_ERROR_FILE */
    const char *const *inherited; /* "NAME=value", NULL-terminated: what tasks have in any case, so
                                   * that defaults do not replace it. NULL: nothing */
    const struct plan_agent *agent; /* to be shown; NULL: the agent adds it by itself */
    struct plan_cache *cache;       /* NULL: nothing is remembered from task to task */
};

/* What all tasks of one generation have in common, made at the first plan_task() and kept. One
 * cache serves one `spec` and one `cluster`: when either changes, take a new one. */
int plan_cache_new(struct plan_cache **ret); /* 0 or -ENOMEM */
struct plan_cache *plan_cache_free(struct plan_cache *c);
AUTO_DEFINE(plan_cache, struct plan_cache *, plan_cache_free);

/* What is the task's own, beyond what it inherits. */
struct plan_task {
    struct strs argv;
    struct strs env; /* "NAME=value", sorted by name; the task's variables, the role's, the job's */
};

void plan_task_done(struct plan_task *t);

#define AUTO_PLAN_TASK AUTO_DONE(plan_task_done) struct plan_task /* = { 0 } */

/* The task `rank` of `role`. Without p->agent, YDL_SOCKET, YDL_SPEC, TMPDIR, CUDA_VISIBLE_DEVICES
 * and the like are left to the agent. -EINVAL without a command, with a variable
 * that has no value, with a name or text that no environment can hold; -E2BIG past PLAN_TEXT_MAX.
 */
int plan_task(const struct plan *p, const struct spec_role *role, unsigned rank,
              struct plan_task *ret, struct err *err);

/* Appends a text of the role's, with the values that variables have for this task. -EINVAL, -E2BIG
 * past the ceiling of `out`. */
int plan_expand(const struct plan *p, const struct spec_role *role, unsigned rank, const char *text,
                struct buf *out, struct err *err);

/* The whole plan as JSON, with the addresses of p->cluster. *ret is the caller's:
 *
 *     {"job": …, "name": …, "framework": …, "experimental": bool, "servers": ["xgboost"],
 *      "gang": {"hold_ms", "retry"}, "grace_ms", "timeout_ms", "queue", "output",
 *      "roles": [{"role", "count", "procs", "memory", "cpus", "gpus", "ports", "decides", "side",
 *                 "place", "restart": {"policy", "max", "window_ms"}, "image", "label", "after",
 *                 "ready", "files", "archives",
 *                 "tasks": [{"task": "worker:0", "rank", "slot", "local_rank", "host", "node",
 *                            "ports": […], "argv": […], "env": {…}}]}]}
 *
 * What was not said is left out, except for the keys of a role up to "restart". */
int plan_json(const struct plan *p, json_t **ret, struct err *err);

/* The same for people: each role once, with what its tasks have in common, and then what differs
 * from rank to rank. Of a large role the first PLAN_RANKS_SHOWN ranks are shown. Text that is not
 * safe on a terminal is made so. */
#define PLAN_RANKS_SHOWN 16
int plan_text(const struct plan *p, struct buf *out, struct err *err);

/* Addresses for a plan that nobody carries out: every container on 127.0.0.1, on `nodes` machines
 * in turn (spec's, or one), ports counted up from the specification's range or from 10000. */
struct plan_places;                                                  /* opaque */
int plan_places_new(const struct spec *s, struct plan_places **ret); /* 0 or -ENOMEM */
struct plan_places *plan_places_free(struct plan_places *p);
AUTO_DEFINE(plan_places, struct plan_places *, plan_places_free);
const struct cluster *plan_places_cluster(const struct plan_places *p); /* borrowed */
int plan_places_next_port(const struct plan_places *p); /* for the rendezvous servers */
