/* yarn_platform_private.h - what the parts of the YARN platform share. */
#pragma once
#include "hadoop/yarn/am.h"
#include "loop/fiber.h"
#include "platform/yarn/yarn_platform.h"
#include "platform/yarn/yarn_spread.h"

#define YARN_TROUBLE_MAX 640

struct yarn_early {
    struct nm_pool *nodes;
    struct am *am;
};

enum seat_state {
    SEAT_EMPTY,
    SEAT_ASKED,
    SEAT_STARTING, /* granted; its NodeManager is being told */
    SEAT_RUNNING,
    SEAT_SILENT, /* its agent does not answer: it is being ended */
};

/* The state of a slot's ask at the ResourceManager. */
enum yarn_asked {
    ASKED_NODE,     /* a container on the node that was picked */
    ASKED_ANYWHERE, /* … or on any other: for as long as it takes */
    ASKED_CHOICE,   /* on one of those where its role has none yet */
    ASKED_NOTHING,  /* there is no such node: nothing, until there is one */
};

struct yarn_seat { /* of a slot */
    enum seat_state state;
    const struct spec_role *role;
    uint32_t agent;
    struct yarn_container_id container;
    char *host; /* the node's name and port; those of the last container stay */
    int32_t port;
    size_t node;      /* of the spread */
    int64_t asked_at; /* loop's clock */
    enum yarn_asked asked;
};

/* A container that was given back and has not ended yet. */
struct yarn_leaver {
    struct yarn_leaver *next;
    struct yarn_container_id container;
    uint32_t agent;
    char *host; /* NULL: of a master before us, and the ResourceManager does not know it */
    int32_t port;
    int64_t until; /* then it is stopped */
    bool adopted;  /* a master before us has told its agent to leave */
};

struct yarn_platform {
    struct platform base;
    struct yarn_options opt;
    struct loop *loop;
    struct nm_pool *nodes;
    struct am *am;
    struct yarn_spread *spread;
    Yarn__ContainerLaunchContext **launch; /* by the role's place; made when first needed */
    struct buf tokens;                     /* of the agents' containers */
    struct yarn_seat **seats;              /* by slot */
    uint32_t n_seats, next_agent;
    struct yarn_leaver *leavers;
    struct fiber *events, *clock;
    struct cond changed; /* a container has gone, or a fiber has ended */
    size_t starting;     /* fibers that talk to NodeManagers */
    int64_t heartbeat;   /* of the nodes, ms */
    int64_t granted_at;  /* the last grant came; 0: none yet */
    bool closing, over, registered;
    int64_t registered_at; /* last: before it nothing that was asked for was heard */
    bool killed; /* over, and not because the ResourceManager had not heard of us for too long */
    uint32_t client_agent; /* beside the client; 0: no role is there */
    char *client_name;     /* … and what it calls itself instead of a container's id */
    char container_text[YARN_CONTAINER_ID_TEXT];
    char trouble[YARN_TROUBLE_MAX]; /* what yarn_trouble() last returned */
};

/* ---- yarn_platform.c ---- */
struct yarn_seat *yarn_seat_at(struct yarn_platform *p, int64_t slot); /* NULL: none */
/* The slot of a container that is ours and runs, or -1. */
int64_t yarn_slot_of(const struct yarn_platform *p, struct yarn_container_id id);
void yarn_seat_empty(struct yarn_platform *p, struct yarn_seat *s);

/* ---- yarn_leavers.c: containers that were given back ---- */
/* One that has not ended; NULL: it is none. */
struct yarn_leaver *yarn_leaver_of(struct yarn_platform *p, struct yarn_container_id id);
void yarn_leaver_ended(struct yarn_platform *p, struct yarn_container_id id);
/* The seat's agent has been told to leave; the container ends with it. */
void yarn_let_leave(struct yarn_platform *p, struct yarn_seat *s);
/* An agent that had been let go has hung up: nothing holds its container any more. */
bool yarn_leaver_left(struct yarn_platform *p, uint32_t agent);
bool yarn_any_leaver(const struct yarn_platform *p); /* whose end the ResourceManager will tell */
/* Stops those that take too long; when to look again. */
int64_t yarn_leavers_stop_late(struct yarn_platform *p);

/* ---- yarn_events.c: what the ResourceManager says, on a fiber ---- */
void yarn_events_run(void *arg);
/* Why the ResourceManager cannot be reached, "" while it can; see platform.h. */
const char *yarn_trouble(struct platform *base);
bool yarn_is_forgotten(struct platform *base, uint32_t agent); /* see platform.h */

/* ---- yarn_killed.c ---- */
/* After the ResourceManager has given us up: was the application killed? Only its own word counts;
 * false when it cannot be asked. Fibers only. */
bool yarn_says_killed(struct yarn_platform *p);

/* ---- yarn_launch.c: what a container is to run ---- */
/* The context of a role's containers, made once; borrowed. */
int yarn_launch_context(struct yarn_platform *p, const struct spec_role *role,
                        const Yarn__ContainerLaunchContext **ret, struct err *err);
void yarn_launch_forget(struct yarn_platform *p);
int yarn_launch_make_tokens(struct yarn_platform *p, struct err *err);

/* ---- yarn_events.c ---- */
struct yarn_grants { /* of one answer */
    uint32_t *slots;
    Hadoop__Token **tokens; /* of the containers; owned */
    size_t n;
};
/* One event from the ResourceManager; what it grants is added to `g`. -ENOMEM. */
int yarn_digest(struct yarn_platform *p, const struct amrm_event *e, struct yarn_grants *g);

/* ---- yarn_start.c: containers by their NodeManagers ---- */
/* Starts what is SEAT_STARTING of what was granted, each node in a fiber of its own. */
void yarn_start_grants(struct yarn_platform *p, struct yarn_grants *g);
/* A NodeManager has said, or will not say any more, whether a container was started: why->code 0.
 */
void yarn_start_answered(struct yarn_platform *p, uint32_t slot, struct yarn_container_id id,
                         const struct err *why);
/* Ends a container through its NodeManager, and tells the ResourceManager. */
void yarn_stop_container(struct yarn_platform *p, const char *host, int32_t port,
                         struct yarn_container_id id);

/* ---- yarn_silent.c: containers whose agents do not answer ---- */
/* Ends the slot's container; on_lost follows when it is known to be gone or cut off. False: nobody
 * can be asked, and nothing has changed. */
bool yarn_silent_begin(struct yarn_platform *p, uint32_t slot, const char *why);
/* The slot is lost, if it still has that container. */
void yarn_silent_told(struct yarn_platform *p, uint32_t slot, struct yarn_container_id id,
                      const char *why);

enum yarn_silent_news {
    YARN_SILENT_THERE,     /* its NodeManager is there; the container may be, too */
    YARN_SILENT_ENDED,     /* as its NodeManager says */
    YARN_SILENT_UNREACHED, /* its NodeManager cannot be reached */
};
/* Is that enough? `waited`: ms since the agent was given up; `rm_answers`: it had, lately, when the
 * look began. */
bool yarn_silent_is_over(enum yarn_silent_news news, int64_t waited, bool rm_answers);

/* ---- yarn_ask.c: what is asked for ---- */
int yarn_ask_slot(struct yarn_platform *p, uint32_t slot, struct err *err);
void yarn_ask_cancel(struct yarn_platform *p, uint32_t slot);
/* Asks that their nodes have not served may be served elsewhere now. When to look again. */
int64_t yarn_ask_relax(struct yarn_platform *p);

/* The requirements of a role's containers; do not copy, it points into itself. */
struct yarn_want {
    struct yarn_role_room room;
    struct yarn_resource size;
    struct yarn_spread_want node;
};
void yarn_want_of(const struct yarn_platform *p, const struct spec_role *role,
                  struct yarn_want *ret);

/* ---- yarn_client_slots.c: slots beside the client ---- */
bool yarn_at_client(const struct yarn_seat *s);
int yarn_client_begin(struct yarn_platform *p, struct err *err);
void yarn_client_ask(struct yarn_platform *p, uint32_t slot);
void yarn_client_grant(struct yarn_platform *p); /* what was asked for, if it is time */

/* ---- yarn_exit_status.c: why a container has ended ---- */
enum fail_class yarn_end_class(int32_t exit_status, const char *diagnostics);
/* An agent's own code: it could not save everything, and could not say so to a master. */
bool yarn_end_unsaved(int32_t exit_status);
/* A sentence about it, without Java's stack traces; cut to what fits. */
void yarn_end_text(int32_t exit_status, const char *diagnostics, char *out, size_t n);
