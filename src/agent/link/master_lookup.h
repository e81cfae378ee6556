/* master_lookup.h - what the job's directory in HDFS says of its master. Fibers only. */
#pragma once
#include "base/auto.h"
#include "hadoop/conf/conf_services.h"
#include <stdbool.h>
#include <stdint.h>

struct agent;

struct agent_lookup {
    int64_t cut_ms;  /* as in Welcome: how long before YARN gives our node up; 0: it does not */
    int64_t known;   /* when we last knew that we are not cut off; loop's clock */
    bool looking;    /* for a newer master, … */
    int64_t after;   /* … and not again before; loop's clock */
    bool superseded; /* there is one */
    bool cut_off;    /* we are: the end */
};

struct lookup_found {
    char *address;    /* of the newest master; NULL: none, or it cannot be read */
    unsigned attempt; /* its number, from 1; 0: it does not say */
    bool over;        /* the directory is gone: the job is over */
    bool reached;     /* HDFS was, or the machine where it should be */
};

/* Until `end` at most. `ret` needs lookup_done() in any case. */
void lookup_master(struct agent *a, int64_t end, struct lookup_found *ret);
void lookup_done(struct lookup_found *f); /* zero is a valid start */

#define AUTO_LOOKUP AUTO_DONE(lookup_done) struct lookup_found

/* Has it been so long since we reached anybody that one more failed lookup means that our node is
 * cut off? Only who was late before the lookup may decide after it: another may have been suspended
 * meanwhile. */
bool lookup_is_late(const struct agent *a);
/* How much of `ms` there is for one try at a master. */
int64_t lookup_try_ms(const struct agent *a, int64_t ms);

/* The machines of the ResourceManagers and of the NameNodes, as configured; empty where they are
 * not. Both need hosts_done(). */
void lookup_machines(const struct agent *a, struct hosts *rms, struct hosts *nns);

/* Our master has not reached the ResourceManager for `alone` ms: checks from time to time whether
 * there is a newer one, or our node is cut off, and closes the connection then. Returns at once. */
void lookup_newer(struct agent *a, int64_t alone);
