/* list.c - `ydl list`: jobs of this machine and of the cluster, newest first. */
#include "cli/doc.h"
#include "client/client_private.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

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

struct listing {
    struct job_call *x;
    size_t most, here; /* at most so many; of this machine so far */
    json_t *jobs;
    struct err *err;
};

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

static int add_client(struct listing *l, struct client *c)
{
    AUTO_JSON *status = NULL;
    int r;

    client_set_note(c, NULL, NULL);
    client_set_connect(c, QUICK_MS);
    r = client_summary(c, &status, l->err);
    if (r < 0)
        return r;
    return json_array_append_new(l->jobs, brief(c, status)) < 0 ? err_oom(l->err) : 0;
}

/* ---- this machine ---- */

static int list_add_dir(void *arg, struct job_dir *d)
{
    struct listing *l = arg;
    const struct args *a = job_args(l->x);
    AUTO_CLIENT *c = NULL;
    int r;

    if (a->running && !jobs_alive(d))
        return 0;
    r = client_new(l->x->loop, d, &c, l->err);
    if (r == 0)
        r = add_client(l, c);
    return r < 0 ? r : ++l->here == l->most;
}

static int list_add_here(struct listing *l, struct err *err)
{
    const struct args *a = job_args(l->x);
    AUTO_FREE char *state = NULL;
    enum job_place place;
    int r = job_place(&a->where, &place, err);

    if (r == 0)
        r = jobs_state_dir(&state, err);
    if (r < 0 || place == JOB_YARN)
        return r;
    r = jobs_each(state, list_add_dir, l, err);
    return r < 0 ? r : 0;
}

/* ---- YARN ---- */

static int add_app(struct listing *l, struct yarn_jobs *y, struct yarn_app_id id)
{
    AUTO_CLIENT *c = NULL;
    int r = client_yarn_new(y, id, NULL, &c, l->err);

    return r < 0 ? r : add_client(l, c);
}

static int list_add_apps(struct listing *l, struct err *err)
{
    const struct args *a = job_args(l->x);
    AUTO_YARN_APPS apps = { 0 };
    struct yarn_jobs *y = NULL;
    enum job_place place = JOB_YARN;
    int r = job_place(&a->where, &place, err);

    l->x->net.hasty = place == JOB_ANYWHERE; /* the jobs of this machine are to be shown anyhow */
    if (r == 0)
        r = job_yarn_too(l->x, &a->where, &y, err);
    if (r < 0 || !y)
        return r;
    yarn_jobs_sweep(y);
    r = yarn_jobs_list(y, NULL, a->running, &apps, err);
    for (size_t i = 0; r == 0 && i < apps.n && i < l->most; i++)
        r = add_app(l, y, yarn_app_id_of(apps.v[i]->application_id));
    return r < 0 ? job_without_yarn(l->x, &a->where, r, err) : 0;
}

/* ---- both ---- */

static int list_newest_first(const void *a, const void *b)
{
    int64_t x = json_int_or(*(json_t *const *)a, "created", 0);
    int64_t y = json_int_or(*(json_t *const *)b, "created", 0);

    return (x < y) - (x > y);
}

/* Both kinds in one order, and no more of them than wanted. */
static int list_merge(json_t *jobs, size_t most)
{
    size_t n = json_array_size(jobs);
    AUTO_FREE json_t **v = calloc(n + 1, sizeof(json_t *));
    AUTO_JSON *sorted = json_array();
    int r = v && sorted ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < n; i++)
        v[i] = json_array_get(jobs, i);
    if (r == 0)
        qsort(v, n, sizeof(json_t *), list_newest_first);
    for (size_t i = 0; r == 0 && i < n && i < most; i++)
        r = json_array_append(sorted, v[i]) < 0 ? -ENOMEM : 0;
    if (r == 0 && (json_array_clear(jobs) < 0 || json_array_extend(jobs, sorted) < 0))
        r = -ENOMEM;
    return r;
}

static int list_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct listing l = { .x = x, .err = err };
    AUTO_JSON *jobs = json_array();
    int r = jobs ? 0 : err_oom(err);

    l.jobs = jobs;
    l.most = a->limit ? a->limit : a->all || a->running ? SIZE_MAX : SHOWN;
    if (r == 0)
        r = list_add_here(&l, err);
    if (r == 0)
        r = list_add_apps(&l, err);
    if (r == 0 && json_array_size(jobs) > l.here && list_merge(jobs, l.most) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
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
