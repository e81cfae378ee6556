/* launch_options.h - the options of `run`, `submit` and `plan`, and the job that they make.
 *
 * What a job is stands in a file, on the command line, or in both; the options that say what a job
 * file can say have the names and texts of its keys (job/spec/spec_keys.h), and a test holds the
 * two together. Main thread; blocks on the local disk. */
#pragma once
#include "cli/globals.h"
#include "framework/framework.h"
#include "job/spec/spec.h"

/* Where a job runs; the order of the words of --on. */
enum options_on { OPTIONS_LOCAL, OPTIONS_YARN };

/* What c->args of these verbs points to. The first group is ours, the second the specification's,
 * as text. */
struct options {
    const char *file, *spec;
    int on; /* enum options_on; -1: not said */
    bool wait, detach, prefix, timestamps, collapse, no_ship;
    struct strs show;

    const char *workers, *servers, *mem, *cpus, *gpus, *procs;
    const char *name, *framework, *venv, *hadoop, *image, *restart, *max_restarts, *restart_delay,
        *gang_hold, *gang_retry;
    const char *grace, *save_time, *timeout, *tensorboard, *queue, *priority, *label, *nodes;
    const char *image_by, *avoid, *attempts, *staging, *client_address, *native;
    const char *publish, *publish_path, *registry;
    struct strs roles, files, archives, env, pip, output, tags, mounts, restart_codes;
};

/* Features of the verbs, which lack the others' (struct cli_verb): staying with the job that was
 * started (run), and leaving it (submit). */
#define OPTIONS_STAY (GLOBALS_CLUSTER << 1)
#define OPTIONS_LEAVE (GLOBALS_CLUSTER << 2)

/* Every verb accepts all of them: `ydl plan` takes the words of any `ydl run`. */
extern const struct cli_opt options_table[];

/* Names and summaries of framework_table, as a section of the help; a test compares them. */
extern const char options_frameworks[];

/* Where the job is to run: --on, then YDL_ON, then here. CLI_USAGE for what nobody knows. */
int options_where(const struct options *o, enum options_on *ret, struct err *err);

/* Makes the specification, complete and checked. 0; or the exit code 2 when something is wrong with
 * it, all of which has been printed then; or a negative errno. `ret` is initialised here and needs
 * spec_done() in any case. */
int options_spec(const struct cli *c, struct spec *ret, const struct framework **ret_framework,
                 struct err *err);

/* Prints what is wrong with a job; the exit code for that, or a negative errno. */
int options_faults(const struct cli *c, const struct spec_faults *f, struct err *err);

/* What failed with `r` (negative; 0 is fine) when a thing was looked at that the job names as
 * `key`: a fault of the job, added to `f`, when who wrote the job can mend it (exit_users_fault()).
 * Else, as for a server that is away, `r` again, with `why` in `err`. */
int options_blame(struct spec_faults *f, const char *key, int r, const struct err *why,
                  struct err *err);

/* Shall the plan be printed instead of carried out? YDL_PLAN=1 in the environment. */
bool options_only_plan(void);
