/* environ.h - an environment being put together: "NAME=value" entries, where a later one replaces
 * an earlier one of the same name. Pure; any thread, one at a time per value. */
#pragma once
#include "base/auto.h"
#include "base/str.h"

struct env {
    char **v; /* NULL-terminated once it has an entry, for exec */
    size_t n, cap;
    struct strs owned;
};

/* All of them: -EINVAL when there is no name before a '=' or a NUL is inside, -ENOMEM. */
int env_lend(struct env *e, char *entry); /* borrowed: outlives the environment */
int env_copy(struct env *e, const void *p, size_t n);
int env_set(struct env *e, const char *name, const char *value);

const char *env_get(const struct env *e, const char *name); /* NULL when it is not there */
void env_unset(struct env *e, const char *name);

void env_done(struct env *e);
#define AUTO_ENV AUTO_DONE(env_done) struct env
