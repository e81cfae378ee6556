/* dmlc_submit.c - dmlc-submit: dmlc-core's launcher since 2016. */
#include "base/path.h"
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

static const char *const clusters[] = { "yarn", "slurm", "mpi",        "sge", "local",
                                        "ssh",  "mesos", "kubernetes", NULL };

/* Options of other clusters. Theirs let them pass in silence, whatever the cluster was. */
#define NOT_ON(cluster) "ydl does not run on " cluster "; "
#define PLACES "use --cluster yarn or --cluster local"
#define IMAGE "use --docker-image"

/* clang-format off */
static const struct cli_opt options[] = {
    { "--cluster", .meta = "KIND",
      .help = "where to run", .fallback = "$DMLC_SUBMIT_CLUSTER, or $YDL_ON",
      .choices = clusters },
    { "--num-workers", .meta = "N", .help = "number of workers; required", .type = CLI_I64,
      .least = 1 },
    { "--num-servers", .meta = "N", .help = "number of servers; with 0, the job uses rabit",
      .preset = "0", .type = CLI_I64 },
    { "--worker-cores", .meta = "N", .help = "number of CPU cores per worker", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "--server-cores", .meta = "N", .help = "number of CPU cores per server", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "--worker-memory", .meta = "SIZE", .help = "memory per worker", .preset = "1g" },
    { "--server-memory", .meta = "SIZE", .help = "memory per server", .preset = "1g" },
    { "--jobname", .meta = "NAME",
      .help = "name of the job", .fallback = "made from the counts and the program's name" },
    { "--queue", .meta = "QUEUE", .help = "queue to submit to", .fallback = "the cluster's choice",
      .same_as = "--queue" },
    DMLC_LOG,
    { "--host-ip", .meta = "ADDRESS",
      .help = "address of this machine at which tasks on the cluster reach the scheduler" },
    DMLC_SCHEDULER,
    DMLC_TRACKER,
    { "--hdfs-tempdir", .meta = "DIR",
      .help = "directory in HDFS for uploads", .fallback = ".ydl in your home directory" },
    { "--auto-file-cache", .meta = "BOOL", .help = "upload the files that the command names",
      .preset = "True" },
    { "--files", .meta = "FILE", .help = "additional file to upload", .type = CLI_LIST },
    { "--archives", .meta = "FILE",
      .help = "archive to unpack into each task's working directory on YARN", .type = CLI_LIST },
    { "--env", .meta = "NAME=VALUE", .help = "environment variable for all tasks", .type = CLI_LIST,
      .same_as = "--env" },
    DMLC_LIBCXX,
    { "--local-num-attempt", .meta = "N",
      .help = "maximum number of retries per task on this machine", .preset = "0",
      .type = CLI_I64 },
    { "--yarn-app-classpath", .meta = "PATH", .help = "class path of the ApplicationMaster",
      .no_effect = DMLC_JAVA },
    { "--yarn-app-dir", .meta = "DIR", .help = "directory of dmlc-yarn.jar",
      .no_effect = DMLC_JAVA },
    DMLC_SSH("--host-file", NULL),
    { "--sge-log-dir", .meta = "DIR", .help = "log directory for sge",
      .not_supported = NOT_ON("sge") "'ydl logs' shows what tasks wrote" },
    { "--mesos-master", .meta = "HOST", .help = "master of mesos",
      .not_supported = NOT_ON("mesos") PLACES },
    { "--slurm-worker-nodes", .meta = "N", .help = "nodes of slurm",
      .not_supported = NOT_ON("slurm") "use --num-workers" },
    { "--slurm-server-nodes", .meta = "N", .help = "nodes of slurm",
      .not_supported = NOT_ON("slurm") "use --num-servers" },
    { "--kube-namespace", .meta = "NAME", .help = "namespace of kubernetes",
      .not_supported = NOT_ON("kubernetes") PLACES },
    { "--kube-worker-image", .meta = "IMAGE", .help = "worker image of kubernetes",
      .not_supported = NOT_ON("kubernetes") IMAGE },
    { "--kube-server-image", .meta = "IMAGE", .help = "server image of kubernetes",
      .not_supported = NOT_ON("kubernetes") IMAGE },
    { "--kube-worker-template", .meta = "FILE", .help = "worker template of kubernetes",
      .not_supported = NOT_ON("kubernetes") PLACES },
    { "--kube-server-template", .meta = "FILE", .help = "server template of kubernetes",
      .not_supported = NOT_ON("kubernetes") PLACES },
    { 0 },
};
/* clang-format on */

static int dmlc_submit_find_place(const struct front_ask *a, const char **ret, struct err *err)
{
    const char *said = front_value(a, "--cluster"), *on = front_value(a, "--on");

    if (!said)
        said = on ? on : front_env(a, "DMLC_SUBMIT_CLUSTER");
    if (!said)
        said = front_env(a, "YDL_ON");
    *ret = said;
    if (!said)
        return cli_bad(err, "--cluster is missing: use --cluster yarn or --cluster local");
    if (str_eq(said, "yarn") || str_eq(said, "local"))
        return 0;
    return cli_bad(err, "'%s' is not supported: ydl runs on yarn or local", said);
}

/* "512m", "1.5g": a number and one of two letters, which the older parser insisted on. */
static int check_memory(const struct front_ask *a, const char *option, struct err *err)
{
    const char *v = front_value(a, option);
    size_t n = strlen(v);
    uint64_t bytes;

    if (n > 1 && strchr("gmGM", v[n - 1]) && str_to_size(v, &bytes) == 0 && bytes >= MIB)
        return 0;
    return cli_bad(err, "option '%s': '%s' is not a size such as 1g or 512m", option, v);
}

static int dmlc_submit_describe(const struct front_ask *a, struct dmlc *f, struct err *err)
{
    const struct legacy_syntax *s = &a->syntax;
    int r = dmlc_needs(a, "--num-workers", err);

    if (r == 0)
        r = dmlc_submit_find_place(a, &f->on, err);
    if (r == 0)
        r = check_memory(a, "--worker-memory", err);
    if (r == 0)
        r = check_memory(a, "--server-memory", err);
    if (r < 0)
        return r;
    f->workers = legacy_number(s, a->args, "--num-workers", 0);
    f->servers = legacy_number(s, a->args, "--num-servers", 0);
    f->tracker = front_value(a, "--tracker");
    f->worker_memory = front_value(a, "--worker-memory");
    f->server_memory = front_value(a, "--server-memory");
    f->worker_cpus = legacy_number(s, a->args, "--worker-cores", 1);
    f->server_cpus = legacy_number(s, a->args, "--server-cores", 1);
    f->scheduler = front_value(a, "--scheduler");
    f->address = front_value(a, "--host-ip");
    f->attempts = str_eq(f->on, "local") ? 1 + legacy_number(s, a->args, "--local-num-attempt", 0)
                                         : dmlc_attempts(a, f->on, NULL);
    f->sized = front_given(a, "--worker-memory") || front_given(a, "--server-memory") ||
               front_given(a, "--worker-cores") || front_given(a, "--server-cores");
    return 0;
}

static void add_memory(const struct front_ask *a, struct front_call *c, const char *name,
                       const char *text)
{
    uint64_t bytes = 0;

    (void)str_to_size(text, &bytes);
    dmlc_env(a, c, name, "%llu", (unsigned long long)(bytes / MIB));
}

static void dmlc_submit_add_env(const struct front_ask *a, const struct dmlc *f,
                                struct front_call *c)
{
    dmlc_pass(a, c);
    dmlc_env(a, c, "DMLC_WORKER_CORES", "%lld", (long long)f->worker_cpus);
    dmlc_env(a, c, "DMLC_SERVER_CORES", "%lld", (long long)f->server_cpus);
    add_memory(a, c, "DMLC_WORKER_MEMORY_MB", f->worker_memory);
    add_memory(a, c, "DMLC_SERVER_MEMORY_MB", f->server_memory);
    if (str_eq(f->on, "yarn"))
        dmlc_env(a, c, "PYTHONPATH", ".");
}

/* ---- archives, which were unpacked into the task's own directory ---- */

/* A scheduler on this machine shall not unpack into the user's directory. */
static const char unpack[] = "[ \"$DMLC_ROLE$1\" = schedulerclient ] || for a in $2; do "
                             "case $a in "
                             "*.zip) unzip -qo \"$a\" || python3 -m zipfile -e \"$a\" .;; "
                             "*.tar*|*.tgz) tar -xf \"$a\";; "
                             "esac || exit; done; shift 2; exec \"$@\"";

/* The command becomes
 *
 *     sh -c UNPACK sh WHERE "a.zip b.tar.gz" COMMAND…
 *
 * $1 is where the scheduler runs ("client": beside the user), $2 the archives, which are split at
 * blanks. DMLC_JOB_ARCHIVES has the same names with colons between them. */
static int dmlc_submit_wrap(const struct front_ask *a, const struct dmlc *f, struct strs *ret,
                            struct front_call *c)
{
    const char *where = f->scheduler ? f->scheduler : front_attached(a) ? "client" : "cluster";
    const char *const words[] = { "sh", "-c", unpack, "sh", where };
    AUTO_FREE char *names = strdup("");
    int r = names ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < COUNT_OF(words); i++)
        r = strs_add(ret, words[i]);
    for (size_t i = 0; r == 0 && i < a->args->n; i++) {
        const struct legacy_hit *h = &a->args->hits[i];
        AUTO_FREE char *base = legacy_is(h->option, "--archives") ? path_base(h->value) : NULL;
        char *more = base ? str_printf("%s%s%s", names, *names ? " " : "", base) : NULL;

        if (legacy_is(h->option, "--archives") && !more)
            return -ENOMEM;
        if (more) {
            free(names);
            names = more;
        }
    }
    if (r == 0)
        r = strs_add(ret, names);
    for (char *p = names; r == 0 && *p; p++)
        *p = *p == ' ' ? ':' : *p;
    if (r == 0)
        dmlc_env(a, c, "DMLC_JOB_ARCHIVES", "%s", names);
    return r;
}

static int make_command(const struct front_ask *a, const struct dmlc *f, struct strs *ret,
                        struct front_call *c, struct err *err)
{
    bool cache = *front_value(a, "--auto-file-cache") != '\0';
    int r = 0;

    if (front_given(a, "--archives") && str_eq(f->on, "local"))
        front_note(c,
                   "--archives has no effect: tasks on this machine run in the current directory");
    else if (front_given(a, "--archives")) {
        r = dmlc_files(a, "--archives", "", c, err);
        if (r == 0)
            r = dmlc_submit_wrap(a, f, ret, c);
        if (r == 0 && cache)
            r = dmlc_program(a->args->command.v[0], ret);
    }
    for (size_t i = ret->n > 0 && cache; r == 0 && i < a->args->command.n; i++)
        r = strs_add(ret, a->args->command.v[i]);
    return r;
}

/* ---- all of it ---- */

static const struct dmlc_options submit_options = { "--files", "", "--hdfs-tempdir", NULL };

static int dmlc_submit_translate(const struct front_ask *a, struct front_call *c, struct err *err)
{
    AUTO_STRS command = { 0 };
    struct dmlc f = { 0 };
    bool cache = *front_value(a, "--auto-file-cache") != '\0';
    int r = dmlc_submit_describe(a, &f, err);

    if (r == 0 && cache)
        r = dmlc_script(a, f.on, err);
    if (r == 0)
        r = dmlc_words(a, &f, c, err);
    if (r < 0)
        return r;
    dmlc_submit_add_env(a, &f, c);
    r = dmlc_launcher(a, &f, &submit_options, c, err);
    if (r == 0)
        r = make_command(a, &f, &command, c, err);
    if (!cache)
        front_add(c, "--no-ship");
    return r < 0 ? r : dmlc_command(a, &command, dmlc_files_of(&f, cache), c);
}

static const struct front_verb only = {
    .cli = { .opts = options, .operands = "COMMAND…", .complete = CLI_FILES },
    .habits = LEGACY_ARGPARSE,
    .verb = "run",
    .translate = dmlc_submit_translate,
};

/* clang-format off */
const struct front front_submit = {
    .program = {
        .name = "dmlc-submit",
        .summary = "run a distributed program on YARN or locally, like dmlc-core's dmlc-submit",
        .globals = common_opts, .self = &only.cli,
        .text = "Runs workers, and with --num-servers parameter servers and a scheduler, of a "
                "program that uses ps-lite, MXNet or rabit. On YARN the scheduler runs on this "
                "machine; a rabit tracker runs in the cluster.\n\n"
                "Options may stand anywhere on the line, also after the command; unknown options "
                "are passed to the command. Put -- before the command to pass all its words to "
                "it. The exit status is the job's.",
        CLI_EXAMPLES({ "dmlc-submit --cluster yarn --num-workers 2 --num-servers 1 python train.py",
                       "two workers and a server on YARN, with the scheduler on this machine" },
                     { "dmlc-submit --cluster local --num-workers 4 ./xgboost mushroom.conf",
                       "four workers of a rabit program on this machine" }),
        .sections = front_sections,
    },
};
/* clang-format on */
