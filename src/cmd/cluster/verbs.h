/* verbs.h - the verbs below `ydl cluster`, one file each. */
#pragma once
#include "cli/cli.h"

extern const struct cli_verb verb_cluster_app, verb_cluster_apps, verb_cluster_info,
    verb_cluster_kill, verb_cluster_move, verb_cluster_nodes, verb_cluster_queues,
    verb_cluster_registry;
