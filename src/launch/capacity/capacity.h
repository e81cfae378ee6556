/* capacity.h - will the job fit? Every ask against what one node, the queue and the cluster can
 * hold.
 *
 * A job needs one container for each of its roles' count and one more for its master. What is
 * impossible is reported before the submit, all at once; what is only busy now is noted, and
 * waited for. A fault is added only for what is certainly impossible: containers are packed onto
 * nodes by first fit, and if that fails without proof that no other packing works, `unsure` is set
 * and nothing is reported. Pure: looks at the specification and the facts only. */
#pragma once
#include "job/spec/spec.h"
#include "launch/capacity/cluster_facts.h"

/* What containers get on YARN where the job does not say. Memory of a role that says nothing is a
 * whole gibibyte and not the scheduler's minimum, which training could rarely start in. */
#define CAPACITY_ROLE_MB 1024
#define CAPACITY_ROLE_CORES 1
#define CAPACITY_MASTER_MB 64          /* of a job of up to … */
#define CAPACITY_MASTER_CONTAINERS 500 /* … so many containers; for each beyond them it has … */
#define CAPACITY_MASTER_EACH_KB 64     /* … so much more */
#define CAPACITY_MASTER_CORES 1
#define CAPACITY_PUBLISH_MB 192 /* and more for one that publishes a model: it looks into it */

struct capacity_master {
    int64_t memory_mb;
    int32_t cores;
    const char *label; /* "" for none; borrowed */
};

/* As the specification says, or the defaults above; its label is the job's where it has none. */
struct capacity_master capacity_master(const struct spec *s);

/* One role's container: what to ask YARN for, before it rounds. Everything is borrowed from `s`.
 * The queue's default label is not put in: YARN does that. */
struct capacity_ask {
    int64_t memory_mb;
    int32_t cores;
    int64_t gpus; /* of DEPLOY_GPU; 0: none, and the type is not to be named */
    const struct spec_amounts *more;
    const char *label; /* "" for none */
};
struct capacity_ask capacity_ask(const struct spec *s, const struct spec_role *r);

#define CAPACITY_TEXT 320

struct capacity {
    size_t needed;  /* containers, the master's too; roles placed at the client do not count */
    size_t now;     /* of these, how many there is room for at the moment */
    bool fits_now;  /* now == needed */
    bool unsure;    /* perhaps it never fits */
    bool too_small; /* a larger cluster, or share of it, could hold it: that is the fault */
    char text[CAPACITY_TEXT]; /* without fits_now: what is missing, in a sentence; else "" */
};

/* Checks queue, label, types, image names, and the room. 0, or -EINVAL with what is wrong added to
 * `faults`, or -ENOMEM. `ret` is filled when nothing is wrong with the room itself. `m` NULL is
 * capacity_master(s). */
int capacity_check(const struct spec *s, const struct deploy_facts *f,
                   const struct capacity_master *m, struct spec_faults *faults,
                   struct capacity *ret);

/* What is wrong with the name of a container image, or NULL. [HOST[:PORT]/]NAME[:TAG][@DIGEST] */
const char *image_name_fault(const char *name);
