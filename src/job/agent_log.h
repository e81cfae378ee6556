/* agent_log.h - where each agent is, according to the events log. Pure.
 *
 * A job may lose agents for as long as it lives, and their numbers never return. To keep this list
 * short, its reader says from time to time which agents something still refers to, and the others
 * are forgotten. */
#pragma once
#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>

struct logged_agent {
    uint32_t number;
    char *container, *node, *host; /* "" where that is not known */
    bool lost, saved;              /* gone; has saved what its tasks left, and goes */
    bool leaving;                  /* was told to save and to go before the job's end */
    bool used, idle;               /* agent_log_forget() */
};
struct agent_log {          /* zero is empty */
    struct logged_agent *v; /* in the order of their numbers */
    uint32_t n;
    uint32_t kept; /* after the last agent_log_forget() */
};
void agent_log_done(struct agent_log *l);

/* A record EVENT_AGENT; one that makes no sense changes nothing. -ENOMEM. A number that comes again
 * with another container is that container's. */
int agent_log_add(struct agent_log *l, const json_t *record);
struct logged_agent *agent_log_find(const struct agent_log *l, int64_t number); /* NULL: unknown */

/* Whether the list is so long that most of it should be forgotten. If so, set `used` of the agents
 * to keep, and call the other. Lost agents are removed; what was not goes when it is not used the
 * next time, either: the record of its use may come later than its own. */
bool agent_log_is_long(const struct agent_log *l);
void agent_log_forget(struct agent_log *l);
