/* serve.c - a deployment of models, as 'ydl serve' makes it: gateways, one as a rule, and the
 * replicas behind them.
 *
 * Its roles but the gateway are groups of replicas. Tasks know nothing of each other: the gateway
 * finds replicas by the job's key-value store, and they come and go while it lasts. */
#include "framework/frameworks.h"

static const struct framework_role roles[] = {
    { .name = "gateway",
      .decides = true,
      .ports = 1,
      .doc = "takes requests and gives them to replicas" },
    { .name = "worker", .ranked = true, .decides = true, .doc = "any name: a group of replicas" },
    { 0 },
};

const struct framework framework_serve = {
    .name = "serve",
    .summary = "a deployment of models (see 'ydl serve')",
    .doc = "What 'ydl serve deploy' makes: a gateway, and roles that are groups of replicas of one "
           "version of a model. A task that ends is started again in its place, and the others do "
           "not notice. The job lasts until it is stopped.",
    .proven = true,
    .roles = roles,
    .any_roles = true,
    .names = true,
    .elastic = true,
    .keeps_ports = true,
    .stands_in = true,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_RELEASE,
};
