/* budget.h - how much memory the requests of all clients may take together.
 *
 * What a request takes is returned when its bytes are gone: after its answer was sent, or, when the
 * client was told that its time is over, after the model let go of its inputs. Loop thread only. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t max, used;
};

/* -EAGAIN when there is not so much left. */
static inline int budget_take(struct budget *b, uint64_t n)
{
    if (b->used > b->max || n > b->max - b->used)
        return -EAGAIN;
    b->used += n;
    return 0;
}

/* What is there already, whatever the limit says: those who come later find less. */
static inline void budget_add(struct budget *b, uint64_t n)
{
    b->used += n;
}

static inline void budget_give(struct budget *b, uint64_t n)
{
    b->used -= n < b->used ? n : b->used;
}
