/* master_lookup.h - what the job's directory in HDFS says of its master. Fibers only. */
#pragma once
#include "base/auto.h"
#include <stdbool.h>
#include <stdint.h>

struct agent;

struct look_found {
    char *address;    /* that the newest master has left; NULL: none, or it cannot be seen */
    unsigned attempt; /* its number, from 1; 0: it does not say */
    bool over;        /* the directory is not there any more: neither is the job */
    bool reached;     /* HDFS was, or the machine where it should be */
};

/* Until `end` at most. `ret` needs look_done() in any case. */
void look_for_master(struct agent *a, int64_t end, struct look_found *ret);
void look_done(struct look_found *f); /* zero is a valid start */

static inline void auto_look_(struct look_found *f)
{
    look_done(f);
}
#define AUTO_LOOK AUTO(look) struct look_found

/* Have we known nothing of the world for so long that a look in vain means that our node is cut
 * off? Who was late before the look may decide after it; who was not may have stood still. */
bool look_is_late(const struct agent *a);
/* How much of `ms` there is for one try at a master. */
int64_t look_try_ms(const struct agent *a, int64_t ms);

/* Our master has been without the ResourceManager for `alone` ms: looks from time to time whether
 * there is a newer one, or our node is cut off, and ends the connection then. Returns at once. */
void look_for_newer(struct agent *a, int64_t alone);
