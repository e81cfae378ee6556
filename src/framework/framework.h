/* framework.h - what a deep-learning framework needs of its launcher.
 *
 * One framework is one file and one row of framework_table. Everything here is pure: it computes
 * arguments and environments from the cluster specification. Servers that the framework expects its
 * launcher to run (trackers, key-value servers) are named here and run by rendezvous/. */
#pragma once
#include "base/err.h"
#include "job/cluster_spec.h"
#include "job/spec/spec.h"

/* Which servers the master runs for the job, as bits. */
enum framework_server {
    FRAMEWORK_RABIT = 1,   /* XGBoost up to 2.0 and dmlc-core */
    FRAMEWORK_XGBOOST = 2, /* XGBoost from 2.1 */
    FRAMEWORK_HOROVOD = 4, /* gloo's HTTP key-value server */
    FRAMEWORK_SLIDER = 8,  /* Slider's REST: what tasks publish, and where they are */
    FRAMEWORK_PMI = 16,    /* PMI-1, over a descriptor in the task; the last */
};

/* How the agent lets go of a held port when the task starts. */
enum framework_port {
    FRAMEWORK_PORT_RELEASE, /* just before exec: the program sets no reuse option */
    FRAMEWORK_PORT_SHARE,   /* held on: the program binds beside it (SO_REUSEADDR or _REUSEPORT) */
};

/* When a role comes into being that the user did not write down. */
enum framework_make {
    FRAMEWORK_ASKED,   /* never, except for what -n and -s ask for */
    FRAMEWORK_ALWAYS,  /* one task, always: Dask's scheduler */
    FRAMEWORK_SERVING, /* one task, when there are servers: ps-lite's scheduler */
    FRAMEWORK_DRIVER,  /* one task, when there is a command of the job's own for it to run */
};

/* One role as the framework sees it. */
struct framework_role {
    const char *name;
    bool decides; /* its end decides success */
    bool side;    /* its end does not matter */
    bool ranked;  /* trains: its tasks have ranks in the framework's world, in the table's order */
    bool one;     /* at most one task */
    unsigned ports;
    enum framework_make make;
    const char *command; /* what it runs when it has no command: text with {variables}; NULL: the
                          * job's command */
    const char *after;   /* the role whose first port must answer before it starts; NULL: none */
    const char *doc;
};

/* What one task is told. Values are appended in a stable order; names not twice. */
struct framework_task {
    const struct framework *framework;
    const struct spec *spec;
    const struct cluster *cluster;
    const struct spec_role *role;
    unsigned rank;    /* in the role */
    unsigned attempt; /* starts before this one */
    const char *job;  /* id */
    /* Where the servers named by `servers` listen; valid when the framework asked for one. */
    const char *server_host;
    int server_port;        /* 0: none */
    const char *error_file; /* where a structured error may be left; NULL: the agent's business */
    const char *common;     /* what the framework's `common` made; NULL: it has none */
    const char *const *inherited; /* "NAME=value" that the task gets in any case; NULL: nothing */
    struct strs *argv;            /* the command with its variables replaced; may be changed */
    struct strs *env;             /* "NAME=value"; to be added to */
};

/* The role that -n counts, and --mem, --gpus … are for. */
#define FRAMEWORK_WORKER "worker"

/* The side role of any job that names a log directory, and where the agent keeps a copy of one in
 * HDFS for it, in the task's directory. */
#define FRAMEWORK_BOARD "tensorboard"
#define FRAMEWORK_BOARD_COPY "tensorboard-logs"
bool framework_board_copies(const struct spec *s);

struct framework {
    const char *name;
    const char *summary;        /* for --help; "(experimental)" is added where `proven` is false */
    const char *doc;            /* a paragraph for the manual: what tasks get, what ends the job */
    const char *const *aliases; /* NULL-terminated, or NULL: "torch" for "pytorch" */
    bool proven;                /* has run with its real package */
    const struct framework_role *roles; /* known roles; NULL name ends. Others are side-neutral */
    const char *server_role;            /* the role that -s counts; NULL: it has no servers */
    bool as_many_servers;               /* without -s there are as many of them as workers */
    bool any_roles;                     /* a job may have no role of the table at all */
    bool native;                        /* ydl-native can play some of its roles (native.h) */
    bool names;                         /* its tasks take names for addresses, not only numbers */
    bool rejoins;             /* tasks find each other through our server: one can move alone */
    bool elastic;             /* tasks need not know of each other: one can move or join alone */
    bool keeps_ports;         /* a task that moves has the same ports there, if they are free */
    bool stands_in;           /* tasks of a role stand in for each other: they keep apart */
    enum spec_policy restart; /* what --restart or --max-restarts without a policy means… */
    enum spec_policy restart_serving; /* …and where there are servers; DEFAULT: the same */
    enum framework_port port;
    unsigned servers;     /* bits of enum framework_server */
    const char *registry; /* where its own clients look for a job in YARN's registry, beside "ydl";
                           * NULL: nowhere */
    /* Fills in what the user did not say and the table of roles cannot: called when all roles are
     * there, before the defaults. Faults for what cannot be. NULL: nothing. */
    int (*complete)(struct spec *s, struct spec_faults *f);
    /* Text that all tasks of one generation share, made once for all of them (TensorFlow's list
     * of addresses); *ret is the caller's. `t` has no role and no rank. NULL: none. */
    int (*common)(const struct framework_task *t, char **ret, struct err *err);
    /* Adds one task's arguments and environment. NULL: nothing. */
    int (*task)(const struct framework_task *t, struct err *err);
    /* A better story from the file the task left (PyTorch's JSON): message and time in ms since
     * 1970 (0: it did not say). -EINVAL when it is no such file. NULL: none. *ret_text is the
     * caller's. */
    int (*error)(const void *p, size_t n, char **ret_text, int64_t *ret_time);
};

extern const struct framework *const framework_table[]; /* NULL-terminated, by name */

/* By name or alias; -EINVAL names the nearest. NULL means "none". */
int framework_find(const char *name, const struct framework **ret, struct err *err);

/* The row of a role; NULL when the framework does not know it. */
const struct framework_role *framework_role(const struct framework *fw, const char *name);

/* Fills in what the user did not say, so that the specification is complete:
 *
 * - roles: what -n and -s ask for, what the framework cannot do without, TensorBoard. Those that
 *   are there keep their order; new ones follow in the table's;
 * - what the framework's `complete` knows;
 * - decides and side: as the table says; where any role says "decides" itself, no other does;
 *   where nobody does, every role that is not side;
 * - ports: as the table says, or one where {port} or {port:ROLE:N} is used, or K + 1 with {port:K};
 * - roles that ydl-native plays, as `native` says (native.h);
 * - commands, order and readiness of the framework's own programs, procs 1;
 * - the restart policy, where restarts were asked for without one.
 *
 * Doing it again changes nothing. -EINVAL with the faults, -ENOMEM. */
int framework_complete(const struct framework *fw, struct spec *s, struct spec_faults *f);
