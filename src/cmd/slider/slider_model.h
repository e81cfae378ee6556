/* slider_model.h - the three files as one application: components, their counts and sizes. Pure. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "cli/cli.h"

#define SLIDER_SCHEMA "http://example.org/specification/v2.0.0"
#define SLIDER_COMPONENTS_MAX 64         /* roles of a job */
#define SLIDER_MASTER "slider-appmaster" /* in resources.json it is no component */

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
