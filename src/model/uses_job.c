/* uses_job.c - see uses_job.h. */
#include "model/uses_job.h"
#include "base/path.h"
#include "base/str.h"
#include "platform/local/local_jobs.h"
#include "uploads/cache_name.h"

#include <string.h>

#define MACHINE "machine"

int uses_job_mark(json_t *record, struct err *err)
{
    char machine[CACHE_MACHINE];

    if (!cache_machine(machine))
        return 0;
    return json_object_set_new(record, MACHINE, json_string(machine)) < 0 ? err_oom(err) : 0;
}

/* A job's id and nothing else: "local-20261119-063210-4f2a". */
static bool uses_job_is_local(const char *job)
{
    return job && str_starts(job, "local-") &&
           strspn(job, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(job);
}

/* Is its directory ours, and its master's lock free? A directory that does not hold a lock at all
 * says nothing. */
static bool uses_job_is_dead(const char *job)
{
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    AUTO_FREE char *state = NULL;
    AUTO_FREE char *jobs = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *lock = NULL;

    if (jobs_state_dir(&state, NULL) < 0 || !(jobs = path_join(state, "jobs")) ||
        !(path = path_join(jobs, job)) || !(lock = path_join(path, "lock")) ||
        access(lock, R_OK | W_OK) < 0 || jobs_open(path, &d, NULL) < 0)
        return false;
    return !jobs_alive(&d);
}

bool uses_job_has_ended(const json_t *record)
{
    const char *job = json_string_value(json_object_get(record, "job"));
    const char *machine = json_string_value(json_object_get(record, MACHINE));
    char here[CACHE_MACHINE];

    return uses_job_is_local(job) && machine && cache_machine(here) && str_eq(machine, here) &&
           uses_job_is_dead(job);
}
