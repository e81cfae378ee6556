/* slider_verb.h - Slider's command in parts: its files, the job that they make, where definitions
 * are kept, and the verbs. Private to front/.
 *
 *     slider_files.c     JSON files as people write them, and packages (directory or zip)
 *     slider_model.c     the three files as one application: components, their counts and sizes
 *     slider_values.c    ${…} in their values
 *     slider_job.c       the application as a job specification, slider_role.c its roles
 *     slider_store.c     definitions on this machine or in HDFS; slider_busy.c: one at a time
 *     slider_call.c      what all verbs run on, and how they end
 *     slider_build.c, slider_start.c, slider_look.c, slider_change.c, slider_registry.c: verbs
 *     slider_verb.c           the tables
 *
 * Main thread; what talks to a cluster or a master runs on a fiber. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "client/job_call.h"
#include "cmd/front/front.h"
#include "hadoop/fs/fs.h"

#define SLIDER_FILE_MAX (4 * MIB)
#define SLIDER_SCHEMA "http://example.org/specification/v2.0.0"
#define SLIDER_SERVICE "org-apache-slider" /* the class of their records in YARN's registry */
#define SLIDER_COMPONENTS_MAX 64           /* roles of a job */
#define SLIDER_PORTS_MAX 4                 /* of a task */
#define SLIDER_MASTER                                                                              \
    "slider-appmaster"                     /* the component of resources.json that is no component \
                                            */
#define SLIDER_DEFINITION "app/definition" /* where a task finds the package … */
#define SLIDER_AGENT "slider"              /* … and what runs its scripts */

/* Slider's own exit codes, where they differ from ydl's. */
enum slider_code {
    SLIDER_INTERRUPTED = 3,
    SLIDER_FORBIDDEN = 43,
    SLIDER_NOT_FOUND = 44,
    SLIDER_UNREACHABLE = 48,
    SLIDER_INTERNAL = 50,
    SLIDER_UNIMPLEMENTED = 51,
    SLIDER_EXCEPTION = 56,
    SLIDER_FAILED = 65,
    SLIDER_KILLED = 66,
    SLIDER_TIMED_OUT = 67,
    SLIDER_UNKNOWN = 69,
    SLIDER_BAD_STATE = 70,
    SLIDER_IN_USE = 73,
    SLIDER_EXISTS = 75,
    SLIDER_FALSE = 255,
};

/* ---- files (slider_files.c); all block on the local disk ---- */

/* What is wrong in a file is CLI_USAGE: "FILE:LINE:COLUMN: …", and in `excerpt` that line with a
 * mark below the place. */
int slider_parse(const char *name, const struct buf *text, struct buf *excerpt, json_t **ret,
                 struct err *err);

/* A package: a directory, or a zip archive. */
struct slider_package {
    char *path;
    struct unzip *zip; /* NULL: a directory */
};
int slider_package_open(struct slider_package *p, const char *path, struct err *err);
void slider_package_done(struct slider_package *p); /* zero is fine */
bool slider_package_has(const struct slider_package *p, const char *name);
/* A file of it; 0, -ENOENT, or another failure. */
int slider_package_read(struct slider_package *p, const char *name, struct buf *ret,
                        struct err *err);

/* A JSON file that an option names: here, or else in the package (may be NULL), as the text's own
 * command names them. CLI_USAGE when it is in neither. */
int slider_file(const char *path, struct slider_package *p, struct buf *excerpt, json_t **ret,
                struct err *err);

/* ---- the application (slider_model.c); pure ---- */

/* The files as they are stored. */
struct slider_docs {
    json_t *metainfo, *config, *resources, *internal; /* internal: ours; may be NULL */
};
void slider_docs_done(struct slider_docs *d); /* zero is fine */

struct slider_component {
    const char *name;   /* all borrowed from the documents */
    const json_t *info; /* of metainfo.json */
    json_t *resources;  /* with those that count for all; owned */
    json_t *config;     /* of appConfig, the same; owned */
    int64_t priority, count;
};

struct slider_model {
    const char *name;           /* of the application's instance */
    const char *app;            /* what metainfo.json calls it */
    const json_t *metainfo;     /* "application" of it */
    json_t *master;             /* what resources.json says of the master itself; owned */
    json_t *global;             /* those of all, where a component does not say otherwise; owned */
    struct slider_component *v; /* by priority; those without instances are left out */
    size_t n;
    struct strs *notes; /* borrowed: what is said besides */
};

/* Makes it. CLI_USAGE for what is wrong in the files, with the name of the file. `d` is borrowed
 * and outlives it; slider_model_done() in any case. */
int slider_model(const struct slider_docs *d, const char *name, struct strs *notes,
                 struct slider_model *ret, struct err *err);
void slider_model_done(struct slider_model *m);
const struct slider_component *slider_component(const struct slider_model *m, const char *name,
                                                size_t n);

/* Text or number of a member as text; NULL when there is none. *ret_free is the caller's, and NULL
 * unless the text had to be made. */
const char *slider_text(const json_t *v, const char *key, char **ret_free);
/* A whole number that may be written as text. CLI_USAGE. */
int slider_number(const json_t *v, const char *key, int64_t least, int64_t otherwise, int64_t *ret,
                  struct err *err);

/* Its name as a role's: in small letters. */
int slider_role(const struct slider_component *c, struct buf *out);

/* ---- tokens (slider_values.c); pure ---- */

/* What is known before anything runs; all borrowed, NULL: not known. */
struct slider_facts {
    const char *user, *fs_uri, *zk_hosts, *zk_path;
};

/* Variables of ydl stand between these in values, until it is known how to write them there. */
#define SLIDER_VAR_BEGIN '\x01'
#define SLIDER_VAR_END '\x02'

struct slider_tokens {
    const struct slider_model *model;
    const struct slider_component *component;
    const struct slider_facts *facts;
    unsigned ports[SLIDER_COMPONENTS_MAX]; /* of each component: counts up as values are resolved */
    bool preferred;                        /* a port was named that nobody can be sure of */
};

/* A value of appConfig with its tokens resolved. What only a task knows (AGENT_WORK_ROOT …) stays.
 * 0, CLI_USAGE or -ENOMEM. */
int slider_resolve(struct slider_tokens *t, const char *value, struct buf *out, struct err *err);
/* The text of an export: ${COMPONENT_HOST}, ${site.DICT.KEY}, from `dicts` {"DICT": {"KEY": …}}. */
int slider_resolve_export(const struct slider_tokens *t, const json_t *dicts, const char *value,
                          struct buf *out, struct err *err);

/* ---- the job (slider_job.c, slider_role.c, slider_export.c); pure ---- */

/* Text with variables between marks, as the value of a job's key: braces that are the user's own
 * stay what they are. */
int slider_write_text(const char *marked, struct buf *out);
/* The same for a document whose texts have marks: JSON in which no brace of a text can be taken
 * for a variable. */
int slider_write_json(const json_t *marked, struct buf *out);

struct slider_job_options {
    const struct slider_facts *facts;
    bool local;                     /* sizes of containers do not count on one machine */
    const char *definition, *agent; /* where the two archives are */
    const json_t *extra;            /* what options said besides, as in internal.json; or NULL */
};
/* *ret is the job file's text, the caller's. Notes go to the model's. */
int slider_job(const struct slider_model *m, const struct slider_job_options *o, char **ret,
               struct err *err);
/* One role of it: what slider_job() calls for each component. *ret is the caller's. */
int slider_role_json(const struct slider_model *m, const struct slider_job_options *o,
                     const struct slider_component *c, json_t **ret, struct err *err);
/* A component while it becomes one; private to slider_role.c and slider_export.c. */
struct slider_making {
    const struct slider_model *m;
    const struct slider_job_options *o;
    const struct slider_component *c;
    struct slider_tokens tokens;
    json_t *dicts; /* {"global": {"ps.port": …}}, with marks */
    json_t *role;
};
/* Its keys "exports" and "after", where it has any. */
int slider_add_exports(const struct slider_making *k, struct err *err);
int slider_add_orders(const struct slider_making *k, struct err *err);
/* {"policy", "max", "window"} by keys of resources.json; NULL when out of memory, or with `err`
 * set. */
int slider_restart(const json_t *resources, json_t **ret, struct err *err);
/* Does its end decide the job's? Parameter servers and TensorBoard wait for the others. */
bool slider_decides(const struct slider_model *m, const struct slider_component *c);

/* ---- what all verbs run on (slider_call.c) ---- */

struct slider {
    struct cli cli; /* first: a job_call's cli leads back here */
    const struct front_ask *ask;
    const char *name; /* the application's; NULL when the verb was given none */
    bool local, json;
    enum slider_code code; /* of the failure that is on its way; 0: ydl's own */
    struct buf excerpt;
    struct strs notes;
    struct job_call *x; /* on the fiber */
    struct fs_set *set; /* where definitions are: slider_store_open() */
    struct fs *fs;
    char *base;
    bool scratch; /* only a plan is wanted: definitions are made in a directory of no consequence */
};

/* A verb's work, on a fiber. An exit code of Slider's, or a negative errno with `err` set. */
typedef int slider_fn(struct slider *s, struct err *err);

/* The `act` of every verb: finds its function by the verb's name. */
int slider_act(const struct front_ask *a, struct err *err);
int slider_exit(int code); /* from ydl's codes */
/* CLI_USAGE for what cannot be an application's name; any other is safe as a file's. */
int slider_check_name(const char *name, struct err *err);

/* Sets the error with a code of Slider's; returns `result`. */
int slider_fail(struct slider *s, enum slider_code code, int result, struct err *err,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Says what is in s->notes, once. */
void slider_say_notes(struct slider *s);
/* A document on standard output, or into the file that --out names. */
int slider_put(struct slider *s, const json_t *doc, struct err *err);
int slider_put_text(struct slider *s, const char *text, struct err *err);
/* The value of an option, or NULL. */
static inline const char *slider_value(const struct slider *s, const char *option)
{
    return front_value(s->ask, option);
}
static inline bool slider_given(const struct slider *s, const char *option)
{
    return front_given(s->ask, option);
}

/* ---- definitions (slider_store.c); fibers only ---- */

int slider_store_open(struct slider *s, struct err *err);
void slider_store_close(struct slider *s);

/* The names of all definitions, sorted. */
int slider_store_list(struct slider *s, struct strs *ret, struct err *err);
/* 1 when there is one of that name, 0 when not. */
int slider_store_has(struct slider *s, const char *name, struct err *err);
/* All its documents. -ENOENT (SLIDER_UNKNOWN) when there is none, SLIDER_NOT_OURS for one that
 * lacks some of them, CLI_USAGE for one that is damaged. */
#define SLIDER_NOT_OURS (-EBADMSG)
int slider_store_read(struct slider *s, const char *name, struct slider_docs *ret, struct err *err);
/* Goes on to the next one after a definition of these two kinds: 0 and a note, otherwise `r`. */
int slider_store_skip(struct slider *s, const char *name, int r, struct err *err);
/* One file of it, replaced at once for whoever reads it. */
int slider_store_write(struct slider *s, const char *name, const char *file, const json_t *v,
                       struct err *err);
/* The whole of a new one, which appears at once; leaves nothing when it fails. -EEXIST
 * (SLIDER_EXISTS) when there is one, made a moment ago perhaps. */
int slider_store_put(struct slider *s, const char *name, const struct slider_docs *d,
                     const struct slider_package *package, struct err *err);
/* The same for one that is there; with `package` NULL its package stays. */
int slider_store_replace(struct slider *s, const char *name, const struct slider_docs *d,
                         const struct slider_package *package, struct err *err);
int slider_there_already(struct slider *s, const char *name, struct err *err); /* says so */
/* (slider_busy.c) While it is started or replaced nobody else does that: -EBUSY (SLIDER_IN_USE)
 * when somebody is at it. */
int slider_store_lock(struct slider *s, const char *name, struct err *err);
void slider_store_unlock(struct slider *s, const char *name);
int slider_store_remove(struct slider *s, const char *name, struct err *err);
/* Where a file of it is, as a job names it: a path here, a URI on the cluster. The caller's. */
int slider_store_uri(struct slider *s, const char *name, const char *file, char **ret,
                     struct err *err);
/* "definition.tar" or "definition.zip": the one that is there. */
const char *slider_archive(const struct slider_docs *d);

/* ---- its job (slider_start.c); fibers only ---- */

/* Starts what is stored: sets s->x->client, and notes its id in the definition. An exit code when
 * the job is not correct, or only its plan was wanted. */
int slider_start(struct slider *s, const char *name, struct slider_docs *d, struct err *err);
/* The job of its last start, in s->x->client: 1 when it runs, 0 when it has ended, or never was
 * one, or nobody knows it any more. */
int slider_find_job(struct slider *s, const struct slider_docs *d, struct err *err);
/* Waits up to `ms` until all of it runs. 0, or the code of what happened instead. */
int slider_wait_running(struct slider *s, int64_t ms, struct err *err);

/* ---- the verbs ---- */

slider_fn slider_create, slider_build, slider_update, slider_start_verb; /* slider_build.c */
slider_fn slider_status, slider_list, slider_exists, slider_lookup;      /* slider_look.c */
slider_fn slider_stop, slider_destroy, slider_flex;                      /* slider_change.c */
slider_fn slider_registry, slider_exports;                               /* slider_registry.c */
