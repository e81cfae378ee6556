/* capacity_private.h - shared by capacity.c, capacity_ask.c and capacity_packing.c only. */
#pragma once
#include "launch/capacity/capacity.h"

/* Containers that are alike. */
struct capacity_class {
    const struct spec_role *role; /* NULL: the master */
    const char *label;            /* of the nodes it needs; the queue's default is put in */
    struct deploy_size size;      /* rounded up as YARN does; 0 for what the scheduler ignores */
    size_t count;
    bool apart; /* no two on one node */
};

/* One check of a whole job. The master is v[0]. */
struct capacity_job {
    const struct spec *s;
    const struct deploy_facts *f;
    struct spec_faults *faults;
    struct capacity_class v[SPEC_ROLES_MAX + 1];
    size_t n;
};

/* Adds a fault; 0, or -ENOMEM. */
int capacity_fault(struct capacity_job *j, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a container that needs `label` can be on this node. */
bool capacity_usable(const struct deploy_facts *f, const struct deploy_node *n, const char *label);
/* Whether `size` goes into `into`. */
bool capacity_goes_into(const struct deploy_size *size, const struct deploy_size *into);

/* "4 GB, 1 core, 2 GPUs", without what is 0. */
#define CAPACITY_SIZE_TEXT 128
const char *capacity_size_text(const struct deploy_facts *f, const struct deploy_size *s,
                               char out[CAPACITY_SIZE_TEXT]);
/* The same of one type: "4 GB". */
const char *capacity_amount_text(const struct deploy_facts *f, size_t type, int64_t v,
                                 char out[CAPACITY_SIZE_TEXT]);

/* capacity_ask.c: adds the class of a role (NULL: the master) to the job, and what no node or no
 * container here can have to the faults. */
int capacity_add_class(struct capacity_job *j, const struct spec_role *role,
                       const struct capacity_master *m);

/* capacity_packing.c: whether all classes find room together, ever and now. */
int capacity_pack(struct capacity_job *j, struct capacity *ret);
