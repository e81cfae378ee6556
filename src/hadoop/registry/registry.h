/* registry.h - YARN's registry: records of services and their parts in ZooKeeper, where other
 * programs and RegistryDNS find them.
 *
 * Which ZooKeeper and where in it say hadoop.registry.zk.* of the configuration. Anybody may read
 * and write, as on every cluster without Kerberos; a registry with Kerberos
 * (hadoop.registry.secure) is refused. Paths (registry_names.h) are below the registry's root.
 *
 * What is put with `while_alive` is there for as long as this program: it goes when the registry is
 * closed, when it is deleted, or some time after the program died (the session's time-out). It
 * comes back by itself when the servers forgot us and we lived. Anything else stays until it is
 * deleted.
 *
 * Fibers only; any number of them may use one registry. A connection that was lost is made again;
 * calls wait for that until their deadline. Errors: -ENOENT, -EACCES, -ENOTEMPTY, -ETIMEDOUT,
 * -ECANCELED, -EIO, and those of registry_names.h and record.h. */
#pragma once
#include "base/str.h"
#include "hadoop/conf/conf.h"
#include "hadoop/registry/record.h"
#include "hadoop/registry/registry_names.h"
#include "loop/loop.h"

struct registry; /* opaque */

/* Connects. Waits at most until `deadline` and at most as long as the configuration says. `conf` is
 * not kept. *ret is the caller's: registry_close(). */
int registry_open(struct loop *l, const struct conf *conf, int64_t deadline, struct registry **ret,
                  struct err *err);
/* No call may be under way. Takes its records away that live as long as the program, also on a
 * fiber that was cancelled; some seconds at most. NULL is fine; always NULL. */
struct registry *registry_close(struct registry *r);

/* Writes a record, with what is missing above it; one that is there is replaced. RegistryDNS sees
 * new records and those that go, so of one that is replaced it keeps the old answer unless it was
 * put `while_alive` (then the new one is another record to it). */
int registry_put(struct registry *r, const char *path, const struct registry_record *record,
                 bool while_alive, int64_t deadline, struct err *err);
/* The same for a path where nothing stands yet, for as long as nobody deletes it: -EEXIST when
 * something does. Only one of several concurrent callers succeeds. */
int registry_claim(struct registry *r, const char *path, const struct registry_record *record,
                   int64_t deadline, struct err *err);
/* -ENODATA when there is no record, only other paths below. *ret is the caller's. */
int registry_get(struct registry *r, const char *path, json_t **ret, int64_t deadline,
                 struct err *err);
/* The names of what is below `path`, sorted, in place of what is in `ret`. */
int registry_list(struct registry *r, const char *path, struct strs *ret, int64_t deadline,
                  struct err *err);
/* -ENOTEMPTY when something is below and it is not `recursive`. A missing record is no error. */
int registry_delete(struct registry *r, const char *path, bool recursive, int64_t deadline,
                    struct err *err);

AUTO_DEFINE(registry, struct registry *, registry_close);
#define AUTO_REGISTRY AUTO(registry) struct registry
