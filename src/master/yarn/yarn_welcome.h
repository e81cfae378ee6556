/* yarn_welcome.h - what an agent in a container is told: hooks of struct master_ops. */
#pragma once
#include "agent.pb-c.h"
#include "base/str.h"
#include <stdbool.h>

struct master;
struct results;

int yarn_welcome(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                 Agent__JobFacts *facts);
bool yarn_results_wanted(const struct master *m);
int yarn_results(const struct master *m, struct results *r);
const char *yarn_results_waiting(const struct master *m, const char *to);
