/* uses.h - what keeps a version from being removed: an alias that names it, or a deployment that
 * runs it. Fibers only.
 *
 * A deployment says so itself, in NAME/deployments/ID.json: {"versions": [3, 4]}. */
#pragma once
#include "model/models.h"

struct use {
    int64_t version;
    bool deployment; /* else an alias */
    char *name;
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
