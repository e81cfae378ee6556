/* list.c - `ydl list`: jobs of this machine and of the cluster, newest first. */
#include "cli/doc.h"
#include "client/client_private.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "terminal/format.h"

#define SHOWN 20 /* without --all or --limit */

struct args {
    struct job_where where;
    bool all, running;
    unsigned limit;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct table_column columns[] = {
    { "JOB",     false, "{job}" },
    { "WHERE",   false, "{where}" },
    { "NAME",    false, "{name}" },
    { "STATE",   false, "{state|lower}" },
    { "EXIT",    true,  "{exit}" },
    { "STARTED", false, "{created|when}" },
    { "TIME",    true,  .put = format_age },
};
/* clang-format on */

#define QUICK_MS 3000 /* for a master that does not answer: others are waiting in the list */

/* Only the keys that every job has, running or not. */
static json_t *brief(struct client *c, const json_t *status)
{
    static const char *const keys[] = { "job",     "name",  "user", "state",
                                        "created", "ended", "exit", "reason" };
    AUTO_JSON *v = json_object();

    for (size_t i = 0; v && i < COUNT_OF(keys); i++) {
        json_t *fact = json_object_get(status, keys[i]);

        if (json_object_set_new(v, keys[i], fact ? json_incref(fact) : json_null()) < 0)
            return NULL;
    }
    if (!v || json_object_set_new(v, "where", json_string(client_where(c))) < 0 ||
        json_object_set_new(v, "path", json_text(client_home(c))) < 0)
        return NULL;
    return take(v);
}

/* The newest first, of whichever kind. */
static int list_add(void *arg, struct client *c, struct err *err)
{
    AUTO_JSON *status = NULL;
    json_t *jobs = arg;
    size_t at = 0;
    int r;

    client_set_note(c, NULL, NULL);
    client_set_connect(c, QUICK_MS);
    r = client_summary(c, &status, err);
    if (r < 0)
        return r;
    while (at < json_array_size(jobs) &&
           json_int_or(json_array_get(jobs, at), "created", 0) >= json_int_or(status, "created", 0))
        at++;
    return json_array_insert_new(jobs, at, brief(c, status)) < 0 ? err_oom(err) : 0;
}

static int list_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    size_t most = a->limit ? a->limit : a->all || a->running ? SIZE_MAX : SHOWN;
    AUTO_JSON *jobs = json_array();
    int r = jobs ? 0 : err_oom(err);

    if (r == 0)
        r = job_each(x, JOB_EACH_SWEEP | (a->running ? JOB_EACH_RUNNING : 0), most, list_add, jobs,
                     err);
    if (r < 0)
        return r;
    while (json_array_size(jobs) > most)
        (void)json_array_remove(jobs, json_array_size(jobs) - 1);
    return x->globals->json ? doc_print(err, "{s:O}", "jobs", jobs)
                            : doc_table(jobs, columns, COUNT_OF(columns), err);
}

/* clang-format off */
const struct cli_verb verb_list = {
    .name = "list", .summary = "list jobs", JOB_VERB(list_work),
    .text = "Lists the newest jobs on this machine and, if a cluster is configured, your own on "
            "YARN, running or ended. If the cluster is unreachable, prints a note and lists local "
            "jobs.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "all", 'a', CLI_FLAG, AT(all), NULL, NULL, "list all jobs, not only the 20 newest" },
        { "running", 'r', CLI_FLAG, AT(running), NULL, NULL, "list only jobs that have not ended" },
        { "limit", 'n', CLI_COUNT, AT(limit), NULL, "N", "list only the N newest jobs" }),
    CLI_EXAMPLES({ "ydl list --running", "list what is running now" },
                 { "ydl list -n 1 --json", "print the newest job as JSON" }),
    CLI_SECTIONS(
      { "FILES",
        "$XDG_STATE_HOME/ydl/jobs\tA directory for each job: its specification, events and logs "
        "(default: ~/.local/state/ydl/jobs)." },
      { "JSON OUTPUT",
        "jobs\tA list of objects with job (the id), name, user, state, created and ended in "
        "milliseconds since 1970, exit, reason, where (local or yarn), and path, the job's "
        "directory there. Values not known yet are null." }),
};
/* clang-format on */
