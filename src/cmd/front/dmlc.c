/* dmlc.c - dmlc-yarn: the launcher of dmlc-core up to 2016, dmlc_yarn.py. */
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

static const char *const off_on[] = { "0", "1", NULL };

/* clang-format off */
static const struct cli_opt options[] = {
    { "-n", .also = { "--nworker" }, .meta = "N", .help = "number of workers; required",
      .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--server-nodes" }, .meta = "N",
      .help = "number of servers; with 0, the job uses rabit", .preset = "0", .type = CLI_I64 },
    { "-hip", .also = { "--host_ip" }, .meta = "ADDRESS", .help = "address of this machine at "
      "which tasks on the cluster reach the scheduler; the address of another machine is ignored, "
      "with a note", .preset = "auto" },
    DMLC_SCHEDULER,
    DMLC_TRACKER,
    DMLC_LOG,
    { "-q", .also = { "--queue" }, .meta = "QUEUE",
      .help = "queue to submit to", .fallback = "the cluster's choice", .same_as = "--queue" },
    { "-ac", .also = { "--auto_file_cache" }, .meta = "0|1",
      .help = "upload the files that the command names", .preset = "1", .choices = off_on },
    { "-f", .also = { "--files" }, .meta = "FILE[#FILE…]", .help = "additional file to upload",
      .type = CLI_LIST },
    { "--jobname", .meta = "NAME",
      .help = "name of the job; auto: made from the counts and the program's name",
      .preset = "auto" },
    { "--tempdir", .meta = "DIR",
      .help = "directory in HDFS for uploads", .fallback = ".ydl in your home directory" },
    { "--vcores", .meta = "N", .help = "number of CPU cores per task", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "-mem", .also = { "--memory_mb" }, .meta = "MB", .help = "memory per task, in MB",
      .preset = "1024", .type = CLI_I64, .least = 1 },
    { "--libhdfs-opts", .meta = "TEXT", .help = "options of Java for tasks that use libhdfs",
      .preset = "-Xmx128m" },
    DMLC_LIBCXX,
    { "--env", .meta = "NAME=VALUE", .help = "environment variable for all tasks", .type = CLI_LIST,
      .same_as = "--env" },
    { "--max-attempts", .meta = "N",
      .help = "maximum number of attempts per task before the job fails", .type = CLI_I64,
      .least = 1 },
    { "-hb", .also = { "--hadoop_binary" }, .meta = "FILE", .help = "path of the program 'hadoop'; "
      "the configuration beside it is used if no other is named" },
    { "--name-node", .meta = "NAME",
      .help = "name of the NameNode; only the one in the Hadoop configuration is accepted",
      .preset = "default" },
    { "--app-classpath", .meta = "PATH", .help = "class path of the ApplicationMaster",
      .no_effect = DMLC_JAVA },
    { "--yarn-scripts", .meta = "DIR", .help = "directory of dmlc-yarn.jar", .no_effect = DMLC_JAVA },
    { 0 },
};
/* clang-format on */

/* The address that tasks are told; NULL when it is to be found out. */
static const char *address(const struct front_ask *a)
{
    const char *ip = front_value(a, "-hip");

    return str_eq(ip, "auto") || str_eq(ip, "dns") ? NULL : ip;
}

/* It was read and forgotten; nobody shall think that files go elsewhere. */
static int check_name_node(const struct front_ask *a, struct err *err)
{
    const char *node = front_value(a, "--name-node");

    if (str_eq(node, "default"))
        return 0;
    cli_bad(err, "--name-node: ydl uses the NameNode of the Hadoop configuration, not '%s'", node);
    err_hint(err, "use another configuration with --conf DIR");
    return CLI_USAGE;
}

static void note_address(const struct dmlc *f, struct front_call *c)
{
    if (f->address && str_eq(f->on, "local"))
        front_note(c, "--host_ip is not needed: all tasks run on this machine");
    else if (f->address && f->servers == 0)
        front_note(c, "--host_ip is not needed: the tracker runs in the cluster");
}

/* What tasks are told by the variables that their programs know. */
static void dmlc_add_env(const struct front_ask *a, const struct dmlc *f, struct front_call *c)
{
    const char *hdfs = front_value(a, "--libhdfs-opts");

    dmlc_pass(a, c);
    dmlc_env(a, c, "DMLC_CPU_VCORES", "%lld", (long long)f->worker_cpus);
    dmlc_env(a, c, "DMLC_MEMORY_MB", "%s", front_value(a, "-mem"));
    if (f->attempts > 0)
        dmlc_env(a, c, "DMLC_MAX_ATTEMPT", "%lld", (long long)f->attempts);
    dmlc_env(a, c, "DMLC_HDFS_OPTS", "%s", hdfs);
    dmlc_env(a, c, "LIBHDFS_OPTS", "%s", hdfs);
    if (str_eq(f->on, "yarn"))
        dmlc_env(a, c, "PYTHONPATH", ".");
}

static const struct dmlc_options dmlc_options = { "-f", "#", "--tempdir", "-hb" };

static int dmlc_translate(const struct front_ask *a, struct front_call *c, struct err *err)
{
    int64_t cpus = legacy_number(&a->syntax, a->args, "--vcores", 1);
    AUTO_FREE char *memory = str_printf("%sm", front_value(a, "-mem"));
    struct dmlc f = {
        .on = front_on(a, "yarn"),
        .workers = legacy_number(&a->syntax, a->args, "-n", 0),
        .servers = legacy_number(&a->syntax, a->args, "-s", 0),
        .tracker = front_value(a, "--tracker"),
        .worker_memory = memory,
        .server_memory = memory,
        .worker_cpus = cpus,
        .server_cpus = cpus,
        .scheduler = front_value(a, "--scheduler"),
        .address = address(a),
        .sized = front_given(a, "-mem") || front_given(a, "--vcores"),
    };
    bool cache = !str_eq(front_value(a, "-ac"), "0");
    int r = memory ? dmlc_needs(a, "-n", err) : -ENOMEM;

    if (r == 0)
        r = check_name_node(a, err);
    if (r == 0 && cache)
        r = dmlc_script(a, f.on, err);
    f.attempts = dmlc_attempts(a, f.on, "--max-attempts");
    if (r == 0)
        r = dmlc_words(a, &f, c, err);
    if (r < 0)
        return r;
    note_address(&f, c);
    dmlc_add_env(a, &f, c);
    r = dmlc_launcher(a, &f, &dmlc_options, c, err);
    if (!cache)
        front_add(c, "--no-ship");
    return r < 0 ? r : dmlc_command(a, &a->args->command, dmlc_files_of(&f, cache), c);
}

static const struct front_verb only = {
    .cli = { .opts = options, .operands = "COMMAND…", .complete = CLI_FILES },
    .habits = LEGACY_ARGPARSE,
    .verb = "run",
    .translate = dmlc_translate,
};
static const char *const aliases[] = { "dmlc-yarn.py", "dmlc_yarn.py", NULL };

/* clang-format off */
const struct front front_dmlc = {
    .program = {
        .name = "dmlc-yarn",
        .summary = "run a distributed program on YARN, like dmlc-core's dmlc_yarn.py",
        .globals = common_opts, .self = &only.cli, .aliases = aliases,
        .text = "Runs workers, and with -s parameter servers and a scheduler, of a program that "
                "uses ps-lite, MXNet or rabit. The scheduler runs on this machine; a rabit "
                "tracker runs in the cluster. Jobs run on YARN unless --on or $YDL_ON says "
                "otherwise.\n\n"
                "Options may stand anywhere on the line, also after the command; unknown options "
                "are passed to the command. Put -- before the command to pass all its words to "
                "it. The exit status is the job's.\n\n"
                "A failed task is restarted on another node, and its node is not used again, "
                "unless the node was lost or the container preempted. In a job with servers, all "
                "tasks are restarted.",
        CLI_EXAMPLES({ "dmlc-yarn.py -hip 192.168.1.1 -n 1 -s 1 python imagenet.py",
                       "a worker and a server on YARN, with the scheduler on this machine" },
                     { "dmlc-yarn -n 4 -mem 2048 ./xgboost mushroom.conf",
                       "four workers of a rabit program" }),
        .sections = front_sections,
    },
};
/* clang-format on */
