/* mx.c - ydl-mx: MXNetOnYARN's command.
 *
 * Its texts and scripts have four forms of it, and three of them can be told apart by their first
 * word: a place (`ydl-mx yarn -n 2 job.py`), a number of workers (`ydl-mx 2 job.py`), or neither
 * (`ydl-mx --n 2 job.py`). The fourth is the first one without options. */
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

#define WORKERS 2 /* what its scripts started when nobody said a number */

/* clang-format off */
static const struct cli_opt options[] = {
    { "-n", .also = { "--n", "--num-workers" }, .meta = "N",
      .help = "number of workers", .fallback = "2", .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--s", "--num-servers" }, .meta = "N",
      .help = "number of servers", .fallback = "as many as workers", .type = CLI_I64 },
    { "--jobname", .meta = "NAME", .help = "name of the job",
      .fallback = "made from the script's name", .same_as = "--name" },
    DMLC_SCHEDULER,
    DMLC_NATIVE,
    { "--mem", .meta = "SIZE", .help = "memory per worker and per server", .preset = "1g" },
    { "--cpus", .meta = "N", .help = "number of CPU cores per worker and per server", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "--max-attempts", .meta = "N", .help = "maximum number of attempts per task, each on another "
      "node, before the job fails", .fallback = "3 on YARN, 1 on this machine", .type = CLI_I64,
      .least = 1 },
    { "--jar", .meta = "FILE", .help = "program of MXNetOnYARN",
      .no_effect = DMLC_JAVA },
    { 0 },
};
/* clang-format on */

static bool mx_is_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word);
}

static bool is_place(const char *word)
{
    return str_eq(word, "yarn") || str_eq(word, "local");
}

static bool leads_in(const char *word)
{
    return is_place(word) || mx_is_number(word);
}

/* What is to be run must be here, unless it comes in something else. */
static int mx_check_job(const struct front_ask *a, struct err *err)
{
    const struct strs *job = &a->args->command;
    bool script = job->n && (str_ends(job->v[0], ".py") || str_ends(job->v[0], ".jar"));

    if (job->n == 0) {
        cli_bad(err, "a job is missing");
        err_hint(err, "try: ydl-mx yarn -n 2 job.py");
        return CLI_USAGE;
    }
    if (str_eq(job->v[0], "serve")) {
        cli_bad(err, "'serve' must be the first word");
        err_hint(err,
                 "to serve on YARN or here: ydl-mx serve --on yarn MODEL; to run a program of that "
                 "name, write ./serve");
        return CLI_USAGE;
    }
    if (!script || front_exists(job->v[0]) || front_given(a, "--files") ||
        front_given(a, "--archives") || front_given(a, "--docker-image"))
        return 0;
    return cli_bad(err, "there is no job '%s'", job->v[0]);
}

static int count_workers(const struct front_ask *a, int64_t *ret, struct err *err)
{
    const char *head = a->args->head;

    *ret = legacy_number(&a->syntax, a->args, "-n", WORKERS);
    if (!head || !mx_is_number(head) || front_given(a, "-n"))
        return 0;
    if (str_to_i64(head, 1, INT32_MAX, ret) < 0)
        return cli_bad(err, "number of workers '%s' is out of range", head);
    return 0;
}

/* What was said, and what counts when nothing was. */
static int mx_describe(const struct front_ask *a, struct dmlc *f, struct err *err)
{
    const char *head = a->args->head;

    f->on = head && is_place(head) && !front_given(a, "--on") ? head : front_on(a, "yarn");
    f->scheduler = front_value(a, "--scheduler");
    f->worker_memory = f->server_memory = front_value(a, "--mem");
    f->worker_cpus = f->server_cpus = legacy_number(&a->syntax, a->args, "--cpus", 1);
    f->sized = front_given(a, "--mem") || front_given(a, "--cpus");
    f->attempts = dmlc_attempts(a, f->on, "--max-attempts");
    return count_workers(a, &f->workers, err);
}

static int mx_translate(const struct front_ask *a, struct front_call *c, struct err *err)
{
    struct dmlc f = { 0 };
    AUTO_STRS command = { 0 };
    int r = mx_check_job(a, err);

    if (r == 0)
        r = mx_describe(a, &f, err);
    if (r < 0)
        return r;
    f.servers = legacy_number(&a->syntax, a->args, "-s", f.workers);
    r = dmlc_words(a, &f, c, err);
    if (r < 0)
        return r;
    dmlc_native(a, c);
    dmlc_pass(a, c);
    dmlc_conf(a, NULL, c);
    if (f.servers > 0)
        dmlc_kvstore(&a->args->command, c);
    r = front_run_words(a, &a->args->command, &command);
    return r < 0 ? r : dmlc_command(a, &command, dmlc_files_of(&f, true), c);
}

static const struct cli_verb *const verbs[] = { &front_serve_verb.cli, NULL };
static const struct front_verb job_verb = {
    .cli = { .opts = options, .operands = "JOB [WORD…]", .complete = CLI_FILES, .subs = verbs },
    .habits = LEGACY_JOINED,
    .head = leads_in,
    .verb = "run",
    .translate = mx_translate,
};

/* clang-format off */
const struct front front_mx = {
    .program = {
        .name = "ydl-mx",
        .summary = "train and serve with MXNet on YARN or on this machine, like MXNetOnYARN",
        .globals = common_opts, .self = &job_verb.cli,
        .text = "Runs a job with MXNet's distributed key-value store: workers, servers (as many "
                "as workers, unless -s is given) and a scheduler. The first word may be the "
                "place, yarn or local (default: $YDL_ON, or yarn), or the number of workers.\n\n"
                "JOB is a script, which needs no 'python' before it, a .jar or any other program. "
                "All words after it are passed to the job. On YARN, what tasks write to $YDL_OUT "
                "is saved in HDFS, below /user/ME/.ydl/out/.\n\n"
                "When a task fails, its node is not used again, unless the node was lost or the "
                "task preempted, and all tasks are restarted. On YARN there are three attempts.",
        CLI_EXAMPLES({ "ydl-mx yarn -n 2 -s 1 train.py --kv-store dist_sync",
                       "two workers and a server on YARN" },
                     { "ydl-mx local -n 2 train.py --kv-store dist_sync",
                       "two workers and two servers on this machine" },
                     { "ydl-mx yarn -n 4 --docker-image mxnet/python --detach train.py",
                       "in a container image, detached" },
                     { "ydl-mx yarn -n 2 --native yes worker.jar --epochs 3",
                       "a Java program for workers, servers without Python" },
                     { "ydl-mx serve models/mnist -n 2 --port 8080",
                       "serve a model behind an address on YARN" }),
        .sections = front_sections,
    },
};
/* clang-format on */
