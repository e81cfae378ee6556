/* aliases.h - names for versions that can be moved: NAME@champion. Their history stays
 * (generations.h). Fibers only. */
#pragma once
#include "model/models.h"

struct alias {
    char *name;
    int64_t version;  /* 0: it was removed */
    int64_t previous; /* the version before; 0: none */
    int64_t generation, at_ms;
    char *by;
};
struct alias_list {
    struct alias *v;
    size_t n;
};
void alias_list_done(struct alias_list *l);
#define AUTO_ALIAS_LIST AUTO_DONE(alias_list_done) struct alias_list

/* The version that it stands for; -ENOENT with a sentence when there is no such alias. */
int alias_get(const struct models *r, const char *model, const char *alias, int64_t *ret,
              struct err *err);
/* All that stand for a version, sorted by name. */
int alias_all(const struct models *r, const char *model, struct alias_list *ret, struct err *err);

/* Moves it, or makes it, or with version 0 removes it. The version must be published. -EEXIST when
 * somebody else moved it at the same time. *ret_previous (may be NULL): the version before. */
int alias_set(const struct models *r, const char *model, const char *alias, int64_t version,
              int64_t *ret_previous, struct err *err);
