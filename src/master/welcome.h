/* welcome.h - which results agents are told to copy at the end of the job. See welcome.c. */
#pragma once
#include "agent.pb-c.h"
#include "base/str.h"

/* The strings that are not the job's own are in `made`. There is room for one more than the job
 * names. */
struct results {
    Agent__Result *room, **list;
    size_t n;
    struct strs made;
};

void results_add(struct results *r, const char *from, const char *to);
