/* fence_clock.c - see fence_clock.h. All times are parts of the master's silence, so that one that
 * is shorter, as in tests, shortens them all. */
#include "agent/link/fence_clock.h"

#define SPARE(silence) ((silence) / 9)      /* for stopping them, and for a late wake-up */
#define LOOK(silence) ((silence) / 4)       /* a lost packet is sent again after 1 s */
#define LOOK_LEAST(silence) ((silence) / 6) /* the same, for a look that begins late */
#define AGAIN(silence) ((silence) / 4)      /* until the next look, when somebody was reached */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void fence_clock_start(struct fence_clock *c, int64_t silence, int64_t said, int64_t now)
{
    *c = (struct fence_clock){ .silence = silence, .heard = said, .reached = now };
}

void fence_clock_pong(struct fence_clock *c, uint64_t seq, int64_t now)
{
    c->pongs[seq % FENCE_PONGS].seq = seq;
    c->pongs[seq % FENCE_PONGS].at = now;
}

/* A number that we have not said, or have forgotten, says nothing. */
void fence_clock_answered(struct fence_clock *c, uint64_t seq)
{
    if (seq && c->pongs[seq % FENCE_PONGS].seq == seq)
        c->heard = later(c->heard, c->pongs[seq % FENCE_PONGS].at);
}

int64_t fence_look_at(const struct fence_clock *c)
{
    return later(c->heard + c->silence - SPARE(c->silence) - LOOK(c->silence),
                 c->reached + AGAIN(c->silence));
}

int64_t fence_freeze_at(const struct fence_clock *c, int64_t now)
{
    return later(c->heard + c->silence - SPARE(c->silence), now + LOOK_LEAST(c->silence));
}
