/* dmlc_common.h - what the launchers that come from dmlc-core have in common: ydl-mx, dmlc-yarn,
 * dmlc-submit and ydl-launch. They differ in their options and defaults only. */
#pragma once
#include "cmd/front/front.h"

#include <string.h>

#define DMLC_ATTEMPTS 3 /* on YARN, of one task, unless somebody says otherwise */

/* A job as all of them describe it. */
struct dmlc {
    const char *on; /* "local" or "yarn" */
    int64_t workers, servers;
    const char *tracker; /* the framework when there are no servers: "rabit"; NULL: mxnet too */
    const char *worker_memory, *server_memory; /* "1g"; NULL: not said */
    int64_t worker_cpus, server_cpus;          /* 0: not said */
    bool sized; /* these were asked for, and are no defaults: they count on this machine too */
    const char *scheduler; /* "client" or "cluster"; NULL: as they always did */
    const char *address;   /* of this machine, for a scheduler here; or NULL */
    int64_t attempts;      /* of a task, the first one among them */
};

/* By an option (NULL: there is none), by DMLC_MAX_ATTEMPT, or as they always did. */
int64_t dmlc_attempts(const struct front_ask *a, const char *on, const char *option);

/* --on, --framework, roles, restarts, and the variables that say it all once more. CLI_USAGE for a
 * scheduler that cannot be where it is wanted. */
int dmlc_words(const struct front_ask *a, const struct dmlc *f, struct front_call *c,
               struct err *err);

/* Variables of ours that tasks get: DMLC_…, AWS_… and rabit_…, but those that a launcher sets. */
void dmlc_pass(const struct front_ask *a, struct front_call *c);

/* One more variable of every task, unless the user gave it by --env. */
void dmlc_env(const struct front_ask *a, struct front_call *c, const char *name, const char *fmt,
              ...) __attribute__((format(printf, 4, 5)));

/* CLI_USAGE when the option that counts workers, or the command, is missing. */
int dmlc_needs(const struct front_ask *a, const char *count, struct err *err);

/* CLI_USAGE for a command like `python gone.py` on YARN whose script is not here, and cannot come
 * in something else. On this machine ydl itself looks. */
int dmlc_script(const struct front_ask *a, const char *on, struct err *err);

/* Values of --native (those of ydl, and those of MXNetOnYARN's launch.py, which are languages), and
 * of other options. */
extern const char *const dmlc_natives[], *const dmlc_schedulers[], *const dmlc_trackers[],
                                                                       *const dmlc_levels[];

/* Options that several of them have. */
#define DMLC_JAVA "ydl does not use Java"
/* clang-format off */
#define DMLC_SCHEDULER                                                                              \
    { "--scheduler", .meta = "WHERE", .help = "where to run the scheduler of a job with servers, "  \
      "on this machine (this command must then keep running) or in a container",                    \
      .fallback = "client; with --detach, cluster",                                                 \
      .choices = dmlc_schedulers }
#define DMLC_NATIVE                                                                                 \
    { "--native", .meta = "WHEN", .help = "run servers without Python; with auto, only the "        \
      "scheduler, if MXNet's library is found; names of languages have no effect",                  \
      .choices = dmlc_natives }
#define DMLC_TRACKER                                                                                \
    { "--tracker", .meta = "KIND", .help = "tracker of a job without servers, rabit also for "      \
      "XGBoost up to 2.0, xgboost for XGBoost 2.1 and later", .preset = "rabit",                    \
      .choices = dmlc_trackers }
#define DMLC_LOG                                                                                    \
    { "--log-level", .meta = "LEVEL", .help = "log level", .preset = "INFO",                        \
      .choices = dmlc_levels },                                                                     \
    { "--log-file", .meta = "FILE", .help = "append log messages to FILE as well" }
#define DMLC_LIBCXX                                                                                 \
    { "--ship-libcxx", .meta = "DIR", .help = "upload DIR/libstdc++.so.6 for the tasks" }
#define DMLC_SSH(hosts, long_hosts)                                                                 \
    { hosts, .also = { long_hosts }, .meta = "FILE", .help = "list of hosts for ssh and mpi",       \
      .not_supported = "ydl takes no list of hosts; on YARN, --node-label selects nodes" },         \
    { "--sync-dst-dir", .meta = "DIR", .help = "directory that ssh copies to",                      \
      .not_supported = "ydl does not copy by ssh; use --files to upload files" }
/* clang-format on */

/* --native as ydl's; a note for a language, which needs no option. */
void dmlc_native(const struct front_ask *a, struct front_call *c);

/* The values of an option as --files, split at `seps`; CLI_USAGE for one that is not there. */
int dmlc_files(const struct front_ask *a, const char *option, const char *seps,
               struct front_call *c, struct err *err);

/* Options that dmlc-yarn and dmlc-submit call by names of their own. */
struct dmlc_options {
    const char *files, *between;  /* further files; what may stand between several in one value */
    const char *staging, *hadoop; /* the directory in HDFS; the program 'hadoop', or NULL */
};
/* Name, files, configuration, log: what both add to the words of the job. */
int dmlc_launcher(const struct front_ask *a, const struct dmlc *f, const struct dmlc_options *o,
                  struct front_call *c, struct err *err);

/* What becomes of the files that a command names. */
enum dmlc_files {
    DMLC_HERE,  /* tasks run in this directory */
    DMLC_SEND,  /* those named by a path out of this directory are sent along and called ./NAME */
    DMLC_AS_IS, /* nothing: what the command names is on the nodes */
};

/* By where the job runs, and on YARN by whether the launcher shall send files by itself. */
static inline enum dmlc_files dmlc_files_of(const struct dmlc *f, bool cache)
{
    if (strcmp(f->on, "local") == 0)
        return DMLC_HERE;
    return cache ? DMLC_SEND : DMLC_AS_IS;
}

/* The command at the end. A program without a path that is a file of this directory is called
 * ./NAME, as dmlc-core does, unless DMLC_AS_IS. */
int dmlc_command(const struct front_ask *a, const struct strs *command, enum dmlc_files files,
                 struct front_call *c);
/* The first word of a command, as above, for a command that runs another one. */
int dmlc_program(const char *word, struct strs *to);

/* The Hadoop configuration below HADOOP_HOME, which is what these launchers went by, when nothing
 * else names one. `binary` is the path of a bin/hadoop, or NULL. */
void dmlc_conf(const struct front_ask *a, const char *binary, struct front_call *c);

/* A note for words like `--kv-store sync`, which is no store that servers have a part in. */
void dmlc_kvstore(const struct strs *command, struct front_call *c);
