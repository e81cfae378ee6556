/* yarn_boot.h - the boot document of a job's containers, and a job's directories in HDFS.
 *
 * A container gets everything in its credentials, so that nothing appears in a command, in an
 * environment or on a page: the job's key (secret "ydl.key", STREAM_KEY bytes) and a JSON document
 * (secret "ydl.boot"):
 *     {"format": 1, "job": "application_…", "base": "hdfs://ns/user/me/.ydl", "user": "me",
 *      "conf": "<configuration>…", "address": "tcp:10.0.0.5:40123"}
 * `conf` is the submitter's configuration, as much of it as we read; `address` is the master's, and
 * only agents are told one.
 *
 *     BASE/                          /user/ME/.ydl, or what --staging says; 0700
 *         jobs/APP/                  while the job lives, 0700; removed at its end
 *             key                    0600: the job's key, base64: for its owner's `ydl`
 *             master.json            {"format": 1, "attempt": 2, "address": "tcp:…"}, by rename
 *         logs/APP/                  for as long as people keep it, 0700
 *             job.json, spec.json    as in platform/local/local_jobs.h
 *             events-1.jsonl …       the events log, in segments: see job/segment.h
 *             worker-0.out, .err …   output of each task, when its agent leaves
 *         cache/HASH/NAME            files and archives by their content
 *         out/APP/                   results, where the job does not say
 *
 * Pure. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "hadoop/token/credentials.h"
#include "wire/stream.h"

#define YARN_BOOT_KEY "ydl.key"
#define YARN_BOOT_FACTS "ydl.boot"

struct yarn_boot {
    char *job, *base, *user, *conf, *address; /* address, user: perhaps NULL */
    struct stream_key key;                    /* its identity is the job's id */
};

/* -ENOKEY when the credentials hold no ydl job. `ret` needs yarn_boot_done() in any case. */
int yarn_boot_read(const struct credentials *c, struct yarn_boot *ret, struct err *err);
int yarn_boot_add(const struct yarn_boot *b, struct credentials *c, struct err *err);
void yarn_boot_done(struct yarn_boot *b); /* wipes the key; zero is a valid start */

#define AUTO_YARN_BOOT AUTO_DONE(yarn_boot_done) struct yarn_boot

/* Takes out what no task may have: our secrets and the AMRM token. */
int yarn_boot_strip(const struct credentials *c, struct credentials **ret, struct err *err);

/* What the agent beside the client says for a container's id. A new string; NULL when out of
 * memory. */
char *yarn_boot_client(const char *job);

/* BASE/jobs/APP and the others; `name` NULL: the directory itself. New strings; NULL when out of
 * memory. */
enum yarn_home { YARN_HOME_JOBS, YARN_HOME_LOGS, YARN_HOME_CACHE, YARN_HOME_OUT, YARN_HOME_MODELS };
char *yarn_home(const char *base, enum yarn_home what, const char *job, const char *name);
