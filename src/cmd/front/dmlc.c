/* dmlc.c - dmlc-yarn: the launcher of dmlc-core up to 2016, dmlc_yarn.py. */
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

static const char *const levels[] = { "INFO", "DEBUG", NULL };
static const char *const off_on[] = { "0", "1", NULL };
static const char *const schedulers[] = { "client", "cluster", NULL };
static const char *const trackers[] = { "rabit", "xgboost", NULL };

#define JAVA "nothing of ydl is Java"

/* clang-format off */
static const struct cli_opt options[] = {
    { "-n", .also = { "--nworker" }, .meta = "N", .help = "how many workers; must be given",
      .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--server-nodes" }, .meta = "N",
      .help = "how many servers; without any the job is one of rabit", .preset = "0",
      .type = CLI_I64 },
    { "-hip", .also = { "--host_ip" }, .meta = "ADDRESS", .help = "the address of this machine, "
      "where tasks on the cluster reach the scheduler; another machine's is ignored with a note",
      .preset = "auto" },
    { "--scheduler", .meta = "WHERE", .help = "where the scheduler of a job with servers runs: "
      "here, as long as this command stays, or in a container; without it here, and in a container "
      "with --detach", .choices = schedulers },
    { "--tracker", .meta = "KIND", .help = "whose tracker a job without servers has: rabit, and "
      "XGBoost up to 2.0, or XGBoost from 2.1", .preset = "rabit", .choices = trackers },
    { "--log-level", .meta = "LEVEL", .help = "how much is said", .preset = "INFO",
      .choices = levels },
    { "--log-file", .meta = "FILE", .help = "put what is said into FILE too" },
    { "-q", .also = { "--queue" }, .meta = "QUEUE",
      .help = "the queue to submit to; without it the cluster's own choice", .same_as = "--queue" },
    { "-ac", .also = { "--auto_file_cache" }, .meta = "0|1",
      .help = "send the files that the command names", .preset = "1", .choices = off_on },
    { "-f", .also = { "--files" }, .meta = "FILE[#FILE…]", .help = "further files to send",
      .type = CLI_LIST },
    { "--jobname", .meta = "NAME",
      .help = "what the job is called; auto: made from counts and program", .preset = "auto" },
    { "--tempdir", .meta = "DIR",
      .help = "the directory in HDFS for what is sent; without it .ydl at home" },
    { "--vcores", .meta = "N", .help = "processor cores of each task", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "-mem", .also = { "--memory_mb" }, .meta = "MB", .help = "memory of each task",
      .preset = "1024", .type = CLI_I64, .least = 1 },
    { "--libhdfs-opts", .meta = "TEXT", .help = "options of Java for tasks that use libhdfs",
      .preset = "-Xmx128m" },
    { "--ship-libcxx", .meta = "DIR", .help = "send libstdc++.so.6 of DIR to the tasks" },
    { "--env", .meta = "NAME=VALUE", .help = "environment variables of every task",
      .type = CLI_LIST, .same_as = "--env" },
    { "--max-attempts", .meta = "N", .help = "how often a task may be tried before the job fails",
      .type = CLI_I64, .least = 1 },
    { "-hb", .also = { "--hadoop_binary" }, .meta = "FILE", .help = "the program 'hadoop'; the "
      "configuration beside it counts when nothing else names one" },
    { "--name-node", .meta = "NAME",
      .help = "the name node; only the one of the Hadoop configuration is taken",
      .preset = "default" },
    { "--app-classpath", .meta = "PATH", .help = "class path of the application master",
      .no_effect = JAVA },
    { "--yarn-scripts", .meta = "DIR", .help = "where dmlc-yarn.jar is", .no_effect = JAVA },
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
    cli_bad(err, "--name-node: the name node is the one of the Hadoop configuration, not '%s'",
            node);
    err_hint(err, "name another configuration with --conf DIR");
    return CLI_USAGE;
}

static int note_address(const struct dmlc *f, struct front_call *c)
{
    if (!f->address)
        return 0;
    if (str_eq(f->on, "local"))
        return front_note(c, "--host_ip is not needed: all tasks run on this machine");
    if (f->servers == 0)
        return front_note(c, "--host_ip is not needed: the tracker runs in the cluster");
    return 0;
}

/* What tasks are told by the variables that their programs know. */
static int dmlc_add_env(const struct front_ask *a, const struct dmlc *f, struct front_call *c)
{
    const char *hdfs = front_value(a, "--libhdfs-opts");
    int r = dmlc_pass(a, c);

    if (r == 0)
        r = dmlc_env(a, c, "DMLC_CPU_VCORES", "%lld", (long long)f->worker_cpus);
    if (r == 0)
        r = dmlc_env(a, c, "DMLC_MEMORY_MB", "%s", front_value(a, "-mem"));
    if (r == 0 && f->attempts > 0)
        r = dmlc_env(a, c, "DMLC_MAX_ATTEMPT", "%lld", (long long)f->attempts);
    if (r == 0)
        r = dmlc_env(a, c, "DMLC_HDFS_OPTS", "%s", hdfs);
    if (r == 0)
        r = dmlc_env(a, c, "LIBHDFS_OPTS", "%s", hdfs);
    if (r == 0 && str_eq(f->on, "yarn"))
        r = dmlc_env(a, c, "PYTHONPATH", ".");
    return r;
}

static int dmlc_add_rest(const struct front_ask *a, const struct dmlc *f, struct front_call *c,
                         struct err *err)
{
    const char *temp = front_value(a, "--tempdir"), *log = front_value(a, "--log-file");
    bool cache = !str_eq(front_value(a, "-ac"), "0");
    int r = dmlc_name(a, f, c);

    if (r == 0)
        r = dmlc_files(a, "-f", "#", c, err);
    if (r == 0)
        r = dmlc_libcxx(a, c, err);
    if (r == 0)
        r = dmlc_conf(a, front_value(a, "-hb"), c);
    if (r == 0 && temp && !str_eq(temp, "/tmp"))
        r = front_option(c, "--staging", "%s", temp);
    if (r == 0 && str_eq(front_value(a, "--log-level"), "DEBUG"))
        r = front_add(c, "--verbose");
    if (r == 0 && !cache)
        r = front_add(c, "--no-ship");
    if (r == 0 && log) {
        c->log_file = strdup(log);
        r = c->log_file ? 0 : -ENOMEM;
    }
    if (r == 0 && f->servers > 0)
        r = dmlc_kvstore(&a->args->command, c);
    return r < 0 ? r : dmlc_command(a, &a->args->command, dmlc_files_of(f, cache), c);
}

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
    int r = memory ? dmlc_needs(a, "-n", err) : -ENOMEM;

    if (r == 0)
        r = check_name_node(a, err);
    if (r == 0 && !str_eq(front_value(a, "-ac"), "0"))
        r = dmlc_script(a, f.on, err);
    f.attempts = dmlc_attempts(a, f.on, "--max-attempts");
    if (r == 0)
        r = dmlc_words(a, &f, c, err);
    if (r == 0)
        r = note_address(&f, c);
    if (r == 0)
        r = dmlc_add_env(a, &f, c);
    return r < 0 ? r : dmlc_add_rest(a, &f, c, err);
}

static const struct cli_example examples[] = {
    { "dmlc-yarn.py -hip 192.168.1.1 -n 1 -s 1 python imagenet.py",
      "a worker and a server on YARN, the scheduler here" },
    { "dmlc-yarn -n 4 -mem 2048 ./xgboost mushroom.conf", "four workers of a rabit program" },
    { 0 },
};

static const struct front_verb only = {
    .cli = { .opts = options, .operands = "COMMAND…", .complete = CLI_FILES },
    .habits = LEGACY_ARGPARSE,
    .verb = "run",
    .translate = dmlc_translate,
};
static const char *const aliases[] = { "dmlc-yarn.py", "dmlc_yarn.py", NULL };

const struct front front_dmlc = {
    .program = {
        .name = "dmlc-yarn",
        .summary = "run a distributed program on YARN, as dmlc-core's dmlc_yarn.py",
        .text =
            "Runs workers, and with -s parameter servers and a scheduler, of a program that uses\n"
            "ps-lite, MXNet or rabit. The scheduler runs on this machine; a rabit tracker runs in the\n"
            "cluster. Without --on or $YDL_ON jobs run on YARN.\n\n"
            "Options are found anywhere on the line, also behind the command; what is not known\n"
            "belongs to the command. Write -- before the command to leave all its words to it. The\n"
            "exit status is the job's.\n\n"
            "A task that fails is started again on another node, and its node is avoided, unless\n"
            "the node was lost or its container taken back. With servers all tasks are started again.",
        .aliases = aliases,
        .self = &only.cli,
        .examples = examples,
        .globals = common_job,
        .sections = front_sections,
    },
};
