/* uses.h - what keeps a version from being removed: an alias that names it, or a deployment that
 * runs it. Fibers only.
 *
 * A deployment says so itself, in NAME/deployments/ID.json: {"versions": [3, 4], "name": "shop",
 * "job": "local-…", "machine": "…", "at_ms": 1700000000000}. One whose job has ended does not count
 * any more (uses_job.h), nor one that has not said so for a day: it was killed. Without a time it
 * counts until it is deleted. */
#pragma once
#include "model/models.h"

struct use {
    int64_t version;
    bool deployment; /* else an alias */
    char *name;
    char *path; /* of a deployment's file */
};
struct use_list {
    struct use *v;
    size_t n;
};
void use_list_done(struct use_list *l);
#define AUTO_USE_LIST AUTO_DONE(use_list_done) struct use_list

/* All of a model. -EBADMSG when a deployment's file cannot be understood: then nothing of that
 * model is removed. */
int uses_of(const struct models *r, const char *model, struct use_list *ret, struct err *err);
/* The first use of a version, a deployment before an alias; NULL: none. */
const struct use *uses_find(const struct use_list *l, int64_t version);

#define USES_DAY_MS INT64_C(86400000)

/* What a deployment says; all borrowed. */
struct uses_record {
    const char *model, *id; /* `id`: letters, digits, '.', '_' and '-' */
    const char *name, *job; /* of the deployment and its job; NULL: none */
    json_t *versions;       /* a list of numbers */
};
/* Written in one step: readers see the one before or this one. */
int uses_say(const struct models *r, const struct uses_record *u, struct err *err);
/* None there is fine. */
int uses_forget(const struct models *r, const char *model, const char *id, struct err *err);
