/* logs.c - `ydl logs`: what the tasks of a job wrote, and write. */
#include "client/job_call.h"
#include "client/logfiles.h"
#include "client/output_tail.h"
#include "client/task_filter.h"
#include "cmd/job/verbs.h"
#include "follow/follow.h"
#include "follow/replay.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

struct args {
    struct job_where where;
    bool follow, out, err, timestamps, collapse, prefix;
    const char *tail;
};

#define AT(field) offsetof(struct args, field)

struct reading {
    struct job_call *x;
    struct strs wanted;
    bool streams[2];
    int64_t tail;  /* lines; -1: all */
    json_t *skips; /* where to begin: tail_skips() */
};

/* ---- which tasks ---- */

/* Roles of the job, from its own specification. */
static int roles_of(struct job_call *x, struct strs *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    const json_t *roles, *role;
    size_t i;
    int r = client_status(x->client, false, &v, err);

    if (r < 0)
        return r;
    roles = json_object_get(v, "roles");
    json_array_foreach(roles, i, role)
    {
        if (strs_add(ret, format_text(role, "name")) < 0)
            return err_oom(err);
    }
    return 0;
}

static int check_wanted(struct job_call *x, const struct strs *wanted, struct err *err)
{
    AUTO_STRS roles = { 0 };
    int r = wanted->n ? roles_of(x, &roles, err) : 0;

    return r < 0 || roles.n == 0 ? r : task_filter_check(wanted, &roles, client_id(x->client), err);
}

static int make_reading(struct job_call *x, struct reading *ret, struct err *err)
{
    const struct args *a = job_args(x);
    int r = 0;

    *ret = (struct reading){ .x = x, .tail = -1 };
    ret->streams[PIECE_OUT] = a->out || !a->err;
    ret->streams[PIECE_ERR] = a->err || !a->out;
    if (a->tail && str_to_i64(a->tail, 0, INT64_MAX, &ret->tail) < 0)
        return cli_bad(err, "option '--tail': '%s' is not a number of lines", a->tail);
    if (a->collapse && (x->globals->json || !a->prefix))
        return cli_bad(err, "--collapse needs prefixes: omit --json and --no-prefix");
    for (size_t i = 1; r == 0 && i < x->cli->n_operands; i++)
        r = strs_add(&ret->wanted, x->cli->operands[i]);
    return r < 0 ? err_oom(err) : check_wanted(x, &ret->wanted, err);
}

/* ---- what is there ---- */

static int show_files(struct reading *d, const struct logfiles *files, struct err *err)
{
    const struct args *a = job_args(d->x);
    struct screen_options so = { .loop = d->x->loop };
    struct show_options o = { .prefix = a->prefix,
                              .collapse = a->collapse,
                              .json = d->x->globals->json };
    AUTO(screen) struct screen *screen = NULL;
    AUTO(show) struct show *show = NULL;
    AUTO_FREE uint64_t *begins = calloc(files->n + 1, sizeof(*begins));
    int r = begins ? tail_begins(files, d->streams, d->tail, begins, err) : err_oom(err);

    if (r == 0)
        r = screen_new(&so, &screen, err);
    if (r == 0)
        r = screen_show(screen, &o, &show, err);
    for (size_t i = 0; r == 0 && i < files->n; i++)
        r = show_task(show, files->v[i].task) < 0 ? err_oom(err) : 0;
    for (size_t i = 0; r == 0 && i < files->n; i++)
        if (d->streams[files->v[i].stream])
            r = replay_file(&files->v[i], begins[i], 0, show, screen, err);
    if (r == 0)
        r = show_end(show, 0);
    return r < 0 ? r : screen_end(screen, LOOP_NEVER, err);
}

/* ---- what comes ---- */

static uint64_t skip_of(void *user, const char *task, enum piece_stream stream)
{
    const struct reading *d = user;

    return tail_skip(d->skips, task, stream);
}

static struct replay_place place_in_earlier(void *user, const struct logfile *first)
{
    const struct reading *d = user;
    uint64_t at = tail_skip_earlier(d->skips, first->task, first->stream);

    return (struct replay_place){ .at = d->streams[first->stream] ? at : UINT64_MAX };
}

/* What comes first, and where the last lines of each stream begin.
 *
 * With --tail all that there is so far has to be looked at, to find where the last lines begin;
 * each stream is then followed from there on. */
static int find_begin(struct reading *d, struct logfiles *ret, struct spool **ret_spool,
                      struct err *err)
{
    int r;

    if (d->tail < 0)
        return client_earlier_output(d->x->client, &d->wanted, ret, err);
    r = client_output(d->x->client, &d->wanted, ret, ret_spool, err);
    return r < 0 ? r : tail_skips(ret, d->streams, d->tail, d->skips, err);
}

static int logs_follow(struct reading *d, struct err *err)
{
    const struct args *a = job_args(d->x);
    const struct globals *g = d->x->globals;
    struct follow_options o = {
        .tasks = &d->wanted,
        .streams = { d->streams[0], d->streams[1] },
        .quiet = g->quiet || g->json,
        .json = g->json,
        .prefix = a->prefix,
        .timestamps = a->timestamps,
        .collapse = a->collapse,
        .skip = d->tail >= 0 ? skip_of : NULL,
        .user = d,
    };
    const struct replay_from from = { place_in_earlier, d };
    struct follow_result end = { 0 };
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 };
    AUTO_JSON *skips = json_object();
    int r = skips ? 0 : err_oom(err);

    d->skips = skips;
    if (r == 0)
        r = find_begin(d, &files, &spool, err);
    o.earlier = &files;
    o.earlier_from = &from;
    if (r == 0)
        r = follow_job(d->x->client, &o, &end, err);
    json_decref(end.status);
    return r;
}

/* Does the sentence name a task that is wanted? It says "worker:0 (attempt …". */
static bool names_wanted_task(const struct reading *d, const char *text)
{
    const char *at = d->wanted.n ? NULL : text;

    for (size_t i = 0; text && i < d->wanted.n && !at; i++) {
        size_t n = strlen(d->wanted.v[i]);

        for (at = strstr(text, d->wanted.v[i]); at; at = strstr(at + 1, d->wanted.v[i]))
            if ((at == text || at[-1] == ' ') && strchr(" :", at[n]))
                break;
    }
    return at != NULL;
}

/* Who reads what was kept also reads what may not have been, if anybody knows. */
static int warn_of_missing(struct reading *d, struct err *err)
{
    AUTO_JSON *v = NULL;
    const json_t *texts, *text;
    size_t i;

    if (d->x->globals->quiet || client_status(d->x->client, false, &v, NULL) < 0)
        return 0;
    texts = json_object_get(json_object_get(v, "missing"), "texts");
    json_array_foreach(texts, i, text)
    {
        AUTO_BUF line = { .max = 64 * KIB };

        if (!names_wanted_task(d, json_string_value(text)))
            continue;
        if (format_clean(&line, json_string_value(text)) < 0 || !buf_text(&line))
            return err_oom(err);
        fprintf(stderr, "ydl: %s\n", buf_text(&line));
    }
    return 0;
}

/* A job on YARN that ended without its master, or whose application was killed, tells of nothing
 * that is missing: its agents may have saved what they had, or not. */
static int warn_of_lost(struct reading *d, const struct logfiles *files, struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_STRS tasks = { 0 };

    if (d->x->globals->quiet || !str_eq(client_where(d->x->client), "yarn") ||
        client_status(d->x->client, true, &v, NULL) < 0)
        return 0;
    if (logfiles_lacking(files, v, &tasks) < 0)
        return err_oom(err);
    for (size_t i = 0; i < tasks.n; i++)
        if (logfiles_wanted(&d->wanted, tasks.v[i]))
            fprintf(stderr, "ydl: output of %s was not saved: the %s\n", tasks.v[i],
                    json_is_true(json_object_get(v, "lost")) ? "job ended without its master"
                                                             : "application was killed");
    return 0;
}

/* Of a job that runs: an agent did not send what its tasks wrote. */
static int warn_of_silent(const struct reading *d, const struct spool *spool, struct err *err)
{
    const struct strs *missing = spool ? spool_missing(spool) : NULL;

    for (size_t i = 0; missing && i < missing->n && !d->x->globals->quiet; i++) {
        AUTO_BUF line = { .max = 4 * KIB };

        if (format_clean(&line, missing->v[i]) < 0 || !buf_text(&line))
            return err_oom(err);
        fprintf(stderr, "ydl: some output is not available: %s\n", buf_text(&line));
    }
    return 0;
}

/* All of it that is there, task after task. */
static int show_all(struct reading *d, struct err *err)
{
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 };
    int r = client_output(d->x->client, &d->wanted, &files, &spool, err);

    if (r == 0)
        r = show_files(d, &files, err);
    if (r == 0)
        r = warn_of_silent(d, spool, err);
    if (r == 0)
        r = warn_of_missing(d, err);
    return r < 0 ? r : warn_of_lost(d, &files, err);
}

/* A job that has ended is shown from its files, also with --follow. For one that runs, following
 * begins with the files of earlier agents (find_begin), and goes on with what the master sends. */
static int logs_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    struct reading d;
    int r = make_reading(x, &d, err);

    if (r == 0 && a->follow)
        r = client_alive(x->client, err);
    if (r == 0 && a->follow)
        client_settle(x->client); /* tasks may outlive a master that was killed by a moment */
    if (r >= 0)
        r = r == 1 ? logs_follow(&d, err) : show_all(&d, err);
    strs_done(&d.wanted);
    return r;
}

/* clang-format off */
const struct cli_verb verb_logs = {
    .name = "logs", .summary = "show the output of a job's tasks", .operands = "JOB [ROLE[:RANK]…]",
    .least = 1, .most = CLI_ANY, .ask = "Which job?", JOB_VERB_ON(logs_work),
    .text = "Shows the output of a job, running or ended: of all tasks, of the tasks of a role, "
            "or of single tasks. What tasks wrote to standard error goes to standard error. With "
            "--follow, lines are shown as they are written, until the job has ended; otherwise "
            "one task is shown after the other.\n\n"
            "Output known to be missing, because it was not saved or an agent does not answer, is "
            "named on standard error; the exit status is still 0.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "follow", 'f', CLI_FLAG, AT(follow), NULL, NULL,
          "follow the output until the job has ended" },
        { "stdout", 0, CLI_FLAG, AT(out), NULL, NULL, "show only standard output" },
        { "stderr", 0, CLI_FLAG, AT(err), NULL, NULL, "show only standard error" },
        { "tail", 'n', CLI_TEXT, AT(tail), NULL, "N",
          "show only the last N lines of each stream of each task, and what follows" },
        { "timestamps", 't', CLI_FLAG, AT(timestamps), NULL, NULL,
          "with --follow: prefix each line with its time" },
        { "collapse", 0, CLI_FLAG, AT(collapse), NULL, NULL,
          "show a line that many tasks print only once" },
        { "prefix", 0, CLI_FLAG, AT(prefix), "yes", NULL, "prefix each line with its task" }),
    CLI_EXAMPLES({ "ydl logs last worker:0", "show the output of one task" },
                 { "ydl logs -f mnist worker --tail 10",
                   "follow the workers, from their last 10 lines on" },
                 { "ydl logs last worker:0 --no-prefix --stdout > out.txt",
                   "copy the output of a task byte for byte" }),
    CLI_SECTIONS(
      { "FILES",
        "$XDG_STATE_HOME/ydl/jobs/JOB/logs\tThe output of each task: ROLE-RANK.out and "
        "ROLE-RANK.err. For an ended job on YARN the files are on HDFS, in .ydl/logs/JOB in your "
        "home directory. If a task ran on other nodes before, its output from there is in "
        "ROLE-RANK.1.out, ROLE-RANK.2.out and so on, and is shown first, also while the "
        "job runs." },
      { "JSON OUTPUT",
        "Each line is an object with the key output: task, stream (out or err), text, and whole, "
        "which is false if the line has no newline at its end." }),
};
/* clang-format on */
