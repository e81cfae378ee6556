/* withdraw.h - removes a version so that nobody ever reads half of it. Fibers only.
 *
 *     MANIFEST.json ──► REMOVED.json: from here on it is not published
 *     files deleted, the directory stays: its number is never given away again
 */
#pragma once
#include "model/models.h"

/* -EBUSY with a sentence when an alias names it or a deployment uses it, -ENOENT when it is not
 * published. */
int model_withdraw(const struct models *r, const char *model, int64_t version, struct err *err);

/* Deletes what an interrupted one left of a version that is not published any more. Returns 1 when
 * there was something (with `dry`: nothing is deleted), else 0. -EBUSY when somebody began to use
 * the version while it was being removed: then whoever removes it may be about to put it back. */
int model_withdraw_rest(const struct models *r, const char *model, int64_t version, bool dry,
                        struct err *err);
