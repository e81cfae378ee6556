/* top.c - `ydl top`: running jobs, or the tasks of one, refreshed while one looks. */
#include "cli/doc.h"
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

static int top_add(void *arg, struct client *c, struct err *err)
{
    json_t *v = NULL;
    int r = client_usage(c, &v, err);

    if (r == 0 && json_object_set_new(v, "where", json_string(client_where(c))) < 0) {
        json_decref(v);
        return err_oom(err);
    }
    return r == 0 && json_array_append_new(arg, v) < 0 ? err_oom(err) : r;
}

/* What all tasks of a job use together. */
static int put_cpu(const json_t *job, struct buf *out)
{
    const json_t *tasks = json_object_get(job, "tasks");
    double share = 0;

    for (size_t i = 0; i < json_array_size(tasks); i++)
        share += json_number_value(json_object_get(json_array_get(tasks, i), "cpu"));
    return buf_printf(out, "%.0f %%", share * 100);
}

static int put_memory(const json_t *job, struct buf *out)
{
    const json_t *tasks = json_object_get(job, "tasks");
    char size[STR_SIZE_MAX];
    uint64_t sum = 0;

    for (size_t i = 0; i < json_array_size(tasks); i++)
        sum += (uint64_t)json_int_or(json_array_get(tasks, i), "memory", 0);
    return buf_add_str(out, str_size(sum, size));
}

static int put_tasks(const json_t *job, struct buf *out)
{
    return buf_printf(out, "%zu", json_array_size(json_object_get(job, "tasks")));
}

static int put_progress(const json_t *job, struct buf *out)
{
    return format_progress(json_object_get(job, "progress"), out);
}

/* clang-format off */
static const struct table_column columns[] = {
    { "JOB",      false, "{job}" },
    { "NAME",     false, "{name}" },
    { "STATE",    false, "{state|lower}" },
    { "TIME",     true,  .put = format_age },
    { "TASKS",    false, .put = put_tasks },
    { "CPU",      true,  .put = put_cpu },
    { "MEMORY",   true,  .put = put_memory },
    { "PROGRESS", false, .put = put_progress },
};
/* clang-format on */

/* The tasks of the one job that was named, or all jobs. */
static int top_print(const struct job_call *x, const json_t *jobs, struct err *err)
{
    const json_t *one = json_array_get(jobs, 0);
    char state[16];

    if (!x->client)
        return doc_table(jobs, columns, COUNT_OF(columns), err);
    printf("%s  %s\n\n", client_id(x->client),
           format_lower(format_text(one, "state"), state, sizeof(state)));
    return tasks_print(one, true, err);
}

/* One picture. */
static int top_turn(struct job_call *x, bool clear, bool *ret_over, struct err *err)
{
    AUTO_JSON *jobs = json_array();
    int r = jobs ? 0 : err_oom(err);

    if (r == 0)
        r = x->client ? top_add(jobs, x->client, err)
                      : job_each(x, JOB_EACH_RUNNING, SIZE_MAX, top_add, jobs, err);
    if (r == 0 && x->globals->json)
        return doc_print(err, "{s:O}", "jobs", jobs);
    if (r < 0)
        return r;
    if (clear)
        printf("\033[H\033[2J");
    r = top_print(x, jobs, err);
    fflush(stdout);
    *ret_over = x->client && json_is_integer(json_object_get(json_array_get(jobs, 0), "exit"));
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
