/* fronts.h - every front end there is, each in the file of its name, and what they share. Private
 * to front/ and slider/. */
#pragma once
#include "cmd/front/front.h"

extern const struct front front_dmlc, front_launch, front_mx, front_slider, front_submit, front_tf;

/* Options besides those of the older program, and their features: what a job is given, which only
 * commands that start one take (--docker-image, --queue, --detach …), and what all take (--conf,
 * --json, -q, -v …). */
extern const struct cli_opt common_opts[];
#define COMMON_JOB 1U
#define COMMON_PLAIN 2U

/* Sections of their manual pages: ENVIRONMENT and EXIT STATUS; the text of the first. */
extern const struct cli_section front_sections[];
extern const char front_variables[];

/* front_serve.c: a verb of those whose older system promised to serve models. */
extern const struct front_verb front_serve_verb;
