/* yarn_platform.h - containers from YARN's ResourceManager, agents started by its NodeManagers.
 *
 *     ask ──► a row on a node of our choice, relaxed when it is not served soon
 *     granted ──► started at once, in one call for all containers of a node
 *     completed ──► why, from its exit status ──► on_lost
 *
 * One container is one slot, and has one agent. Slots of roles beside the client need no container:
 * all of them share the agent there. */
#pragma once
#include "hadoop/session/session.h"
#include "hadoop/yarn/amrm.h"
#include "platform/platform.h"
#include "platform/yarn/yarn_boot.h"
#include "platform/yarn/yarn_job_facts.h"

/* A master that waits for tokens with which to read its job registers first, so that a client can
 * find it and hand it tokens. Nothing that the ResourceManager says until yarn_new() takes it over
 * is lost. Fibers only. */
struct yarn_early; /* opaque */
int yarn_register(struct session *s, const struct conf *node, const struct amrm_conf *shown,
                  struct yarn_early **ret, struct err *err); /* `node` as in yarn_options */
bool yarn_early_over(const struct yarn_early *e);            /* the ResourceManager has ended us */
/* The last word of one that has waited in vain. */
int yarn_early_finish(struct yarn_early *e, Yarn__FinalStatus status, const char *text,
                      int64_t deadline, struct err *err);
struct yarn_early *yarn_early_free(struct yarn_early *e); /* NULL is fine; always NULL */
AUTO_DEFINE(yarn_early, struct yarn_early *, yarn_early_free);
#define AUTO_YARN_EARLY AUTO(yarn_early) struct yarn_early

struct yarn_options {
    struct session *session; /* its credentials have the AMRM token */
    const struct spec *spec;
    const struct yarn_facts *facts;
    const struct yarn_boot *boot; /* with the address that agents are to dial */
    const struct conf *node;      /* says where the scheduler is, if it is not NULL */
    bool images;                  /* containers are made of the job's images: yarn_image.h */
    bool apart;                   /* a container waits longer for a node of its own */
    struct amrm_conf shown;       /* what the ResourceManager shows of us */
    struct yarn_early *early;     /* taken over, also when yarn_new() fails; or NULL */
};

/* Registers with the ResourceManager and returns at once. What `opt` points to is borrowed and
 * outlives the platform. *ret is the caller's: ops->free(). */
int yarn_new(const struct yarn_options *opt, const struct platform_events *on,
             struct platform **ret, struct err *err);

/* Agents that are granted from now on have higher numbers than this. */
void yarn_count_from(struct platform *base, uint32_t number);

/* A container of an earlier attempt of the master becomes this slot's, with this agent. */
int yarn_adopt(struct platform *base, uint32_t slot, const struct spec_role *role, uint32_t agent,
               const char *container, struct err *err);

/* The same of one whose agent that master had told to leave: it has its time to save, and its end
 * is told (on_leaver). */
int yarn_adopt_leaver(struct platform *base, uint32_t agent, const char *container,
                      struct err *err);

/* The last word to the ResourceManager, after ops->close(). Fibers only. */
int yarn_finish(struct platform *base, Yarn__FinalStatus status, const char *text, int64_t deadline,
                struct err *err);

/* Newer tokens for containers that are started from now on. */
int yarn_set_tokens(struct platform *base, struct err *err);
/* Was one started since then, or since the start? */
bool yarn_has_launched(const struct platform *base);
