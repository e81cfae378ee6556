/* keytab.h - newer tokens from a job's own keytab (platform/yarn/yarn_keytab.h).
 *
 *     master ──starts──► ./ydl-helper tokens …     standard input: the keytab, in memory only
 *        ▲                      │ Kerberos ──► KDC, NameNode
 *        └──────tokens──────────┘ standard output, in memory too
 *
 * A static program cannot load the libraries that Kerberos needs, so `ydl` does it, which was sent
 * along. Whether it can run at all depends on the node: a failure is told and tried again. Fibers
 * only. */
#pragma once
#include "hadoop/token/credentials.h"
#include "loop/loop.h"
#include "platform/yarn/yarn_boot.h"

struct keytab; /* opaque */
struct master;

/* What came with the job into this container's directory: *ret is NULL when nothing did. `boot` is
 * borrowed; `run` is a directory of ours for what the helper has to read. *ret is the caller's. */
int keytab_open(const struct yarn_boot *boot, const char *run, struct keytab **ret,
                struct err *err);
struct keytab *keytab_free(struct keytab *k); /* NULL is fine; always NULL */

/* Runs the helper. *ret is the caller's; they are good for *ret_ms from now on. The error is a
 * sentence for people. */
int keytab_get(struct loop *l, const struct keytab *k, struct credentials **ret, int64_t *ret_ms,
               struct err *err);

/* When those that we have should be replaced, by the wall clock in ms: those that a job was
 * submitted with are renewed by the ResourceManager, and good for most of their life. INT64_MAX
 * when there are none. Pure. */
int64_t keytab_due(const struct credentials *c);
/* How long to wait after the n-th failure in a row (from 1), when tokens live for `span`. Pure. */
int64_t keytab_pause(unsigned failures, int64_t span);

/* ---- of the helper's answer; pure ---- */

/* "MILLISECONDS\nHDTS…" */
int keytab_answer(const void *p, size_t n, struct credentials **ret, int64_t *ret_ms,
                  struct err *err);
/* What it said on standard error, as one sentence with its hint. */
void keytab_complaint(const char *text, int status, struct err *err);

/* ---- keytab_watch.c: in time, while the job runs ---- */
int keytab_watch_start(struct master *m, struct err *err); /* nothing without a keytab */
void keytab_watch_stop(struct master *m);
