/* serve_copies.h - versions of a registry on this machine for tasks on YARN: copies in a registry
 * of the user's own on the cluster, one for each registry of each machine, with the same numbers.
 *
 *     ~/.local/share/ydl/models ──► BASE/models/9f2c…   (platform/yarn/yarn_boot.h)
 *
 * The plan of such a deployment has that one as its registry, and "origin": where versions come
 * from. Fibers only. */
#pragma once
#include "cmd/serve/serve_version.h"

struct serve_copies {
    const char *staging; /* option, borrowed; NULL: default */
    char *place;         /* where the copies are; NULL: there are none */
    json_t *origin;      /* for the plan */
};
void serve_copies_done(struct serve_copies *c);

/* Makes `v`, which `ref` has named in a registry on this machine, a copy of a new deployment's. */
int serve_copies_of(struct job_call *x, struct serve_copies *c, const struct model_ref *ref,
                    struct serve_version *v, struct err *err);
/* Copies a version of this machine's to `place`, unless it is there, and makes `v` the copy. */
int serve_copies_make(struct job_call *x, const char *place, struct serve_version *v,
                      struct err *err);

/* The registry that new versions come from: the origin of a plan, where it is on this machine; else
 * the plan's own. Borrowed. */
const char *serve_copies_registry(const json_t *plan);

/* After a deployment has ended: removes copies that none uses. What fails stays there. */
void serve_copies_remove(struct job_call *x, const json_t *plan);
