/* tags.h - words that describe a version, KEY=VALUE. Those it was published with are in its
 * manifest; a change is a record of all that it has from then on. Fibers only. */
#pragma once
#include "model/models.h"

#define TAGS_MOST 256

/* The present ones as an object of strings; *ret is the caller's. *ret_generation (may be NULL) is
 * what tags_set() wants to know. */
int tags_of(const struct models *r, const struct manifest *m, int64_t *ret_generation, json_t **ret,
            struct err *err);
/* From now on these, all of them. -EEXIST when somebody was faster. */
int tags_set(const struct models *r, const struct manifest *m, int64_t generation,
             const json_t *tags, struct err *err);
