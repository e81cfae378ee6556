/* fence_clock.h - when the tasks of a node that is cut off have to stand still. Pure arithmetic on
 * times in ms; nothing here reads a clock.
 *
 * The master gives an agent up `silence` (AGENTS_SILENCE_MS, told in the Welcome) after it has last
 * heard of it, and only then starts its tasks elsewhere. The agent knows a time at which it was
 * certainly heard: a ping names the newest pong that the master has read. With the 9 s and the
 * pings every 2 s of a master:
 *
 *     0 s     heard: we send a pong, and the master reads it
 *     2 s     a ping says so. Our pong to it may be the first thing that is lost
 *     5.75 s  no newer ping: who can be reached? The master, the ResourceManagers, the NameNodes
 *     8 s     nobody: tasks stand still
 *     9 s     the earliest time at which the master gives us up
 *
 * Whatever the agent does later than planned is counted from 0 all the same. */
#pragma once
#include <stdint.h>

#define FENCE_PONGS 16

struct fence_clock {
    int64_t silence; /* of the master's; 0: it does not say, and nothing is to be done */
    int64_t heard;   /* the latest time at which the master has certainly heard us */
    int64_t reached; /* when somebody was last reached */
    struct {
        uint64_t seq;
        int64_t at;
    } pongs[FENCE_PONGS]; /* the newest ones, by seq */
};

/* A Welcome came at `now`: the master has heard the Hello that was sent at `said`, and counts from
 * then on, however long it and we took for all that lies between. */
void fence_clock_start(struct fence_clock *c, int64_t silence, int64_t said, int64_t now);
void fence_clock_pong(struct fence_clock *c, uint64_t seq, int64_t now); /* is about to be sent */
void fence_clock_answered(struct fence_clock *c, uint64_t seq);          /* as a ping says */

/* When to look who can be reached. */
int64_t fence_look_at(const struct fence_clock *c);
/* How long a look that begins now may take: when it was in vain, tasks are stopped then. */
int64_t fence_freeze_at(const struct fence_clock *c, int64_t now);
