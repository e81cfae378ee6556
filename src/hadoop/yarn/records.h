/* records.h - reading and making the records that YARN's protocols share.
 *
 * This library hands out the protobuf messages themselves ("hadoop/yarn*.pb-c.h"). Their strings
 * are never NULL and absent numbers are 0, but an absent part (a resource, an id) is a NULL
 * pointer: what is here accepts that. Pure; any thread. */
#pragma once
#include "base/err.h"
#include "hadoop/yarn.pb-c.h"
#include "hadoop/yarn/ids.h"

/* ---- names, as the RM's own pages have them; "UNKNOWN" for a number we do not know ---- */

const char *yarn_app_state_name(Yarn__ApplicationState s); /* "ACCEPTED" */
const char *yarn_final_status_name(Yarn__FinalStatus s);   /* "SUCCEEDED" */
const char *yarn_attempt_state_name(Yarn__AttemptState s); /* "RUNNING" */
const char *yarn_node_state_name(Yarn__NodeState s);       /* "DECOMMISSIONING" */
/* By name, upper or lower case: 0 or -EINVAL with the nearest name. */
int yarn_app_state_parse(const char *text, Yarn__ApplicationState *ret, struct err *err);
int yarn_node_state_parse(const char *text, Yarn__NodeState *ret, struct err *err);
bool yarn_app_state_final(Yarn__ApplicationState s); /* FINISHED, FAILED or KILLED */

/* The meaning of a container's exit status when it is one of YARN's own, negative ones: "killed:
 * used more memory than it asked for"; NULL for a program's own code. */
const char *yarn_exit_text(int32_t exit_status);

/* ---- resources ---- */

/* An amount of a resource besides memory and cores: { "yarn.io/gpu", 2 }. */
struct yarn_amount {
    const char *name;
    int64_t value;
};

/* What to ask for. Everything is borrowed. */
struct yarn_resource {
    int64_t memory_mb;
    int32_t vcores;
    const struct yarn_amount *more;
    size_t n_more;
};

int64_t yarn_memory(const Yarn__Resource *r); /* MB; 0 when absent */
int32_t yarn_vcores(const Yarn__Resource *r);
/* Any resource by its name, "memory-mb" and "vcores" too; 0 when absent. */
int64_t yarn_amount_of(const Yarn__Resource *r, const char *name);
/* "4096 MB, 2 cores, 1 yarn.io/gpu"; cut to what fits in `n`. Returns `out`. */
const char *yarn_resource_text(const Yarn__Resource *r, char *out, size_t n);

/* As a message on the heap; NULL when out of memory. */
Yarn__Resource *yarn_resource_new(const struct yarn_resource *r);

/* Would the RM take it? Refuses (-EINVAL with a sentence) what is not positive, what is more than
 * `maximum` has (NULL: not known), and a type that is not among `types`, which the RM would drop
 * in silence. With n_types 0 types are not checked. */
int yarn_resource_check(const struct yarn_resource *r, const Yarn__Resource *maximum,
                        Yarn__ResourceTypeInfo *const *types, size_t n_types, struct err *err);

/* ---- nodes ---- */

/* Host and port of a node; NULL when the record has none that could be dialled. */
const Yarn__NodeId *yarn_node_id(const Yarn__NodeId *m);

/* ---- applications ---- */

/* Was the application rejected after the submit: unknown or full queue, token that cannot be
 * renewed? Such an application failed without an attempt. Returns -EREMOTEIO with the
 * ResourceManager's reason, both while submitting and when asked later; 0 if it was not rejected.
 */
int yarn_app_refused(const Yarn__ApplicationReport *a, struct err *err);

/* ---- exceptions inside answers ---- */

/* Turns it into `err` as rpc.h does for a whole call; returns err's code. NULL gives -EREMOTEIO. */
int yarn_exception_err(const Yarn__SerializedException *e, struct err *err);
