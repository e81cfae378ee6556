/* yarn.h - containers from YARN's ResourceManager, agents started by its NodeManagers.
 *
 *     ask ──► a row on a node of our choice, relaxed when it is not served soon
 *     granted ──► started at once, in one call for all containers of a node
 *     completed ──► why, from its exit status ──► on_lost
 *
 * One container is one slot, and has one agent. */
#pragma once
#include "hadoop/session/session.h"
#include "hadoop/yarn/amrm.h"
#include "platform/platform.h"
#include "platform/yarn_boot.h"
#include "platform/yarn_facts.h"

struct yarn_options {
    struct session *session; /* its credentials have the AMRM token */
    const struct spec *spec;
    const struct yarn_facts *facts;
    const struct yarn_boot *boot; /* with the address that agents are to dial */
    bool images;                  /* containers are made of the job's images: yarn_image.h */
    struct amrm_conf shown;       /* what the ResourceManager shows of us */
};

/* Registers with the ResourceManager and returns at once. What `opt` points to is borrowed and
 * outlives the platform. *ret is the caller's: ops->free(). */
int yarn_new(const struct yarn_options *opt, const struct platform_events *on,
             struct platform **ret, struct err *err);

/* A container of an earlier attempt of the master goes on as this slot's, with this agent. */
int yarn_adopt(struct platform *p, uint32_t slot, const struct spec_role *role, uint32_t agent,
               const char *container, struct err *err);

/* The last word to the ResourceManager, after ops->close(). Fibers only. */
int yarn_finish(struct platform *p, Yarn__FinalStatus status, const char *text, int64_t deadline,
                struct err *err);

/* Has the ResourceManager ended us? Asks it, and waits a moment for its word. Fibers only. */
bool yarn_is_over(struct platform *p);

/* Newer tokens for containers that are started from now on. */
int yarn_set_tokens(struct platform *p, struct err *err);
