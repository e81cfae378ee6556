/* rabit_tracker_private.h - what the files of the rabit tracker share. */
#pragma once
#include "loop/fiber.h"
#include "rendezvous/map.h"
#include "rendezvous/rabit_wire.h"
#include "rendezvous/tracker_server.h"

#include <arpa/inet.h>

#define RABIT_ANSWER_MS 60000 /* a worker's next word, when it has nothing to wait for */

struct seat {
    struct map_node node; /* by the task's id, once it has one */
    char job[RABIT_JOB_MAX + 1];
    bool given;        /* a worker has this rank */
    struct visit *now; /* who is served here */
    struct cond left;  /* it is not any more */
    int32_t port;      /* where the worker listens, while `accepts` > 0 */
    int32_t accepts;   /* how many it waits for */
    char host[INET6_ADDRSTRLEN];
};

struct rabit {
    const struct rendezvous_options *opt;
    struct tracker_server *server;
    int32_t world;
    struct rabit_node *map;
    struct seat *seats;     /* by rank */
    struct map jobs;        /* seats by task id */
    struct visit **pending; /* starts without a rank, in the order in which they came */
    int32_t n_pending, n_given;
    uint64_t visits; /* so far */
};

/* One start or recover. */
struct visit {
    struct rabit *of;
    struct tracker_client *client;
    struct rabit_hello hello;
    int32_t rank;   /* -1: not yet */
    uint64_t order; /* the later, the higher */
};

/* rabit_links.c: reads which links of the worker work and helps it to the others, until all stand.
 * The visit has its rank. */
int rabit_serve(struct visit *v, struct rabit_good *good, struct err *err);
void rabit_stand_up(struct visit *v); /* leaves the seat, if it sits in it */
