/* plan_names.c - see plan_names.h. */
#include "framework/plan/plan_names.h"

/* clang-format off */
static const char *const policies[] = {
    [SPEC_RESTART_DEFAULT] = "default", [SPEC_RESTART_NEVER] = "never",
    [SPEC_RESTART_TASK]    = "task",    [SPEC_RESTART_GANG]  = "gang",
};
static const char *const places[] = {
    [SPEC_PLACE_CLUSTER] = "cluster", [SPEC_PLACE_CLIENT] = "client",
};
static const char *const whens[] = {
    [SPEC_AFTER_STARTED]  = "started",  [SPEC_AFTER_READY] = "ready",
    [SPEC_AFTER_FINISHED] = "finished",
};
static const char *const readies[] = {
    [SPEC_READY_NONE] = "none", [SPEC_READY_PORT] = "port", [SPEC_READY_HTTP] = "http",
    [SPEC_READY_FILE] = "file", [SPEC_READY_LOG]  = "log",
};
static const struct {
    unsigned bit;
    const char *word;
} servers[] = {
    { FRAMEWORK_RABIT,   "rabit" },   { FRAMEWORK_XGBOOST, "xgboost" },
    { FRAMEWORK_HOROVOD, "horovod" }, { FRAMEWORK_SLIDER,  "slider" },
    { FRAMEWORK_PMI,     "pmi" },
};
/* clang-format on */

#define WORD(table, i) ((size_t)(i) < COUNT_OF(table) ? (table)[i] : "?")

const char *plan_policy_name(enum spec_policy p)
{
    return WORD(policies, p);
}

const char *plan_place_name(enum spec_place p)
{
    return WORD(places, p);
}

const char *plan_when_name(enum spec_when w)
{
    return WORD(whens, w);
}

const char *plan_ready_name(enum spec_ready_kind k)
{
    return WORD(readies, k);
}

const char *plan_server_name(unsigned bit)
{
    for (size_t i = 0; i < COUNT_OF(servers); i++)
        if (servers[i].bit == bit)
            return servers[i].word;
    return "?";
}
