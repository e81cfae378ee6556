/* slider_role.h - a component as a role of a job. Pure. */
#pragma once
#include "cmd/slider/slider_values.h"

#define SLIDER_AGENT "slider" /* where a task finds what runs its scripts */

struct slider_job_options {
    const struct slider_facts *facts;
    bool local;                     /* sizes of containers do not count on one machine */
    const char *definition, *agent; /* where the two archives are */
    const json_t *extra;            /* what options said besides, as in internal.json; or NULL */
};

/* The role of a component. *ret is the caller's. */
int slider_role_json(const struct slider_model *m, const struct slider_job_options *o,
                     const struct slider_component *c, json_t **ret, struct err *err);
/* {"policy", "max", "window"} by keys of resources.json; NULL when out of memory, or with `err`
 * set. */
int slider_restart(const json_t *resources, json_t **ret, struct err *err);
