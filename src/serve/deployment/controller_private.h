/* controller_private.h - the insides of a controller, for controller*.c. One fiber; the gateway
 * runs in another one. */
#pragma once
#include "serve/deployment/autoscale.h"
#include "serve/deployment/controller.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"
#include "serve/deployment/gateway_reports.h"
#include "serve/deployment/registry_link.h"
#include "serve/deployment/task_store.h"
#include "serve/deployment/traffic_history.h"

#define CONTROLLER_GROUPS (2 * DEPLOYMENT_MODELS)

/* The new version of a model: how often its replicas had been started when they were first seen. */
struct controller_starts {
    int64_t serial;
    int64_t first[DEPLOYMENT_REPLICAS]; /* -1: not seen yet */
    int64_t fetched, moved; /* bytes its replicas are fetching, and when that changed last */
};

struct controller {
    const struct controller_options *o;
    json_t *plan;                    /* as it is in the store */
    char *spec, *control, *key_file; /* paths */
    char *text;                      /* what is in the file of the spec */
    bool applied;                    /* the gateway has it */
    struct line_client store, gateway;
    struct registry_link *registry;
    bool ready, gone; /* the gateway listens; it has ended */
    unsigned turns;
    int64_t revision; /* of the plan that was the last when the gateway's report was put there */
    struct {
        char group[DEPLOYMENT_GROUP];
        int64_t n;             /* -1: not yet */
    } told[CONTROLLER_GROUPS]; /* sizes that the job has taken */
    bool waits; /* a group's size is not told until the gateways have let go of its replicas */
    struct controller_starts starts[DEPLOYMENT_MODELS];
    struct autoscale_memory loads[DEPLOYMENT_MODELS]; /* of models that are scaled by their load */
    json_t *fetching;                /* rows of deployment_fetch.h; NULL: not looked yet */
    bool quiet;                      /* the last look failed, which has been said */
    bool lost_alias;                 /* the same of the last look at aliases */
    struct traffic_history *history; /* NULL: not looked yet */
    int64_t history_due;             /* when what is open is written again */
    struct gateway_seen others[GATEWAYS_MOST]; /* by their index; the first one is our own */
    json_t *shares; /* of canaries: what was said last, or what the first gateway says */
    json_t *counts; /* of a gateway that is not the first: what it said last */
    bool counted;   /* the others' counts are known: from now on what is new is added */
    struct strs up; /* replicas that are ready: without a gateway, or before its first look */
};

void controller_note(const struct controller *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- controller_plan.c: all that changes the plan ---- */
/* The plan of the store, or the first one, which is put there. */
int controller_begin(struct controller *x, struct err *err);
/* The plan is this one from now on, in the store too; `plan` is used up. */
int controller_take_plan(struct controller *x, json_t *plan, struct err *err);
/* What was asked for. */
int controller_requests(struct controller *x, struct err *err);
/* Updates come to their next steps. `report`: what the gateway says; NULL: not known. */
int controller_updates(struct controller *x, const json_t *report, const struct strs *keys,
                       struct err *err);
/* Aliases that are followed. */
void controller_follow(struct controller *x);

/* ---- controller_direct.c: without a gateway, or before it starts ---- */
/* Which replicas are ready now? controller_direct_is_up() knows it then. */
int controller_direct_once(struct controller *x, struct err *err);
bool controller_direct_is_up(const struct controller *x, const char *backend, const char *address);
int controller_direct_run(void *x, struct err *err); /* a fiber, in place of the gateway's */
/* What a gateway would say; the caller's. */
int controller_direct_report(const struct controller *x, char **ret, struct err *err);
/* May somebody still not know that this model's version is another one? */
bool controller_direct_lingers(const struct controller *x, const json_t *model);

/* ---- controller_gateways.c: the other gateways, where there are several ---- */
int controller_gateways_look(struct controller *x, struct err *err);
/* Do all have the present plan? Those that do not move for long are not waited for. */
bool controller_gateways_know(const struct controller *x);
/* Does one send requests for this model elsewhere than to version `serve`? */
bool controller_gateways_stray(const struct controller *x, const char *model, int64_t serve);
/* What our gateway says becomes what all of them say. */
int controller_gateways_join(struct controller *x, json_t *status, struct err *err);
int controller_gateways_count(struct controller *x, struct err *err);
void controller_gateways_done(struct controller *x);
/* A task that is not the first one's has the same plan, which it never changes. It says that it
 * begins, and waits for the first one's plan and key; */
int second_gateway_begin(struct controller *x, struct err *err);
/* does this at each look; */
int second_gateway_look(struct controller *x, struct err *err);
/* and has ended in order: nobody waits for it. */
void second_gateway_end(struct controller *x);

/* ---- controller.c ---- */
/* The spec as it should be, into its file where it has changed; `keys` are those of replicas. */
int controller_write_spec(struct controller *x, struct strs *keys, struct err *err);
/* The gateway takes it. */
int controller_apply(struct controller *x, struct err *err);

/* ---- controller_autoscale.c: models whose replicas follow their load ---- */
bool controller_autoscales(const struct controller *x); /* is there one? */
/* `report`: what the gateway says; NULL: not known. */
int controller_autoscale(struct controller *x, const json_t *report, struct err *err);

/* ---- controller_move.c: replicas whose containers will be taken away ---- */
/* `report`: what the gateway says; NULL: not known. */
int controller_moves(struct controller *x, const json_t *report, const struct strs *keys,
                     struct err *err);

/* ---- controller_history.c: what was answered over time; not without a gateway ---- */
int controller_history(struct controller *x, struct err *err);

/* ---- controller_fetch.c: replicas that fetch their models ---- */
int controller_fetching(struct controller *x, struct err *err);

/* Has the job taken the size that the plan gives this group? */
bool controller_told(const struct controller *x, const char *group, unsigned n);
