/* spec.h - a job as the user wants it: the one specification that every front end makes.
 *
 * Made by spec_parse() from YAML (spec_yaml.c), by spec_flag() from command-line words
 * (spec_flags.c), or by hand in a front end; checked by spec_check() (spec_check.c). The keys,
 * their types, defaults and help texts are rows of one table (spec_keys.c), from which the JSON
 * Schema and the manual page come too. Pure: no file is opened, no clock is read. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

#define SPEC_ROLES_MAX 64       /* roles of one job */
#define SPEC_TASKS_MAX 20000    /* tasks of one job, all roles together */
#define SPEC_FILE_MAX (4 * MIB) /* bytes of a job file */
#define SPEC_AMOUNTS_MAX 32     /* resource types that a role names */
#define SPEC_AMOUNT_MAX ((int64_t)1 << 50)
#define SPEC_FOREVER (-1)

enum spec_policy { SPEC_RESTART_DEFAULT, SPEC_RESTART_NEVER, SPEC_RESTART_TASK, SPEC_RESTART_GANG };
enum spec_place { SPEC_PLACE_CLUSTER, SPEC_PLACE_CLIENT };
enum spec_spread {
    SPEC_SPREAD_ANY,
    SPEC_SPREAD_NODE, /* one container of the role on a node */
    SPEC_SPREAD_PACK, /* on as few nodes as will do */
};
enum spec_image_by { SPEC_IMAGE_BY_AUTO, SPEC_IMAGE_BY_YARN, SPEC_IMAGE_BY_AGENT };
enum spec_native {
    SPEC_NATIVE_AUTO, /* where nothing of the user's can be missed by it */
    SPEC_NATIVE_YES,  /* for every role that ydl-native can play */
    SPEC_NATIVE_NO,
};
enum spec_hadoop {
    SPEC_HADOOP_AUTO, /* for tasks that name a file on HDFS, as far as it is there */
    SPEC_HADOOP_YES,  /* for all, and they do not start without it */
    SPEC_HADOOP_NO,
};
enum spec_avoid {
    SPEC_AVOID_NODE_FAULTS, /* what can be the node's fault, the second time */
    SPEC_AVOID_ALL,         /* everything but preemption and lost nodes, the first time */
};
enum spec_when { SPEC_AFTER_STARTED, SPEC_AFTER_READY, SPEC_AFTER_FINISHED };
enum spec_ready_kind {
    SPEC_READY_NONE, /* ready as soon as it is started */
    SPEC_READY_PORT, /* its (first) port accepts connections */
    SPEC_READY_HTTP, /* GET `what` (a path) on its port answers 200 */
    SPEC_READY_FILE, /* the file `what` exists in its directory */
    SPEC_READY_LOG,  /* a line of its output contains `what` */
};

/* "FROM: TO": a file, directory or archive and its name beside the task; `to` NULL: the same. */
struct spec_file {
    char *from, *to; /* in `output` an empty `from` is all of $YDL_OUT, and `to` is never NULL */
};

struct spec_var {
    char *name, *value;
};

/* So much of a resource type: { "yarn.io/fpga", 1 }. */
struct spec_amount {
    char *name;
    int64_t value;
};

struct spec_after {
    char *role;
    enum spec_when when;
};

struct spec_ready {
    enum spec_ready_kind kind;
    char *what;
    int64_t timeout; /* ms; not ready by then is a failure. 0: no limit */
};

struct spec_restart {
    enum spec_policy policy;
    int64_t max;       /* restarts within the window: of each task, or of the gang; -1: not said */
    int64_t window;    /* ms; 0: not said */
    int64_t delay;     /* ms: no sooner than that; 0: not said */
    struct strs codes; /* numbers: only what ended with one of these codes; empty: not said */
};

/* The users and groups, besides the owner, that may see the job, and those that may change it:
 * "USERS GROUPS", lists with commas and one blank between; NULL: nobody. */
struct spec_acl {
    char *view, *modify;
};

/* The master's container; what is not said has the platform's defaults. */
struct spec_master {
    uint64_t memory; /* bytes */
    unsigned cpus;
    char *label;    /* NULL: the job's */
    int64_t window; /* ms: failures longer ago do not count; 0: an hour */
};

/* Growing lists: `v` has `n` elements, owned by the specification. */
struct spec_files {
    struct spec_file *v;
    size_t n;
};
struct spec_vars {
    struct spec_var *v;
    size_t n;
};
struct spec_afters {
    struct spec_after *v;
    size_t n;
};
struct spec_amounts {
    struct spec_amount *v;
    size_t n;
};

struct spec_role {
    char *name;          /* [a-z][a-z0-9_-]*, at most 32 bytes */
    unsigned count;      /* containers */
    unsigned procs;      /* processes in each; tasks = count × procs. 0: not said, counts as 1 */
    uint64_t memory;     /* bytes of a container; 0: not asked for */
    unsigned cpus;       /* 0: not asked for */
    unsigned gpus;       /* of a container, shared by its processes */
    struct strs command; /* with {variables}; empty: the job's command or the framework's */
    struct spec_vars env;
    struct spec_files files, archives;
    struct spec_amounts resources; /* further ones of a container, by YARN's names */
    char *image, *label;           /* NULL: the job's */
    enum spec_place place;
    enum spec_spread spread;
    struct spec_vars exports; /* "GROUP/NAME" and what each task publishes there */
    struct strs hosts;        /* where it would rather be: hosts, and racks, which begin with '/' */
    struct spec_afters after;
    struct spec_ready ready;
    struct spec_restart restart; /* what is not said comes from the job's */
    int side;      /* 1: its end does not matter; 0: it does; -1: not said (the framework knows) */
    int decides;   /* 1: the job succeeds when all such tasks have; -1: not said */
    int ports;     /* ports of each task; -1: not said (the framework knows) */
    unsigned port; /* the first one of them; 0: any that is free */
    int line;      /* where it stands in the file; 0 from flags */
};

/* What -n, -s, --mem, --cpus, --gpus and --procs said. Only the framework knows which roles they
 * mean, so they wait here for its complete(); see spec_role_count() and spec_working_role_apply().
 * -1: not said. They are no keys of the job file, and spec_json() leaves them out. */
struct spec_working {
    int64_t workers, servers;
    int64_t memory, cpus, gpus, procs;
};

/* What of a job's results becomes a version of a model when the job succeeds. Where the registry is
 * and what is a name there, src/model knows: launch/targets/publish_target.h. */
struct spec_publish {
    char *name;            /* of the model; NULL: nothing is published */
    char *path;            /* below the results; NULL: all of them */
    char *alias;           /* is moved to the new version; NULL: none */
    char *registry;        /* NULL: the configuration says */
    char *commit;          /* of the job's source; NULL: not known */
    struct spec_vars tags; /* of the version */
};

struct spec {
    char *name;          /* NULL: made from the command */
    char *framework;     /* NULL: "none" */
    struct strs command; /* of the roles that have none of their own: what stands after `--` */
    struct spec_role *roles;
    size_t n_roles;
    struct spec_vars env;
    struct spec_files files, archives, output;
    struct spec_publish publish;
    char *image, *label;
    enum spec_image_by image_by;
    enum spec_native native; /* which of the framework's servers run without Python */
    struct strs mounts;      /* of images: "/FROM:/TO", perhaps with ":ro" or ":rw" */
    struct spec_working working;
    struct spec_restart restart;
    enum spec_avoid avoid;        /* what makes a node one to be avoided */
    int64_t gang_hold;            /* ms */
    int64_t gang_retry;           /* how often; SPEC_FOREVER */
    int64_t save_time;            /* ms for output and results to be saved at the end */
    int64_t grace;                /* ms between the request to end and the kill */
    int64_t timeout;              /* ms for the whole job; 0: none */
    uint64_t log_limit;           /* bytes of output of one task; 0: none */
    uint64_t log_rotate;          /* output is cut into files of this size; 0: it is not */
    unsigned log_keep;            /* the number of them to keep, beside the last; 0: all */
    unsigned port_low, port_high; /* the range for ports; 0: the platform's */
    char *tensorboard;            /* log directory; NULL: none */
    int tensorboard_first;        /* 1: the tracking URL leads to it; -1: not said */
    char *directory; /* where a job on this machine runs its tasks, and where the paths in its
                      * commands begin; NULL: the current directory. No key: a job file's own, see
                      * launch/job_paths.h */
    char *venv;      /* a Python environment put first in PATH; NULL: none */
    struct strs pip;
    enum spec_hadoop hadoop; /* what tasks are told of the machine's Hadoop */
    /* for YARN */
    char *queue;
    int64_t priority; /* -1: not said */
    struct strs tags;
    struct spec_acl acl;
    unsigned attempts; /* of the master */
    struct spec_master master;
    char *staging;            /* the directory for everything of ours; NULL: ~/.ydl there */
    char *principal, *keytab; /* for jobs that outlive their tokens; both or none */
    char *client_address;     /* of the client's tasks for others; NULL: as it reaches the master */
    unsigned nodes;           /* local: how many machines to pretend; 0: one */
};

/* A specification with every field at "not said" or at the table's default. */
void spec_init(struct spec *s);
void spec_done(struct spec *s);

#define AUTO_SPEC AUTO_DONE(spec_done) struct spec /* = { 0 }; then spec_init() */

struct spec_role *spec_role(const struct spec *s, const char *name); /* NULL when there is none */
/* A new role at the end with the table's defaults; -E2BIG past SPEC_ROLES_MAX, -EEXIST. */
int spec_add_role(struct spec *s, const char *name, struct spec_role **ret);
size_t spec_tasks(const struct spec *s); /* all roles: count × procs */

/* ---- for frameworks: what the flags said, put into roles ---- */

/* Sets the count of the role `name` to what -n or -s said (`said` is s->working.workers or
 * .servers) and makes the role when it is missing; does nothing when nothing was said. */
int spec_role_count(struct spec *s, const char *name, int64_t said);
/* Gives a role that does the work what --mem, --cpus, --gpus and --procs said; where they said
 * nothing, it keeps its own. To be called for every role that decides. */
void spec_working_role_apply(const struct spec *s, struct spec_role *r);

/* ---- changing lists: all copy, and return 0 or -ENOMEM ---- */
int spec_set_text(char **where, const char *text); /* NULL text: not said any more */
int spec_set_var(struct spec_vars *l, const char *name,
                 const char *value); /* the last one counts */
int spec_add_file(struct spec_files *l, const char *from, const char *to);
/* Does a file or a target have a scheme ("hdfs://ns/a"), other than that of files here? */
bool spec_is_remote(const char *name);
int spec_add_after(struct spec_afters *l, const char *role, enum spec_when when);
int spec_set_amount(struct spec_amounts *l, const char *name, int64_t value);

/* ---- mistakes ----
 * All of them are collected before any is reported. Each is one line of text: where, which key,
 * what is wrong, and the nearest right word when there is one: job.yaml:4: roles.worker.memroy:
 * unknown key (did you mean 'memory'?) */
#define SPEC_FAULTS_MAX 100 /* lines that are kept; the last one says that there are more */

struct spec_node;
struct spec_faults {
    struct strs lines;
    size_t n;               /* faults found, also those past SPEC_FAULTS_MAX */
    char *file;             /* what the lines begin with; NULL without a file */
    struct spec_node *tree; /* the file as it was read: knows the lines of keys */
    bool unreadable;        /* it could not be taken apart: nothing more is to be found in it */
};

/* Adds a line and returns -EINVAL (or -ENOMEM). `key` is a path ("roles.worker.env.HOME"), a flag
 * ("--mem") or NULL. With line 0 the line of the key in the file is looked up, and of the map that
 * it would be in when it is not there. */
int spec_fault(struct spec_faults *f, int line, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void spec_faults_done(struct spec_faults *f);

#define AUTO_SPEC_FAULTS AUTO_DONE(spec_faults_done) struct spec_faults /* = { 0 } */

/* ---- from text ---- */

/* Reads YAML (of which JSON is a part). Fills `s`, which was initialised, and adds to `f` what is
 * wrong; -EINVAL when something is. The valid part is in `s` then, so that the caller may go on to
 * the framework and spec_check() with the same `f` and show all faults together. Aliases, tags,
 * several documents, more than SPEC_FILE_MAX bytes, 32 levels or 100,000 nodes are refused. */
int spec_parse(const char *file, const void *text, size_t n, struct spec *s, struct spec_faults *f);

/* Sets what one command-line option says; `flag` is a name without dashes of spec_flags() in
 * spec_keys.h (workers, servers, role, mem, env, files, restart, …). Options win over the file:
 * call after spec_parse(), once for each time the option was given. Values:
 *     --role NAME=COUNT[,key=value…]   keys of a role; `command=` takes all that follows
 *     --env NAME=VALUE
 *     --files, --archives FROM[#TO][,…]
 *     --output [FROM=]TO
 *     --tag, --pip WORD[,…]         "pkg[a,b]>=1,<2" is one word */
int spec_flag(struct spec *s, const char *flag, const char *value, struct spec_faults *f);

/* Splits a command as a POSIX shell would split words: quotes and backslashes, no expansion. */
int spec_words(const char *text, struct strs *ret, struct err *err);

/* Checks everything that can be known without looking at the machine: names, counts, ranges,
 * cycles of `after`, roles that nobody defines, variables that no rank has, totals. To be called
 * after the framework has filled in its defaults (framework_complete). -EINVAL with all faults,
 * also when all of them were in `f` before; what is missing (a task, a command) is reported only
 * when nothing else is wrong, because it may be there under a misspelled key. */
int spec_check(const struct spec *s, struct spec_faults *f);

/* The specification as JSON that spec_parse() reads back to the same one: how it travels. Keys in
 * the table's order; what was not said is left out. */
int spec_json(const struct spec *s, json_t **ret, struct err *err);
/* The same as text on one line, for files and messages. Characters that JSON leaves as they are
 * and YAML does not take are escaped, so json_dumps() is no substitute. */
int spec_print(const struct spec *s, struct buf *out, struct err *err);

/* ---- from the table ---- */
int spec_schema(json_t **ret, struct err *err); /* JSON Schema, draft 2020-12 */
/* Entries for the manual page of the job file: "key\tmeaning" lines for a cli_section body. */
int spec_manual(struct buf *out);
