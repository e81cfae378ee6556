/* slider_verb.h - Slider's verbs: the functions behind them, and what runs them. They rest on
 *
 *     slider_files.h    JSON files as people write them, and packages
 *     slider_model.h    the three files as one application
 *     slider_values.h   ${…} in their values
 *     slider_job.h      the application as a job, slider_role.h its roles, slider_export.h of these
 *     slider_call.h     one call of the command
 *     slider_store.h    definitions, on this machine or in HDFS
 *     slider_start.h    a definition's job
 *
 * each of which includes only those above it. Main thread; what talks to a cluster or a master runs
 * on a fiber. */
#pragma once
#include "cmd/slider/slider_call.h"

#define SLIDER_SERVICE "org-apache-slider" /* the class of their records in YARN's registry */

/* Runs a verb to its exit code. */
int slider_act(const struct front_ask *a, slider_fn *fn, struct err *err);

slider_fn slider_create, slider_build, slider_update, slider_start_verb; /* slider_build.c */
slider_fn slider_status, slider_list, slider_exists, slider_lookup;      /* slider_look.c */
slider_fn slider_stop, slider_destroy, slider_flex;                      /* slider_change.c */
slider_fn slider_registry, slider_exports;                               /* slider_registry.c */
