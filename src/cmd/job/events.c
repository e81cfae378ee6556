/* events.c - `ydl events`: what happened to a job. */
#include "cli/doc.h"
#include "cli/exit.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "terminal/event_text.h"
#include "terminal/format.h"
#include "terminal/timeline.h"

#include <stdio.h>

struct args {
    struct job_where where;
    bool follow, timeline;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct table_column columns[] = {
    { "PHASE", false }, { "AT", true }, { "TOOK", true }, { "WAITED FOR", false },
};
/* clang-format on */

struct reading {
    bool json;
    struct timeline *timeline; /* NULL: each record is printed */
    struct err *err;
};

static int flushed(struct err *err)
{
    if (fflush(stdout) == 0)
        return 0;
    return errno == EPIPE ? EXIT_OUTPUT_GONE : err_sys(err, "write to standard output");
}

static int print_record(const json_t *v, struct err *err)
{
    AUTO_BUF text = { .max = MIB };
    char when[FORMAT_WHEN];

    if (event_words(v, &text) < 0 || !buf_text(&text))
        return err_oom(err);
    if (text.len == 0)
        return 0; /* nothing for people */
    printf("%s  %s\n", format_clock(json_int_or(v, "t", 0), when), buf_text(&text));
    return flushed(err);
}

static int events_on_line(void *arg, const char *line, size_t n)
{
    struct reading *d = arg;
    AUTO_JSON *v = NULL;

    if (json_parse("event", line, n, &v, NULL) < 0)
        return 0; /* cut short by a crash */
    if (d->timeline) {
        timeline_add(d->timeline, v);
        return 0;
    }
    if (!d->json)
        return print_record(v, d->err);
    fwrite(line, 1, n, stdout);
    putchar('\n');
    return flushed(d->err);
}

static json_t *row_json(const struct timeline_row *row)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:s, s:I, s:I, s:s}", "phase", row->name, "at_ms",
                    (json_int_t)row->at, "took_ms", (json_int_t)row->took, "who",
                    timeline_who_key(row->who));
    return v;
}

static int timeline_json(const struct timeline_row *rows, size_t n, const int64_t *sums,
                         struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_JSON *all = json_object();
    int r = list && all ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = json_array_append_new(list, row_json(&rows[i]));
    for (int i = 0; r == 0 && i < TIMELINE_WHO_; i++)
        r = json_object_set_new(all, timeline_who_key((enum timeline_who)i), json_integer(sums[i]));
    if (r < 0)
        return err_oom(err);
    return doc_print(err, "{s:O, s:O}", "timeline", list, "sums_ms", all);
}

static int timeline_table(const struct timeline_row *rows, size_t n, const int64_t *sums,
                          struct err *err)
{
    AUTO_TABLE table = { 0 };
    bool any = false;
    int r;

    table_begin(&table, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        table_cell(&table, "%s", rows[i].name);
        table_cell(&table, "%lld ms", (long long)rows[i].at);
        table_cell(&table, "%lld ms", (long long)rows[i].took);
        table_cell(&table, "%s", i ? timeline_who_name(rows[i].who) : "-");
    }
    r = table_end(&table, err);
    for (int i = 0; r == 0 && i < TIMELINE_WHO_; i++) {
        if (sums[i] == 0 && i != TIMELINE_YDL)
            continue;
        printf("%s%s %lld ms", any ? ", " : "\n", timeline_who_name((enum timeline_who)i),
               (long long)sums[i]);
        any = true;
    }
    if (r == 0)
        putchar('\n');
    return r;
}

static int print_timeline(const struct timeline *t, bool json, struct err *err)
{
    struct timeline_row rows[PHASES_];
    int64_t sums[TIMELINE_WHO_];
    size_t n = timeline_rows(t, rows, sums);

    return json ? timeline_json(rows, n, sums, err) : timeline_table(rows, n, sums, err);
}

static int events_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct timeline t;
    struct reading d = { .json = x->globals->json, .err = err };
    int r;

    timeline_init(&t);
    if (a->timeline)
        d.timeline = &t;
    if (a->follow)
        client_set_patience(x->client, CLIENT_LONG_MS);
    r = client_events(x->client, a->follow, events_on_line, &d, err);
    return r < 0 || !a->timeline ? r : print_timeline(&t, x->globals->json, err);
}

/* clang-format off */
const struct cli_verb verb_events = {
    .name = "events", .summary = "show the events of a job", .operands = "JOB", .least = 1,
    .most = 1, .ask = "Which job?", JOB_VERB_ON(events_work),
    .text = "Shows what happened to a job, running or ended, in order of time.\n\n"
            "With --timeline, shows a table of the phases of its start instead: when each was "
            "reached, in milliseconds since the command began, and what it was waiting for: ydl "
            "itself, the ResourceManager, a NodeManager, or the job's own commands. The line "
            "below the table adds up the time of each.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "follow", 'f', CLI_FLAG, AT(follow), NULL, NULL,
          "follow the events until the job has ended" },
        { "timeline", 0, CLI_FLAG, AT(timeline), NULL, NULL,
          "show how long each phase of the start took" }),
    CLI_EXAMPLES({ "ydl events last", "show everything that happened" },
                 { "ydl events mnist -f --json", "follow the events as JSON" },
                 { "ydl events last --timeline", "show how long the start took, and why" }),
    CLI_SECTIONS({ "JSON OUTPUT",
        "One record per line: seq, t (milliseconds since 1970), event, and keys that depend on the "
        "event. Ignore unknown events and keys.\n\n"
        "job\tThe job's state: state, reason.\n"
        "task\tA task's state: task, state, generation, attempt, node, ports, pid, code, class.\n"
        "failure, story\tA failed task; the one that decided: task, class, code, signal, text, "
        "lines, hint.\n"
        "restart\tA task, or all of them, starts again: what, attempt or generation, used, max, "
        "reason.\n"
        "gang\tContainers are requested or given back, all tasks start: step, have, want, reason.\n"
        "agent\tAn agent has connected, leaves, or is lost: agent, state, node, host, reason.\n"
        "request\tSomebody asked for it: what (stop, kill, restart, scale), who, task, role, count.\n"
        "ready\tA task is ready: task.\n"
        "note\tA sentence of ydl: text, level.\n"
        "task-note\tA sentence that a task wrote: task, text.\n"
        "progress\tReported by a task: task, step, total, metrics. With -f every second, then "
        "without seq; of the past, the first and the last of each start, and one per hour.\n"
        "phase\tA phase of the start was reached: name, who (was waited for).\n"
        "master, container\tOn YARN: a master starts; a container ends.\n"
        "summary\tOn YARN, first and without seq: what a new master took over. It stands for "
        "earlier records, which are shown again when the job has ended.\n"
        "end\tThe last record: state, exit, whose, text.\n\n"
        "With --timeline, one object: timeline, a list of objects with phase, at_ms (since the "
        "first phase), took_ms (since the previous one) and who was waited for (ydl, rm, nm, or "
        "user: the job itself); and sums_ms, the time of each of them." }),
};
/* clang-format on */
