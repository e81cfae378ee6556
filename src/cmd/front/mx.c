/* mx.c - ydl-mx: MXNetOnYARN's command.
 *
 * Its texts and scripts have four forms of it, and three of them can be told apart by their first
 * word: a place (`ydl-mx yarn -n 2 job.py`), a number of workers (`ydl-mx 2 job.py`), or neither
 * (`ydl-mx --n 2 job.py`). The fourth is the first one without options. */
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

#define WORKERS 2 /* what its scripts started when nobody said a number */

static const char *const schedulers[] = { "client", "cluster", NULL };

/* clang-format off */
static const struct cli_opt options[] = {
    { "-n", .also = { "--n", "--num-workers" }, .meta = "N",
      .help = "how many workers; without it 2", .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--s", "--num-servers" }, .meta = "N",
      .help = "how many servers; without it as many as workers", .type = CLI_I64 },
    { "--jobname", .meta = "NAME", .help = "what the job is called; without it, after its script",
      .same_as = "--name" },
    { "--scheduler", .meta = "WHERE", .help = "where the scheduler runs: here, as long as this "
      "command stays, or in a container; without it here, and in a container with --detach",
      .choices = schedulers },
    { "--native", .meta = "WHEN", .help = "servers without Python; auto: a scheduler only, where "
      "MXNet's library is found; a language is what the job is written in, and changes nothing",
      .choices = family_natives },
    { "--mem", .meta = "SIZE", .help = "memory of a worker's and of a server's container",
      .preset = "1g" },
    { "--cpus", .meta = "N", .help = "processor cores of a worker's and of a server's container",
      .preset = "1", .type = CLI_I64, .least = 1 },
    { "--max-attempts", .meta = "N", .help = "how often a task may be tried before the job fails, "
      "each time elsewhere; without it 3 on YARN, 1 here", .type = CLI_I64, .least = 1 },
    { "--jar", .meta = "FILE", .help = "the program of MXNetOnYARN",
      .no_effect = "nothing of ydl is Java" },
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
        err_hint(err, "name a script, as in: ydl-mx yarn -n 2 job.py");
        return CLI_USAGE;
    }
    if (str_eq(job->v[0], "serve")) {
        cli_bad(err, "serving is not there yet: ydl-mx trains");
        err_hint(err, "a program of that name is run as ./serve");
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
        return cli_bad(err, "%s workers are too few or too many", head);
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
    if (r == 0)
        r = dmlc_native(a, c);
    if (r == 0)
        r = dmlc_pass(a, c);
    if (r == 0)
        r = dmlc_conf(a, NULL, c);
    if (r == 0 && f.servers > 0)
        r = dmlc_kvstore(&a->args->command, c);
    if (r == 0)
        r = front_run_words(a, &a->args->command, &command);
    return r < 0 ? r : dmlc_command(a, &command, dmlc_files_of(&f, true), c);
}

static const struct cli_example examples[] = {
    { "ydl-mx yarn -n 2 -s 1 train.py --kv-store dist_sync", "two workers and a server on YARN" },
    { "ydl-mx local -n 2 train.py --kv-store dist_sync",
      "two workers and two servers on this machine" },
    { "ydl-mx yarn -n 4 --docker-image mxnet/python --detach train.py",
      "in a container image, without staying" },
    { "ydl-mx yarn -n 2 --native yes worker.jar --epochs 3",
      "a Java program for workers, servers without Python" },
    { 0 },
};

static const struct front_verb only = {
    .cli = { .opts = options, .operands = "JOB [WORD…]", .complete = CLI_FILES },
    .habits = LEGACY_JOINED,
    .head = leads_in,
    .verb = "run",
    .translate = mx_translate,
};

const struct front front_mx = {
    .program = {
        .name = "ydl-mx",
        .summary = "train with MXNet on YARN or on this machine, as MXNetOnYARN",
        .text =
            "Runs a job with MXNet's distributed key-value store: workers, as many servers unless -s\n"
            "says otherwise, and a scheduler. The first word says where: yarn or local; without it,\n"
            "$YDL_ON, then yarn. It may also be the number of workers.\n\n"
            "JOB is a script, which needs no 'python' before it, a .jar or any other program. All\n"
            "words after it are the job's own. Results that tasks leave in $YDL_OUT go to HDFS, below\n"
            "/user/ME/.ydl/out/, when the job runs there.\n\n"
            "A task that fails makes its node one to be avoided, whatever the reason but a lost node\n"
            "or preemption, and all tasks are started again, three times in all on YARN.",
        .self = &only.cli,
        .examples = examples,
        .globals = common_job,
        .sections = front_sections,
    },
};
