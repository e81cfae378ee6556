/* recovery.c - see recovery.h */
#include "hadoop/hdfs/recovery.h"

bool recovery_replace(const struct replace_policy *p, uint32_t wanted, size_t left, bool flushed)
{
    if (left == 0 || left >= wanted || p->when == REPLACE_NEVER)
        return false;
    if (p->when == REPLACE_ALWAYS)
        return true;
    return wanted >= 3 && (left <= wanted / 2 || flushed);
}

bool recovery_go_on(const struct replace_policy *p, size_t left)
{
    if (left == 0)
        return false;
    if (p->when != REPLACE_ALWAYS || p->best_effort)
        return true;
    return p->min_replication > 0 && left >= p->min_replication;
}

enum remedy recovery_choose(const struct breakage *b)
{
    /* A restart takes seconds, a new replica of a large block longer: worth waiting for the only
     * copy, and for the one that needs no network. */
    if (b->fault == FAULT_RESTART && !b->waited_long && (b->nodes == 1 || b->local))
        return REMEDY_WAIT;
    if (b->stage == STAGE_SETUP)
        return REMEDY_ABANDON;
    if (b->nodes > 1)
        return REMEDY_REBUILD;
    return b->unacked ? REMEDY_ABANDON : REMEDY_FAIL;
}
