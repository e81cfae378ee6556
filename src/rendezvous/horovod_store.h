/* horovod_store.h - the key-value store through which Horovod's workers find each other. Pure.
 *
 * A scope is one circle of workers: "global" for all, "local_HOST" for those of a machine,
 * "cross_N" for those of the same local rank, and others for sets of processes. In the first three
 * a worker says when it is done, and a scope in which all are is emptied, so that it can be used
 * again; in the others it deletes its own key. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define HOROVOD_NAME_MAX 256
#define HOROVOD_VALUE_MAX (4 * MIB) /* a worker's addresses, one for each of the others */
#define HOROVOD_TOTAL_MAX (256 * MIB)
#define HOROVOD_TOTAL_MIN (4 * MIB)
#define HOROVOD_PAIR                                                                               \
    1024 /* bytes for the address that one worker has for another, in all scopes                   \
          */
#define HOROVOD_KEYS_MAX 200000 /* of all scopes together */
#define HOROVOD_KEYS_EACH 32    /* … of each worker, and a few more */

struct horovod_store; /* opaque */

/* *ret is the caller's: horovod_store_free(). `world` is the size of the scope "global",
 * `bytes_max` what all values together may have. */
int horovod_store_new(unsigned world, size_t bytes_max, struct horovod_store **ret,
                      struct err *err);
struct horovod_store *horovod_store_free(struct horovod_store *s); /* NULL is fine; always NULL */
AUTO_DEFINE(horovod_store, struct horovod_store *, horovod_store_free);

/* What that is for so many workers: each has an address for each of the others. */
size_t horovod_budget(unsigned world);

/* Names are texts of 1 to HOROVOD_NAME_MAX bytes (-EINVAL). -E2BIG: too long or too much. */
int horovod_put(struct horovod_store *s, const char *scope, const char *key, const void *p,
                size_t n, struct err *err);
/* Appends the value. -ENOENT without a text: that is how workers wait. */
int horovod_get(struct horovod_store *s, const char *scope, const char *key, struct buf *out,
                struct err *err);
/* A worker is done with the scope (or takes its key away). Not an error when nothing is there. */
int horovod_finish(struct horovod_store *s, const char *scope, const char *key, struct err *err);
