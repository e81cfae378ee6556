/* events.c - `ydl events`: what happened to a job. */
#include "cmd/exit.h"
#include "cmd/job/event_words.h"
#include "cmd/job/job.h"
#include "cmd/job/verbs.h"
#include "cmd/job/words.h"
#include "cmd/table.h"

#include <stdio.h>

struct args {
    bool follow, timeline;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct cli_opt opts[] = {
    { "follow",   'f', CLI_FLAG, AT(follow),   NULL, NULL, "go on until the job has ended" },
    { "timeline", 0,   CLI_FLAG, AT(timeline), NULL, NULL,
      "when the first and the last task came how far, instead of each event" },
    { 0 },
};

static const struct table_column columns[] = {
    { "STEP", false }, { "FIRST", true }, { "LAST", true }, { "TIMES", true },
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
    char when[WORDS_WHEN];

    if (event_words(v, &text) < 0 || !buf_text(&text))
        return err_oom(err);
    printf("%s  %s\n", words_clock(words_int(v, "t", 0), when), buf_text(&text));
    return flushed(err);
}

static int on_line(void *arg, const char *line, size_t n)
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

static int print_timeline(struct timeline *t, bool json, struct err *err)
{
    const struct timeline_step *steps;
    size_t n = timeline_steps(t, &steps);
    AUTO_JSON *list = json_array();
    AUTO_JSON *doc = NULL;
    AUTO_TABLE table = { 0 };
    int r = list ? 0 : err_oom(err);

    table_begin(&table, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; r == 0 && i < n; i++) {
        json_t *step = NULL;

        table_cell(&table, "%s", steps[i].what);
        table_cell(&table, "%.3f s", (double)steps[i].first / 1000);
        table_cell(&table, "%.3f s", (double)steps[i].last / 1000);
        table_cell(&table, "%lld", (long long)steps[i].n);
        r = json_make(&step, err, "{s:s, s:I, s:I, s:I}", "step", steps[i].what, "first_ms",
                      (json_int_t)steps[i].first, "last_ms", (json_int_t)steps[i].last, "times",
                      (json_int_t)steps[i].n);
        if (r == 0 && json_array_append_new(list, step) < 0)
            r = err_oom(err);
    }
    if (r < 0)
        return r;
    if (!json)
        return table_end(&table, err);
    r = json_make(&doc, err, "{s:O}", "timeline", list);
    return r < 0 ? r : json_print(stdout, doc, err);
}

static int work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO(timeline) struct timeline *t = NULL;
    struct reading d = { .json = x->globals->json, .err = err };
    int r;

    if (a->timeline && timeline_new(&t) < 0)
        return err_oom(err);
    d.timeline = t;
    r = client_events(x->client, a->follow, on_line, &d, err);
    return r < 0 || !t ? r : print_timeline(t, x->globals->json, err);
}

static int run(struct cli *c, struct err *err)
{
    return job_run_on(c, work, err);
}

static const struct cli_example examples[] = {
    { "ydl events last", "everything that happened" },
    { "ydl events mnist -f --json", "as it happens, for a program" },
    { "ydl events last --timeline", "where the time went" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "JSON OUTPUT",
      "One record on each line: seq, t (milliseconds since 1970), event, and keys that depend on\n"
      "it. Unknown events and keys are to be ignored.\n\n"
      "job\tThe job's state: state, reason.\n"
      "task\tA task's state: task, state, generation, attempt, node, ports, pid, code, class.\n"
      "failure, story\tA failed task; the one that decided: task, class, code, signal, text, "
      "lines,\n"
      "hint.\n"
      "restart, gang, agent, request, progress, ready, note\tWhat their names say.\n"
      "end\tThe last record: state, exit, whose, text.\n\n"
      "With --timeline one object: timeline, a list of objects with step, first_ms, last_ms and\n"
      "times." },
    { 0 },
};

const struct cli_verb verb_events = {
    .name = "events",
    .summary = "what happened to a job",
    .text = "Shows the events of a job, running or ended, in the order in which they happened.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "JOB",
    .least = 1,
    .most = 1,
    .examples = examples,
    .sections = sections,
    .run = run,
};
