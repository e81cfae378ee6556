/* fronts.h - every front end there is, each in the file of its name, and what they share. Private
 * to front/ and slider/. */
#pragma once
#include "cmd/front/front.h"

extern const struct front front_dmlc, front_launch, front_mx, front_slider, front_submit, front_tf;

/* Options besides those of the older program: for commands that start jobs (--docker-image,
 * --node-label, --queue, --detach …), and for the others (--conf, --json, -q, -v). */
extern const struct cli_opt common_job[], common_plain[];
/* Sections of their manual pages: ENVIRONMENT and EXIT STATUS; the text of the first. */
extern const struct cli_section front_sections[];
extern const char front_variables[];
