/* native_tensorflow.c - `ydl-native tensorflow`: a TensorFlow server. */
#include "cmd/native/native_verbs.h"
#include "native/tensorflow_server.h"
#include "native/tf_cluster.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define DEF_MAX (8 * MIB)

struct args {
    const char *lib, *cluster, *job_name;
    struct strs jobs;
    int64_t index;
    unsigned inter, intra;
    bool fallback;
};

#define AT(field) offsetof(struct args, field)

/* Where the cluster comes from: words win over the environment. */
static int read_cluster(const struct args *a, struct tf_cluster *c, struct tf_task *t,
                        struct err *err)
{
    const char *config = getenv("TF_CONFIG");
    AUTO_TF_CLUSTER unused = { 0 };
    bool said = a->cluster || a->jobs.n > 0;
    int r = 0;

    if (!said && !config)
        return cli_bad(err, "there is no cluster: neither --cluster-spec nor TF_CONFIG");
    if (config && (!said || !a->job_name || a->index < 0))
        r = tf_cluster_config(config, said ? &unused : c, t, err);
    if (r == 0 && a->cluster)
        r = tf_cluster_spec(a->cluster, c, err);
    for (size_t i = 0; i < a->jobs.n && r == 0; i++)
        r = tf_cluster_job(a->jobs.v[i], c, err);
    if (r < 0)
        return r;
    if (a->job_name)
        (void)snprintf(t->name, sizeof(t->name), "%s", a->job_name);
    if (a->index >= 0)
        t->index = a->index;
    return tf_cluster_check(c, t, err);
}

static unsigned processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}

static int native_tensorflow_encode(const struct args *a, struct buf *def, struct tf_task *t,
                                    struct err *err)
{
    const struct tf_threads threads = { a->inter ? a->inter : processors(), a->intra };
    AUTO_TF_CLUSTER c = { 0 };
    int r = 0;

    if (a->inter == 1)
        return cli_bad(err, "--inter-op: with one thread a server can wait for itself; 2 or more");
    r = read_cluster(a, &c, t, err);
    if (r == -EINVAL)
        err->code = r = CLI_USAGE;
    return r < 0 ? r : tf_cluster_encode(&c, t, &threads, def, err);
}

struct telling {
    const struct cli *cli;
    const struct tf_task *task;
};

static void native_tensorflow_on_ready(void *arg, const char *target)
{
    const struct telling *t = arg;
    char text[512];

    (void)snprintf(text, sizeof(text), "%s:%lld listens, sessions reach it at %s", t->task->name,
                   (long long)t->task->index, target);
    native_note(t->cli, text);
}

static int native_tensorflow_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    const struct native_ask ask = { &find_tensorflow, a->lib, a->fallback };
    AUTO_FREE char *library = NULL;
    AUTO_BUF def = { .max = DEF_MAX };
    struct tf_task task = { .index = -1 };
    struct telling telling = { c, &task };
    struct tf_options o = { .def = &def, .on_ready = native_tensorflow_on_ready, .arg = &telling };
    int r = native_tensorflow_encode(a, &def, &task, err);

    if (r == 0)
        r = native_library(c, &ask, &library, err);
    o.library = library;
    return r < 0 ? r : tf_serve(&o, err);
}

/* clang-format off */
const struct cli_verb verb_native_tensorflow = {
    .name = "tensorflow",
    .summary = "run a TensorFlow server: ps, worker, or the master of in-graph training",
    .operands = "[-- COMMAND [ARGUMENT…]]", .most = CLI_ANY, .complete = CLI_COMMANDS,
    .command_follows = true, .run = native_tensorflow_run,
    .text = "Runs a gRPC server as tf.distribute.Server does, for sessions of TensorFlow 1 and "
            "for ParameterServerStrategy. It listens on the port of its own address, on all "
            "interfaces, until the process is killed: TensorFlow has no other way to stop it.",
    CLI_OPTS(struct args,
        { "lib", 0, CLI_TEXT, AT(lib), NULL, "PATH", "libtensorflow_cc.so.2, or its directory" },
        { "fallback", 0, CLI_FLAG, AT(fallback), NULL, NULL,
          "run COMMAND if its Python has no libtensorflow_cc.so.2" },
        { "cluster-spec", 0, CLI_TEXT, AT(cluster), NULL, "SPEC",
          "all servers: JSON as in TF_CONFIG, or ps|HOST:PORT,worker|HOST:PORT;HOST:PORT" },
        { "job", 0, CLI_LIST, AT(jobs), NULL, "NAME=HOST:PORT,…",
          "servers of one job, instead of --cluster-spec" },
        { "job-name", 0, CLI_TEXT, AT(job_name), NULL, "NAME", "the job of this server",
          .fallback = "from TF_CONFIG" },
        { "task-index", 0, CLI_I64, AT(index), "-1", "N",
          "the index of this server in its job; -1: from TF_CONFIG" },
        { "inter-op", 0, CLI_COUNT, AT(inter), NULL, "N", "threads between operations, at least 2",
          .fallback = "one per processor" },
        { "intra-op", 0, CLI_COUNT, AT(intra), NULL, "N", "threads within an operation",
          .fallback = "chosen by TensorFlow" }),
    CLI_EXAMPLES(
        { "ydl-native tensorflow --job worker=10.0.0.1:2222 --job-name worker --task-index 0",
          "start a single server by hand" }),
    CLI_SECTIONS({ "ENVIRONMENT",
        "TF_CONFIG\tThe cluster and our place in it, as jobs of ydl set it.\n"
        "TENSORFLOW_LIBRARY_PATH\tlibtensorflow_cc.so.2, or the directory that has it.\n"
        "TF_CPP_MIN_LOG_LEVEL\tHow much TensorFlow says; 2: errors only." }),
};
/* clang-format on */
