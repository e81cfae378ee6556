/* registry_entry_private.h - what registry_entry.c (the job) and registry_tasks.c (its tasks)
 * share. */
#pragma once
#include "hadoop/registry/registry.h"
#include "master/yarn/registry_entry.h"

/* Where a task stands in the registry. */
struct registry_entry_place {
    char *path;     /* NULL: nowhere */
    uint32_t agent; /* that it is with there */
    uint16_t port;  /* as the record says; 0: none */
    bool seen;      /* its name can be looked up */
};

/* A task that is prepared, and waits for its name. */
struct registry_entry_wish {
    uint32_t task, agent;
    bool held; /* the engine has not heard of it yet */
    uint16_t ports[CLUSTER_PORTS_MAX];
    unsigned n_ports;
};

struct enrolled {
    struct master *m;
    struct fiber *fiber;
    struct cond changed; /* there is something to do; or the fiber has ended */
    struct registry *registry;
    char *path;   /* of the job's record, once it is there */
    char *name;   /* the last part of it */
    char *domain; /* "NAME.USER.DOMAIN", where RegistryDNS serves the cluster; or NULL */
    bool wanted;  /* tasks would rather have names */
    bool named;   /* names can be looked up here */
    struct registry_entry_place *places; /* by task */
    uint32_t n_places;
    struct registry_entry_wish *wishes;
    size_t n_wishes, cap_wishes;
    struct registry_entry_wish *batch; /* that is being done */
    size_t n_batch;
    int64_t retry_at; /* a record could not be put: all are looked at again then; 0: none */
    bool failing;     /* nor could the last one, and people have been told */
};

/* A sentence for the log, once something about the registry is not as it should be. */
void registry_entry_note(struct enrolled *x, const char *what, const struct err *why);

/* ---- registry_tasks.c ---- */
/* Would this job be better off with names? */
bool registry_tasks_wanted(const struct master *m);
/* The registry is open and the job in it: does what is to be done, until the fiber is cancelled. */
void registry_tasks_serve(struct enrolled *x);
void registry_tasks_give_up(struct enrolled *x); /* there will be none: nobody waits any more */
void registry_tasks_free(struct enrolled *x);
