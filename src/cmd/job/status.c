/* status.c - `ydl status`: how a job is doing. */
#include "cli/doc.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "loop/loop.h"
#include "terminal/format.h"
#include "terminal/story.h"
#include "terminal/task_table.h"

#include <stdio.h>
#include <string.h>

struct args {
    struct job_where where;
    bool tasks;
};

static int put_tasks(const json_t *role, struct buf *out)
{
    json_t *states = json_object_get(role, "states"), *n;
    const char *key;
    int64_t all = 0;

    json_object_foreach(states, key, n) all += json_integer_value(n);
    return buf_printf(out, "%lld", (long long)(all ? all : json_int_or(role, "count", 0)));
}

static int put_states(const json_t *role, struct buf *out)
{
    return format_states(json_object_get(role, "states"), out);
}

/* clang-format off */
static const struct table_column columns[] = {
    { "ROLE",     false, "{name}" },
    { "TASKS",    true,  .put = put_tasks },
    { "STATES",   false, .put = put_states },
    { "PROGRESS", false, .put = format_progress },
};
/* clang-format on */

/* "label  value", cleaned; nothing for an empty value. */
static int status_put(struct buf *out, const char *label, const char *value)
{
    int r = *value ? format_print(out, "%-11s %s", label, value) : 0;

    return r == 0 && *value ? buf_add_u8(out, '\n') : r;
}

static int status_put_times(struct buf *out, const json_t *v)
{
    int64_t created = json_int_or(v, "created", 0), now = loop_wall();
    char when[FORMAT_WHEN], span[FORMAT_SPAN];

    return buf_printf(out, "%-11s %s, %s %s\n", "started", format_when(created, when),
                      json_is_integer(json_object_get(v, "ended")) ? "took" : "runs for",
                      format_span(created > 0 ? json_int_or(v, "ended", now) - created : -1, span));
}

static int status_put_progress(struct buf *out, const json_t *v)
{
    const json_t *p = json_object_get(v, "progress");
    int64_t eta = json_int_or(p, "eta_ms", -1);
    AUTO_BUF text = { .max = KIB };
    char span[FORMAT_SPAN];
    int r = format_progress(p, &text);

    if (r == 0 && text.len > 0 && eta >= 0)
        r = buf_printf(&text, ", %s left", format_span(eta, span));
    if (r < 0 || !buf_text(&text))
        return -ENOMEM;
    return status_put(out, "progress", buf_text(&text));
}

static int put_counts(struct buf *out, const json_t *v)
{
    int64_t generation = json_int_or(v, "generation", 0), restarts = json_int_or(v, "restarts", 0);
    int r = 0;

    if (generation > 0)
        r = buf_printf(out, "%-11s %lld\n", "generation", (long long)generation);
    if (r == 0 && restarts > 0)
        r = buf_printf(out, "%-11s %lld\n", "restarts", (long long)restarts);
    return r;
}

/* Output that is not known to be saved; all of it stands in the events. */
static int status_put_missing(struct buf *out, const json_t *v)
{
    const json_t *missing = json_object_get(v, "missing"),
                 *texts = json_object_get(missing, "texts");
    const char *first = json_string_value(json_array_get(texts, 0));
    int r = first ? status_put(out, "missing", first) : 0;

    if (r < 0 || json_array_size(texts) < 2)
        return r;
    return buf_printf(out, "%-11s of %lld task attempts in all: ydl events %s\n", "",
                      (long long)json_int_or(missing, "tasks", 0), format_text(v, "job"));
}

static int status_put_published(struct buf *out, const json_t *v)
{
    const json_t *p = json_object_get(v, "published");
    const char *model = format_text(p, "model"), *alias = format_text(p, "alias");
    AUTO_FREE char *text = NULL;

    if (!*model)
        return 0;
    text =
        str_printf("%s%s%s in %s", model, *alias ? " as " : "", alias, format_text(p, "registry"));
    return text ? status_put(out, "published", text) : -ENOMEM;
}

static int status_put_head(struct buf *out, const json_t *v, const char *logs)
{
    AUTO_BUF line = { .max = 64 * KIB };
    int r = story_line(v, &line);

    if (r < 0 || !buf_text(&line))
        return -ENOMEM;
    r = buf_printf(out, "%s\n", buf_text(&line));
    if (r == 0)
        r = status_put(out, "where", format_text(v, "platform"));
    if (r == 0)
        r = status_put(out, "framework", format_text(v, "framework"));
    if (r == 0)
        r = status_put_times(out, v);
    if (r == 0)
        r = put_counts(out, v);
    if (r == 0)
        r = status_put_progress(out, v);
    if (r == 0)
        r = status_put(out, "waiting", format_text(v, "waiting"));
    if (r == 0)
        r = status_put(out, "tensorboard", format_text(v, "tensorboard"));
    if (r == 0 && !format_failed(v))
        r = status_put(out, "reason", format_text(v, "reason"));
    if (r == 0)
        r = status_put_missing(out, v);
    if (r == 0)
        r = status_put_published(out, v);
    return r < 0 ? r : status_put(out, "logs", logs);
}

/* The last lines and the hint of what failed; its first line is in the head. */
static int print_story(const json_t *v, const char *logs, struct err *err)
{
    AUTO_BUF text = { .max = MIB };
    const char *rest;

    if (!format_failed(v))
        return 0;
    if (story_text(v, logs, &text) < 0 || !buf_text(&text))
        return err_oom(err);
    rest = strchr(buf_text(&text), '\n');
    if (rest)
        printf("%s", rest);
    return 0;
}

static int status_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_BUF head = { .max = MIB };
    AUTO_JSON *v = NULL;
    int r = client_status(x->client, true, &v, err);

    if (r < 0)
        return r;
    if (x->globals->json)
        return json_print(stdout, v, err);
    if (status_put_head(&head, v, client_logs(x->client)) < 0 || !buf_text(&head))
        return err_oom(err);
    printf("%s\n", buf_text(&head));
    r = a->tasks ? tasks_print(v, false, err)
                 : doc_table(json_object_get(v, "roles"), columns, COUNT_OF(columns), err);
    return r < 0 ? r : print_story(v, NULL, err);
}

/* clang-format off */
const struct cli_verb verb_status = {
    .name = "status", .summary = "show how a job is doing", .operands = "JOB", .least = 1,
    .most = 1, .ask = "Which job?", JOB_VERB_ON(status_work),
    .text = "Shows the state of a job, running or ended: its roles, the states of their tasks, "
            "what it is waiting for, its progress, and why it failed.\n\n"
            "A job is named by its id, by its name if that is unique, or by 'last', the newest "
            "job.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "tasks", 't', CLI_FLAG, offsetof(struct args, tasks), NULL, NULL, "list each task" }),
    CLI_EXAMPLES({ "ydl status last", "show the newest job" },
                 { "ydl status mnist --tasks", "list all tasks of the job named mnist" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "Times are milliseconds since 1970, or null.\n\n"
        "job, name, user, platform, framework\tThe id of the job and what it is.\n"
        "state\tNEW, ASKING, FORMING, RUNNING, FINISHING, SUCCEEDED, FAILED or KILLED.\n"
        "reason, waiting\tWhy it is in this state, and what it is waiting for, as sentences.\n"
        "generation, restarts\tHow often all tasks were restarted together, and how often single "
        "ones.\n"
        "created, started, ended\tTimes.\n"
        "exit, whose\tThe exit status, and the task it comes from.\n"
        "published\tThe version of a model that the job's output became (model, name, version, "
        "format, bytes, alias, registry), or null.\n"
        "unsaved\tA sentence if results could not be saved, or null.\n"
        "missing\tOutput that may not be saved, or null: tasks (number of task attempts), texts "
        "(sentences that name them).\n"
        "roles\tA list of objects with name, count, states (tasks by state), step, total.\n"
        "tasks\tA list of objects with task, role, rank, state, ready, generation, attempt, agent, "
        "node, host, ports, pid, since, code, class, step, total, metrics.\n"
        "story\tThe first failure, or null: task, class, code, signal, text, lines, hint, when.\n"
        "progress\tstep, total, eta_ms; or null.\n"
        "lost\ttrue if the master was killed, so that the end is a guess." }),
};
/* clang-format on */
