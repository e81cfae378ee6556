/* generations.h - a small document that changes: a directory in which each change is a new file,
 * numbered from 1 on. The highest number counts, the lower ones are its history.
 *
 *     DIR/1.json   DIR/2.json   …
 *
 * Whoever knows generation g writes g+1 by a rename that replaces nothing: of two who do, one wins,
 * and the other is told with -EEXIST. Fibers only. */
#pragma once
#include "model/models.h"

#define RECORD_MOST (256 * KIB)

/* The newest: *ret_generation is 0 and *ret NULL when there is none. *ret is the caller's. */
int generations_newest(const struct models *r, const char *dir, int64_t *ret_generation,
                       json_t **ret, struct err *err);
/* Adds generation `g`, `doc` with the members generation, at_ms and by. The directory, and those
 * above it up to the model's, are made. -EEXIST when somebody was faster, -E2BIG when nobody could
 * read it. */
int generations_add(const struct models *r, const char *dir, int64_t g, json_t *doc,
                    struct err *err);
/* A small JSON file. */
int generations_read(const struct models *r, const char *path, json_t **ret, struct err *err);
