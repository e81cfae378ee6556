/* verbs.h - every verb, one row in one file each. A new verb is a new file with its row, a line
 * here, a line in verbs.c, and where it has a module of its own, that module in the DEPS of
 * cmd_verbs. */
#pragma once
#include "cli/cli.h"

struct front;

extern const struct cli_verb verb_cache, verb_cluster, verb_completion, verb_doctor, verb_fs,
    verb_help, verb_model, verb_pack, verb_predict, verb_serve, verb_version;

extern const struct cli_verb verb_node_agent, verb_node_init, verb_node_master; /* of ydl-node */

extern const struct cli_page job_pages[]; /* ydl-job(5): the job file */

extern const struct cli_program program_ydl, program_ydl_node;

extern const struct cli_program *const front_table[]; /* of struct front; NULL-terminated */
/* By the last part of a program's path; NULL when it is no front end. */
const struct front *front_find(const char *path);
