/* list.c - `ydl list`: jobs of this machine, newest first. */
#include "cmd/job/job.h"
#include "cmd/job/past.h"
#include "cmd/job/verbs.h"
#include "cmd/job/words.h"
#include "cmd/table.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 20 /* without --all or --limit */

struct args {
    bool all, running;
    unsigned limit;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct cli_opt opts[] = {
    { "all",     'a', CLI_FLAG,  AT(all),     NULL, NULL, "all that are known, not only the newest" },
    { "running", 'r', CLI_FLAG,  AT(running), NULL, NULL, "only those that have not ended" },
    { "limit",   'n', CLI_COUNT, AT(limit),   NULL, "N",  "only the N newest" },
    { 0 },
};

static const struct table_column columns[] = {
    { "JOB", false }, { "NAME", false }, { "STATE", false }, { "EXIT", true },
    { "STARTED", false }, { "TIME", true },
};
/* clang-format on */

struct listing {
    struct job_call *x;
    size_t most, n;
    json_t *jobs;
    struct err *err;
};

/* Only the keys that every job has, running or not. */
static json_t *brief(const struct job_dir *d, const json_t *status)
{
    static const char *const keys[] = { "job",     "name",  "user", "state",
                                        "created", "ended", "exit", "reason" };
    AUTO_JSON *v = json_object();

    for (size_t i = 0; v && i < COUNT_OF(keys); i++) {
        json_t *fact = json_object_get(status, keys[i]);

        if (json_object_set_new(v, keys[i], fact ? json_incref(fact) : json_null()) < 0)
            return NULL;
    }
    if (!v || json_object_set_new(v, "path", json_text(d->path)) < 0)
        return NULL;
    return take(v);
}

/* One that runs is asked; when it does not answer, its files know the most. */
static int status_of(struct listing *l, struct job_dir *d, bool alive, json_t **ret)
{
    AUTO_JOB_DIR copy = JOB_DIR_INIT;
    AUTO_CLIENT *client = NULL;
    int r;

    if (!alive)
        return past_summary(d, ret, l->err);
    copy.id = strdup(d->id);
    copy.path = strdup(d->path);
    copy.run = d->run ? strdup(d->run) : NULL;
    if (!copy.id || !copy.path)
        return err_oom(l->err);
    r = client_new(l->x->loop, &copy, &client, l->err);
    if (r == 0)
        r = client_status(client, false, ret, l->err);
    if (r == 0 || r == -ENOMEM || r == -ECANCELED)
        return r;
    err_clear(l->err);
    return past_summary(d, ret, l->err);
}

static int add_job(void *arg, struct job_dir *d)
{
    struct listing *l = arg;
    const struct args *a = job_args(l->x);
    bool alive = jobs_alive(d);
    AUTO_JSON *status = NULL;
    int r;

    if (a->running && !alive)
        return 0;
    r = status_of(l, d, alive, &status);
    if (r < 0)
        return r;
    if (json_array_append_new(l->jobs, brief(d, status)) < 0)
        return err_oom(l->err);
    return ++l->n == l->most;
}

static int print_table(const json_t *jobs, struct err *err)
{
    AUTO_TABLE t = { 0 };
    int64_t now = words_now();
    const json_t *j;
    size_t i;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    json_array_foreach(jobs, i, j)
    {
        int64_t created = words_int(j, "created", 0), ended = words_int(j, "ended", now);
        int64_t code = words_int(j, "exit", -1);
        char when[WORDS_WHEN], span[WORDS_SPAN], state[16];

        table_cell(&t, "%s", words_text(j, "job"));
        table_cell(&t, "%s", words_text(j, "name"));
        table_cell(&t, "%s", words_lower(words_text(j, "state"), state, sizeof(state)));
        if (code >= 0)
            table_cell(&t, "%lld", (long long)code);
        else
            table_cell(&t, "-");
        table_cell(&t, "%s", words_when(created, when));
        table_cell(&t, "%s", words_span(created > 0 ? ended - created : -1, span));
    }
    return table_end(&t, err);
}

static int work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct listing l = { .x = x, .err = err };
    AUTO_JSON *jobs = json_array();
    AUTO_JSON *doc = NULL;
    AUTO_FREE char *state = NULL;
    int r = jobs ? jobs_state_dir(&state, err) : err_oom(err);

    if (r < 0)
        return r;
    l.jobs = jobs;
    l.most = a->limit ? a->limit : a->all || a->running ? SIZE_MAX : SHOWN;
    r = jobs_each(state, add_job, &l, err);
    if (r < 0)
        return r;
    if (!x->globals->json)
        return print_table(jobs, err);
    r = json_make(&doc, err, "{s:O}", "jobs", jobs);
    return r < 0 ? r : json_print(stdout, doc, err);
}

static int run(struct cli *c, struct err *err)
{
    return job_run(c, work, err);
}

static const struct cli_example examples[] = {
    { "ydl list --running", "what runs now" },
    { "ydl list -n 1 --json", "the newest job, for a program" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "FILES", "$XDG_STATE_HOME/ydl/jobs\tOne directory for each job: its specification, its\n"
               "events and its logs. Without the variable, ~/.local/state/ydl/jobs." },
    { "JSON OUTPUT",
      "jobs\tA list of objects with job (the id), name, user, state, created and ended in\n"
      "milliseconds since 1970, exit, reason, and path, the job's directory. What is not known\n"
      "yet is null." },
    { 0 },
};

const struct cli_verb verb_list = {
    .name = "list",
    .summary = "list jobs",
    .text = "Lists the newest jobs of this machine, those that have ended too.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .examples = examples,
    .sections = sections,
    .run = run,
};
