/* framework_testing.h - a job for tests: from the text of a job file to its plan. */
#pragma once
#include "framework/plan/plan.h"

struct job {
    struct spec spec;
    struct spec_faults faults;
    const struct framework *framework;
    struct plan_places *places;
    struct plan_cache *cache;
    struct plan plan;
};

/* Parses and completes; lines "#! FLAG VALUE" in the text are command-line flags. What is wrong is
 * in job->faults. 0, or what failed. */
int job_read(struct job *j, const char *file, const char *text);

/* The same, with a plan that has made-up addresses. Fails the test unless all is well. */
void job_plan(struct job *j, const char *text);

/* The plan that a master makes of what `sent` travels as: read and checked, not completed. */
void job_receive(struct job *j, const struct spec *sent);

void job_done(struct job *j);
#define AUTO_JOB AUTO_DONE(job_done) struct job /* = { 0 } */

/* The first fault, or "". Borrowed. */
const char *job_faults(const struct job *j);

/* The variables of one task that are not YDL_*, a line each; with `all` those too. *ret is the
 * caller's. */
char *job_env(const struct job *j, const char *role, unsigned rank, bool all);
/* The words of its command, with a space between. */
char *job_command(const struct job *j, const char *role, unsigned rank);
