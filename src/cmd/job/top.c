/* top.c - `ydl top`: running jobs, or the tasks of one, refreshed while one looks. */
#include "cli/table.h"
#include "client/client_private.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "terminal/format.h"
#include "terminal/task_table.h"

#include <stdio.h>

#define LEAST_MS 200 /* between two pictures */

struct args {
    struct job_where where;
    int64_t every;
};

/* clang-format off */
static const struct table_column columns[] = {
    { "JOB", false }, { "NAME", false }, { "STATE", false }, { "TIME", true }, { "TASKS", false },
    { "CPU", true }, { "MEMORY", true }, { "PROGRESS", false },
};
/* clang-format on */

struct looking {
    struct job_call *x;
    json_t *jobs; /* status documents with their tasks */
    struct err *err;
};

/* ---- one look ---- */

static int top_add_status(struct looking *l, struct client *c)
{
    json_t *v = NULL;
    int r = client_usage(c, &v, l->err);

    if (r == 0 && json_object_set_new(v, "where", json_string(client_where(c))) < 0) {
        json_decref(v);
        return err_oom(l->err);
    }
    if (r == 0 && json_array_append_new(l->jobs, v) < 0)
        r = err_oom(l->err);
    return r;
}

static int top_add_dir(void *arg, struct job_dir *d)
{
    struct looking *l = arg;
    AUTO_CLIENT *c = NULL;
    int r;

    if (!jobs_alive(d))
        return 0;
    r = client_new(l->x->loop, d, &c, l->err);
    if (r == 0)
        r = top_add_status(l, c);
    if (r == -ENOTCONN) { /* it ended while we looked */
        err_clear(l->err);
        return 0;
    }
    return r;
}

static int top_add_here(struct looking *l, struct err *err)
{
    const struct args *a = job_args(l->x);
    AUTO_FREE char *state = NULL;
    enum job_place place;
    int r = job_place(&a->where, &place, err);

    if (r == 0)
        r = jobs_state_dir(&state, err);
    return r < 0 || place == JOB_YARN ? r : jobs_each(state, top_add_dir, l, err);
}

static int top_add_apps(struct looking *l, struct err *err)
{
    const struct args *a = job_args(l->x);
    AUTO_YARN_APPS apps = { 0 };
    struct yarn_jobs *y = NULL;
    int r = job_yarn_too(l->x, &a->where, &y, err);

    if (r < 0 || !y)
        return r;
    r = yarn_jobs_list(y, NULL, true, &apps, err);
    for (size_t i = 0; r == 0 && i < apps.n; i++) {
        AUTO_CLIENT *c = NULL;

        r = client_yarn_new(y, yarn_app_id_of(apps.v[i]->application_id), NULL, &c, err);
        if (r == 0)
            r = top_add_status(l, c);
    }
    return r < 0 ? job_without_yarn(l->x, &a->where, r, err) : 0;
}

/* What all tasks of a job use together. */
static void sum(const json_t *job, double *share, uint64_t *memory)
{
    const json_t *tasks = json_object_get(job, "tasks"), *t;
    size_t i;

    *share = *memory = 0;
    json_array_foreach(tasks, i, t)
    {
        *share += json_number_value(json_object_get(t, "cpu"));
        *memory += (uint64_t)json_int_or(t, "memory", 0);
    }
}

static int top_add_row(struct table *t, const json_t *job)
{
    int64_t created = json_int_or(job, "created", 0), now = loop_wall();
    char state[16], span[FORMAT_SPAN], size[STR_SIZE_MAX];
    AUTO_BUF progress = { .max = KIB };
    double share;
    uint64_t memory;

    if (format_progress(json_object_get(job, "progress"), &progress) < 0 || !buf_text(&progress))
        return -ENOMEM;
    sum(job, &share, &memory);
    table_cell(t, "%s", format_text(job, "job"));
    table_cell(t, "%s", format_text(job, "name"));
    table_cell(t, "%s", format_lower(format_text(job, "state"), state, sizeof(state)));
    table_cell(t, "%s", format_span(created > 0 ? now - created : -1, span));
    table_cell(t, "%zu", json_array_size(json_object_get(job, "tasks")));
    table_cell(t, "%.0f %%", share * 100);
    table_cell(t, "%s", str_size(memory, size));
    table_cell(t, "%s", buf_text(&progress));
    return 0;
}

static int print_jobs(const struct looking *l, struct err *err)
{
    AUTO_TABLE t = { 0 };
    const json_t *job;
    size_t i;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    json_array_foreach(l->jobs, i, job)
    {
        if (top_add_row(&t, job) < 0)
            return err_oom(err);
    }
    return table_end(&t, err);
}

static int top_look(struct looking *l, struct err *err)
{
    int r;

    l->err = err;
    if (l->x->client)
        return top_add_status(l, l->x->client);
    r = top_add_here(l, err);
    return r < 0 ? r : top_add_apps(l, err);
}

/* The tasks of the one job that was named, or all jobs. */
static int top_print(const struct looking *l, struct err *err)
{
    const json_t *one = json_array_get(l->jobs, 0);
    char state[16];

    if (!l->x->client)
        return print_jobs(l, err);
    printf("%s  %s\n\n", client_id(l->x->client),
           format_lower(format_text(one, "state"), state, sizeof(state)));
    return tasks_print(one, true, err);
}

/* ---- again and again ---- */

static bool top_over(const struct looking *l)
{
    const json_t *one = json_array_get(l->jobs, 0);

    return l->x->client && json_is_integer(json_object_get(one, "exit"));
}

static int top_print_json(struct looking *l, struct err *err)
{
    AUTO_JSON *doc = NULL;
    int r = json_make(&doc, err, "{s:O}", "jobs", l->jobs);

    return r < 0 ? r : json_print(stdout, doc, err);
}

/* One picture. */
static int top_turn(struct job_call *x, bool clear, bool *ret_over, struct err *err)
{
    AUTO_JSON *jobs = json_array();
    struct looking l = { .x = x, .jobs = jobs };
    int r = jobs ? top_look(&l, err) : err_oom(err);

    if (r == 0 && x->globals->json)
        return top_print_json(&l, err);
    if (r < 0)
        return r;
    if (clear)
        printf("\033[H\033[2J");
    r = top_print(&l, err);
    fflush(stdout);
    *ret_over = top_over(&l);
    return r;
}

static int top_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    bool again = isatty(STDOUT_FILENO) && !x->globals->json, ended = false;
    int r = top_turn(x, again, &ended, err);

    while (r == 0 && again && !ended) {
        r = fiber_sleep(x->loop, a->every > LEAST_MS ? a->every : LEAST_MS);
        if (r == 0)
            r = top_turn(x, true, &ended, err);
    }
    /* Ctrl-C is how one leaves, and no mistake. */
    return again && r == -ECANCELED ? 0 : r;
}

/* clang-format off */
const struct cli_verb verb_top = {
    .name = "top", .summary = "watch running jobs or tasks", .operands = "[JOB]", .most = 1,
    JOB_VERB_ON(top_work),
    .text = "Shows the running jobs, or the tasks of one job, with the processor time and memory "
            "they use. On a terminal the display is updated every two seconds until Ctrl-C; "
            "elsewhere it is printed once. 100 % is one processor. A task includes all processes "
            "it has started; for a task in a container image, only what its agent can see.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "every", 'd', CLI_MS, offsetof(struct args, every), "2s", "DURATION",
          "time between updates, on a terminal" }),
    CLI_EXAMPLES({ "ydl top", "watch all running jobs" },
                 { "ydl top mnist", "watch the tasks of one job" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "jobs\tA list of the documents of ydl-status(1), whose running tasks have cpu, the share "
        "of one processor, and memory, in bytes, if known." }),
};
/* clang-format on */
