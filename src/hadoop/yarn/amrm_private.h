/* amrm_private.h - the insides of the AM-RM protocol, shared by amrm.c (what the master wants),
 * amrm_request.c (what is sent) and amrm_answer.c (what comes back). */
#pragma once
#include "hadoop/yarn/am_blacklist.h"
#include "hadoop/yarn/amrm.h"
#include "hadoop/yarn/containers.h"

enum amrm_step {
    AMRM_STEP_START,
    AMRM_STEP_REGISTERED,
    AMRM_STEP_LOST, /* the RM does not know us as registered */
    AMRM_STEP_FINISH,
    AMRM_STEP_UNREGISTERED,
    AMRM_STEP_OVER,
    AMRM_STEPS_
};

/* A container to be given back. Kept until its end is told, for an RM that restarts before. */
struct amrm_release {
    struct yarn_container_id id;
    bool told, in_flight;
};

struct amrm {
    enum amrm_state state;
    char *host, *tracking_url;
    int32_t rpc_port;
    void (*on_news)(void *arg);
    void *on_news_arg;
    bool url_changed, url_in_flight; /* since the registration */

    struct asks *asks;
    struct am_blacklist blacklist;
    struct containers known;
    struct amrm_release *releases;
    size_t n_releases, cap_releases;

    bool registered_before;
    Yarn__FinalStatus final_status;
    char *final_text, *final_url; /* NULL until amrm_finish() */
    bool finish_sent;

    Yarn__RegisterApplicationMasterResponse *registration;
    Hadoop__Token *token; /* the last new one */
    int32_t cluster_nodes;

    int32_t response_id; /* of the last answer */
    enum amrm_call call; /* under way */
    void *request;
    unsigned adopted;  /* times in a row that the RM told us its response id */
    char *trouble;     /* the fault that was told last; NULL: none yet */
    bool troubled;     /* … since the last answer */
    unsigned refusals; /* times in a row that signing in failed */
};

/* Moves to the next state by the table; -EPROTO when there is none, which is a bug in ydl. */
int amrm_move(struct amrm *a, enum amrm_step step, struct err *err);

int amrm_queue_release(struct amrm *a, struct yarn_container_id id);
/* The container has ended: nothing about it needs to be sent any more. */
void amrm_forget_container(struct amrm *a, struct yarn_container_id id);

/* amrm_request.c: what becomes of the parts of the request under way, which is dropped. */
void amrm_request_answered(struct amrm *a);
void amrm_request_failed(struct amrm *a);
/* The RM has forgotten all it was told; the next answer will be its first. */
void amrm_forgotten(struct amrm *a);
