/* cache_models.h - `ydl cache … --models`: versions of models from HDFS on this machine. */
#pragma once
#include "cli/cli.h"
#include "model/node/node_cache.h"

int cache_models_list(const struct cli *c, struct err *err);
int cache_models_prune(const struct cli *c, const struct node_cache_prune *how, struct err *err);

#define CACHE_MODELS_HELP "models from HDFS that are kept on this machine, instead"
