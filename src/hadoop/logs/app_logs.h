/* app_logs.h - the aggregated logs of a finished application's containers.
 *
 * When an application ends and the cluster aggregates logs, every NodeManager writes one file with
 * all logs of its containers (several while a long application runs). This reads both formats that
 * YARN has (TFile and the indexed one) and all places it has had for them, straight from the file
 * system: no web page, no Java.
 *
 *     r = logs_open(set, conf, "alice", "application_1_0007", &logs, &err);
 *     while ((r = logs_next(logs, &file, &err)) > 0)
 *         while ((n = logs_read(logs, p, sizeof(p), &err)) > 0) …
 *
 * Fibers only: it reads from HDFS. One fiber at a time. The contents of the files are checked and
 * bounded; broken ones are refused, never read wrongly. */
#pragma once
#include "hadoop/conf/conf.h"
#include "hadoop/fs/fs.h"

struct logs; /* opaque */

struct logs_file {
    const char *node;      /* "host_port" as YARN writes it, perhaps "_TIME" behind */
    const char *container; /* "container_…" */
    const char *name;      /* "stderr"; a plain file name without slashes or control characters */
    uint64_t length;
    int64_t mtime; /* milliseconds since 1970; 0 where the format does not keep it */
};

/* Finds the application's directories and the nodes' files in them, and opens nothing yet. `user`
 * is whose application it was. Files that are still being written are left out: a file appears when
 * its node has completed it. -ENOENT when there is nothing (no aggregation, not yet, or removed
 * since), with a hint that fits the configuration. `set` and `conf` are borrowed. *ret is the
 * caller's: logs_close(). */
int logs_open(struct fs_set *set, const struct conf *conf, const char *user, const char *app,
              struct logs **ret, struct err *err);
struct logs *logs_close(struct logs *l); /* NULL is fine; always NULL */

/* The next log file of the next container, node after node: 1 and *ret (borrowed until the next
 * call), or 0 at the end. A failure names the node's file; the next call continues with the node
 * after it, so that one broken file does not hide the others. A log that a long application had
 * aggregated in pieces comes once for each piece, under the same name. */
int logs_next(struct logs *l, const struct logs_file **ret, struct err *err);

/* The same, but only files called `name`, and only of `container` unless that is NULL. */
int logs_find(struct logs *l, const char *container, const char *name, const struct logs_file **ret,
              struct err *err);

/* Bytes of the file that logs_next() gave last: at least one and at most `n`, 0 at its end. */
ssize_t logs_read(struct logs *l, void *p, size_t n, struct err *err);

/* The next logs_next() is the first again. */
void logs_rewind(struct logs *l);

AUTO_DEFINE(logs, struct logs *, logs_close);
#define AUTO_LOGS AUTO(logs) struct logs
