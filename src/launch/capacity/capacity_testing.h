/* capacity_testing.h - clusters made by hand, for tests of capacity_check(). */
#pragma once
#include "launch/capacity/capacity.h"

#define ROOM_TESTING_MAX 64

/* What a test changes; zeroes mean: no node, the queue "default" for everything. */
struct room_cluster {
    struct {
        int64_t mb, cores, gpus; /* each */
        const char *label;       /* NULL: none */
        size_t n;
        int64_t used_mb;
        bool away;
    } nodes[4];
    const char *types[4];   /* besides memory and cores */
    const char *labels[4];  /* "gpu", or "!gpu" for one that is not exclusive */
    const char *queue;      /* its name, or NULL */
    const char *may_use[4]; /* labels */
    int64_t queue_mb;       /* the most it may take of nodes without a label; 0: no limit */
    int64_t queue_label_mb; /* of those with the first label */
    int64_t queue_used_mb;
    int64_t most_mb; /* of one container; 0: as much as the largest node */
    int64_t step;    /* the smallest container; 0: 64 MB */
    bool ignores_cores, no_queue, parent, stopped, forbidden, may_come;
};

/* Fills `f`, which the caller frees by deploy_facts_done(); -ENOMEM. */
int room_cluster(const struct room_cluster *c, struct deploy_facts *f);
