/* form.h - a generation: the specification of its cluster, and rendezvous servers. Loop thread
 * only. */
#pragma once
#include "framework/plan/plan.h"
#include "job/engine/engine.h"
#include "rendezvous/kv.h"
#include "rendezvous/rendezvous.h"

struct master;

#define MASTER_SERVERS 4 /* kinds of rendezvous servers with a port */

struct form {
    struct cluster cluster;
    struct cluster_task *tasks; /* storage of all roles */
    struct strs hosts;          /* names in it, when tasks have some */
    char *text;                 /* what YDL_SPEC's file says */
    uint64_t id;                /* which text that is; from 1 on */
    struct plan_cache *plans;
    struct rendezvous *servers[MASTER_SERVERS];
    struct rendezvous_options server_options;
    unsigned late_notes; /* how often a barrier was told to be late, in this generation */
};

/* The cluster specification and the servers of the engine's generation. */
int form_generation(struct master *m, struct err *err);
/* The same for a generation that ran under the master before us: what it has in the store stays. */
int form_resume(struct master *m, struct err *err);
/* A task that joins or moved alone, in a running generation: the specification is made anew for
 * whoever starts from now on. */
int form_include(struct master *m, uint32_t task, struct err *err);
/* The same for all when the running generation has gained or lost tasks. */
int form_follow(struct master *m, struct err *err);
/* Tasks in its role as its generation knows them; 0: it is none of them any more. */
unsigned form_role_size(const struct master *m, const struct task *t);
/* Servers that belong to no generation: before anybody is told of them. */
int form_begin(struct master *m, struct err *err);
/* Is it part of the generation that runs, and where the specification says? */
bool form_has(const struct master *m, const struct task *t);
/* Where the framework's server listens; *ret_port is 0 without one. Borrowed. */
const char *form_server(const struct master *m, int *ret_port);
void form_done(struct master *m);
/* The plan that the tasks of this generation follow. */
struct plan form_plan(const struct master *m, uint32_t attempt);

/* ---- barrier.c ---- */
void barrier_late(void *user, const struct kv_late *l); /* as in struct kv_events */
