/* node_entry.h - one version in a node's cache: is it whole? */
#pragma once
#include "loop/loop.h"
#include "model/manifest.h"

/* Is DIR the version whose manifest has this hash? 1: it is whole; 0: it is not, or is not there,
 * and `why` says what is wrong; or why that cannot be known. Files that were changed since they
 * were fetched are read again, with `all` every one. Hashing is done in the work pool. `ret` (may
 * be NULL) is the caller's when it is whole. Fibers only. */
int node_entry_check(struct loop *l, const char *dir, const char *hash, bool all,
                     struct manifest *ret, struct err *why);
/* Its manifest alone; the same results. Any thread. */
int node_entry_manifest(const char *dir, const char *hash, struct manifest *ret, struct err *why);
