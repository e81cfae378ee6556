/* publish_same.h - are the files that are to be published those of a version that is there? Found
 * out by reading them, before anything is written. Fibers only. */
#pragma once
#include "model/publish.h"

/* Compares them with the version what->version, or the newest: 1 and *ret, which is the caller's,
 * when names, sizes and hashes are all the same; 0 when they are not, or there is no version. */
int publish_same(const struct models *r, const struct model_publish *what,
                 const struct model_files *files, struct manifest *ret, struct err *err);
