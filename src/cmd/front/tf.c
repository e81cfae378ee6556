/* tf.c - ydl-tf: TensorFlow on YARN's command, both generations of it.
 *
 * The first one starts servers in the cluster and then a script beside the user, which is told
 * where they are by --ps and --wk; the job ends with the script. The second one (`launch`) starts
 * servers, prints where they are and leaves them running until somebody kills them. In both the
 * servers are ydl-native, with no Python; with --servers script the script is the servers. */
#include "base/json.h"
#include "base/path.h"
#include "cmd/front/fronts.h"

#include <string.h>

#define OLD_JOB_MB 1024 /* what the first generation's script asked for a server */
#define OLD_MB 4096     /* and what its Java client did */
#define NO_JAVA "ydl does not use Java"
#define OTHER_HALF "libtensorflow_framework.so.2"

static const char *const who_serves[] = { "ydl", "script", NULL };
static const char *const policies[] = { "0", "1", "2", NULL };

/* clang-format off */
static const struct cli_opt job_options[] = {
    { "-job", .meta = "FILE",
      .help = "script to run on this machine, with the servers' addresses in --ps and --wk" },
    { "--tf_client", .meta = "FILE", .help = "same as -job" },
    { "-numberworkers", .also = { "--num_worker" }, .meta = "N", .help = "number of workers",
      .preset = "1", .type = CLI_I64, .least = 1 },
    { "-numberps", .also = { "--num_ps" }, .meta = "N", .help = "number of parameter servers",
      .preset = "0", .type = CLI_I64 },
    { "--servers", .meta = "WHO", .help = "what workers and parameter servers run, ydl's "
      "TensorFlow server or the script, which then also gets --job_name and --task_index",
      .preset = "ydl", .choices = who_serves },
    { "--clients", .meta = "N", .help = "number of copies of the script, each with its "
      "--task_index; 'workers': one per worker", .preset = "1" },
    { "--client_place", .meta = "WHERE",
      .help = "where to run the script: on this machine (client) or in a container",
      .preset = "client" },
    { "--appname", .meta = "NAME", .help = "name of the job", .preset = "tensorflow" },
    { "--priority", .meta = "N", .help = "priority in the queue", .type = CLI_I64,
      .same_as = "--priority" },
    { "--container_memory", .meta = "MB",
      .help = "memory per server, in MB", .fallback = "1024; 4096 with --tf_client",
      .type = CLI_I64, .least = 1 },
    { "--container_vcores", .meta = "N", .help = "number of CPU cores per server", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "--master_memory", .meta = "MB", .help = "memory of the master's container, in MB",
      .type = CLI_I64, .least = 1 },
    { "--master_vcores", .meta = "N", .help = "number of CPU cores of the master's container",
      .type = CLI_I64, .least = 1 },
    { "--node_label_expression", .meta = "LABEL", .help = "run only on nodes with this label",
      .same_as = "--label" },
    { "--container_retry_policy", .meta = "N",
      .help = "restart a failed server (1 and 2), or let the job fail (0)", .preset = "0",
      .choices = policies },
    { "--container_max_retries", .meta = "N", .help = "maximum number of restarts per server",
      .preset = "0", .type = CLI_I64 },
    { "--container_retry_error_codes", .meta = "CODES",
      .help = "with policy 2, restart only after these exit codes, separated by commas" },
    { "--container_retry_interval", .meta = "MS",
      .help = "minimum delay before a restart, in milliseconds", .type = CLI_I64 },
    { "--attempt_failures_validity_interval", .meta = "MS",
      .help = "ignore failures that are older than this many milliseconds", .type = CLI_I64,
      .least = -1 },
    { "-jar", .also = { "--jar" }, .meta = "FILE", .help = "program of TensorFlow on YARN",
      .no_effect = NO_JAVA },
    { "--jni_so", .meta = "FILE", .help = "bridge library of TensorFlow on YARN",
      .no_effect = NO_JAVA },
    { "--log_properties", .meta = "FILE", .help = "log configuration for Java",
      .no_effect = NO_JAVA },
    { 0 },
};

static const struct cli_opt launch_options[] = {
    { "--app_name", .meta = "NAME", .help = "name of the job", .preset = "TensorFlow" },
    { "--num_worker", .meta = "N", .help = "number of workers", .preset = "2", .type = CLI_I64,
      .least = 1 },
    { "--num_ps", .meta = "N", .help = "number of parameter servers", .preset = "1",
      .type = CLI_I64 },
    { "--container_memory", .meta = "MB", .help = "memory per server", .preset = "4096",
      .type = CLI_I64, .least = 1 },
    { "--container_vcores", .meta = "N", .help = "number of CPU cores per server", .preset = "1",
      .type = CLI_I64, .least = 1 },
    { "--am_memory", .meta = "MB", .help = "memory of the master's container, in MB",
      .fallback = "64", .type = CLI_I64, .least = 1 },
    { "--am_vcores", .meta = "N", .help = "number of CPU cores of the master's container",
      .type = CLI_I64, .least = 1 },
    { "--am_queue", .meta = "QUEUE", .help = "queue to submit to", .same_as = "--queue" },
    { "--tf_lib", .meta = "FILE",
      .help = "upload TensorFlow's library, libtensorflow_cc.so.2, and " OTHER_HALF " beside it" },
    { "--tf_jar", .meta = "FILE", .help = "program of TensorFlow on YARN", .no_effect = NO_JAVA },
    { 0 },
};

static const struct cli_opt cluster_options[] = {
    { "--app_id", .meta = "ID", .help = "application id of the job" },
    { 0 },
};

static const struct cli_opt application_options[] = {
    { "--list", .also = { "-list" }, .help = "list all applications of the cluster" },
    { "--kill", .also = { "-kill" }, .meta = "ID", .help = "kill an application" },
    { "--status", .also = { "-status" }, .meta = "ID",
      .help = "print the status of an application" },
    { 0 },
};

static const struct cli_opt kill_options[] = {
    { "--application", .also = { "-application" }, .meta = "ID",
      .help = "application id of the job" },
    { 0 },
};
/* clang-format on */

/* ---- what both have in common ---- */

/* A cluster of servers, as either generation describes it. */
struct servers {
    const char *name;
    int64_t workers, ps, memory, cores;  /* memory in MB */
    int64_t master_memory, master_cores; /* 0: not said */
    int64_t retries, window_ms;          /* of a server; of the master's failures, -1: no window */
    int64_t retry_ms;                    /* before a server is started again */
    const char *retry_codes;             /* only after these; NULL: after any */
    bool own;                            /* servers of ours */
    bool alone;                          /* and nothing else */
    bool sized; /* these were asked for, and are no defaults: they count on this machine too */
};

static int64_t tf_number(const struct front_ask *a, const char *name, int64_t otherwise)
{
    return legacy_number(&a->syntax, a->args, name, otherwise);
}

static void tf_add_role(struct front_call *c, const struct servers *s, const char *name, int64_t n)
{
    /* Where the servers are ours and there is a script, only its end counts. */
    const char *decides = s->own && !s->alone && str_eq(name, "worker") ? ",decides=false" : "";

    if (n == 0)
        return;
    if (!s->sized)
        front_option(c, "--role", "%s=%lld%s", name, (long long)n, decides);
    else
        front_option(c, "--role", "%s=%lld,memory=%lldm,cpus=%lld%s", name, (long long)n,
                     (long long)s->memory, (long long)s->cores, decides);
}

static bool is_sized(const struct front_ask *a)
{
    return str_eq(front_on(a, "yarn"), "yarn") || front_given(a, "--container_memory") ||
           front_given(a, "--container_vcores");
}

/* What only a job file can say. */
static int master_file(struct front_call *c, const struct servers *s)
{
    AUTO_JSON *job = json_object(), *master = json_object();
    AUTO_FREE char *memory = NULL;
    int r = job && master ? 0 : -ENOMEM;

    if (s->master_memory == 0 && s->master_cores == 0 && s->window_ms <= 0)
        return 0;
    memory = str_printf("%lldm", (long long)(s->master_memory > 64 ? s->master_memory : 64));
    if (r == 0 && s->master_memory && json_object_set_new(master, "memory", json_text(memory)) < 0)
        r = -ENOMEM;
    if (r == 0 && s->master_cores &&
        json_object_set_new(master, "cpus", json_integer(s->master_cores)) < 0)
        r = -ENOMEM;
    if (r == 0 && s->window_ms > 0 &&
        json_object_set_new(master, "window", json_sprintf("%lldms", (long long)s->window_ms)) < 0)
        r = -ENOMEM;
    if (r == 0 && json_object_set(job, "master", master) < 0)
        r = -ENOMEM;
    if (r == 0)
        front_job(c, job);
    return r;
}

static int add_servers(const struct front_ask *a, const struct servers *s, struct front_call *c)
{
    front_option(c, "--on", "%s", front_on(a, "yarn"));
    front_option(c, "--framework", "tensorflow");
    if (!front_given(a, "--name"))
        front_option(c, "--name", "%s", s->name);
    if (s->own)
        front_option(c, "--native", "yes");
    tf_add_role(c, s, "ps", s->ps);
    tf_add_role(c, s, "worker", s->workers);
    if (s->retries > 0) {
        front_option(c, "--restart", "task");
        front_option(c, "--max-restarts", "%lld", (long long)s->retries);
    }
    if (s->retries > 0 && s->retry_ms > 0)
        front_option(c, "--restart-delay", "%lldms", (long long)s->retry_ms);
    if (s->retries > 0 && s->retry_codes)
        front_option(c, "--restart-codes", "%s", s->retry_codes);
    return master_file(c, s);
}

/* How often the script runs: a number, or once for each worker. */
static int count_clients(const struct front_ask *a, int64_t workers, int64_t *ret, struct err *err)
{
    const char *text = front_value(a, "--clients");

    if (str_eq(text, "workers")) {
        *ret = workers;
        return 0;
    }
    if (str_to_i64(text, 1, 10000, ret) < 0)
        return cli_bad(err, "--clients: '%s' is neither a positive number nor 'workers'", text);
    return 0;
}

static int tf_check_script(const struct front_ask *a, const char *script, struct err *err)
{
    if (front_exists(script) || front_given(a, "--files") || front_given(a, "--archives") ||
        front_given(a, "--docker-image"))
        return 0;
    return cli_bad(err, "there is no job '%s'", script);
}

/* ---- the first generation ---- */

static const char *tf_script_of(const struct front_ask *a)
{
    const char *script = front_value(a, "-job");

    return script ? script : front_value(a, "--tf_client");
}

static int missing_job(struct err *err)
{
    cli_bad(err, "a job is missing");
    err_hint(err, "try: ydl-tf -job job.py -numberworkers 4 -numberps 1");
    return CLI_USAGE;
}

static void describe_job(const struct front_ask *a, struct servers *s)
{
    bool old = front_given(a, "-job");

    s->sized = is_sized(a);
    s->name = front_value(a, "--appname");
    s->workers = tf_number(a, "--num_worker", 1);
    s->ps = tf_number(a, "--num_ps", 0);
    s->memory = tf_number(a, "--container_memory", old ? OLD_JOB_MB : OLD_MB);
    s->cores = tf_number(a, "--container_vcores", 1);
    s->master_memory = tf_number(a, "--master_memory", 0);
    s->master_cores = tf_number(a, "--master_vcores", 0);
    s->window_ms = tf_number(a, "--attempt_failures_validity_interval", -1);
    s->own = str_eq(front_value(a, "--servers"), "ydl");
    if (!str_eq(front_value(a, "--container_retry_policy"), "0"))
        s->retries = tf_number(a, "--container_max_retries", 0);
    s->retry_ms = tf_number(a, "--container_retry_interval", 0);
    if (str_eq(front_value(a, "--container_retry_policy"), "2"))
        s->retry_codes = front_value(a, "--container_retry_error_codes");
}

/* "python3 job.py --wk h:p,h:p --ps h:p", and what the user put after it. */
static int script_words(const struct front_ask *a, const struct servers *s, int64_t clients,
                        struct strs *ret)
{
    AUTO_STRS job = { 0 };
    int r = strs_add(&job, tf_script_of(a));

    if (r == 0)
        r = front_run_words(a, &job, ret);
    if (r == 0)
        r = strs_add(ret, "--wk") < 0 ? -ENOMEM : strs_add(ret, "{hosts:worker}");
    if (r == 0 && s->ps > 0)
        r = strs_add(ret, "--ps") < 0 ? -ENOMEM : strs_add(ret, "{hosts:ps}");
    if (r == 0 && !s->own)
        r = strs_add(ret, "--job_name") < 0 ? -ENOMEM : strs_add(ret, "{role}");
    if (r == 0 && (!s->own || clients > 1))
        r = strs_add(ret, "--task_index") < 0 ? -ENOMEM : strs_add(ret, "{index}");
    for (size_t i = 0; r == 0 && i < a->args->command.n; i++)
        r = strs_add(ret, a->args->command.v[i]);
    return r;
}

static void add_clients(const struct front_ask *a, int64_t n, struct front_call *c)
{
    bool here = str_eq(front_value(a, "--client_place"), "client") && front_attached(a);

    front_option(c, "--role", "client=%lld%s", (long long)n, here ? ",place=client" : "");
}

static int translate_job(const struct front_ask *a, struct front_call *c, struct err *err)
{
    const char *script = tf_script_of(a);
    AUTO_STRS command = { 0 };
    struct servers s = { 0 };
    int64_t clients = 1;
    int r = script ? tf_check_script(a, script, err) : missing_job(err);

    describe_job(a, &s);
    if (r == 0)
        r = count_clients(a, s.workers, &clients, err);
    if (r == 0)
        r = add_servers(a, &s, c);
    if (r == 0 && s.own)
        add_clients(a, clients, c);
    if (r == 0)
        r = script_words(a, &s, clients, &command);
    if (r == 0)
        front_command(c, &command);
    return r;
}

/* ---- the second generation ---- */

/* TensorFlow's library looks for its other half in its own directory. */
static int add_half(const char *lib, struct front_call *c, struct err *err)
{
    AUTO_FREE char *dir = path_dir(lib);
    AUTO_FREE char *half = dir ? path_join(dir, OTHER_HALF) : NULL;

    if (!half)
        return -ENOMEM;
    if (front_exists(half)) {
        front_option(c, "--files", "%s", half);
        return 0;
    }
    cli_bad(err, "--tf_lib: '%s' cannot be loaded without " OTHER_HALF ", which is not beside it",
            lib);
    err_hint(err,
             "use the one in the directory 'tensorflow' of a Python environment, which has both");
    return CLI_USAGE;
}

/* A library of the user's own goes along and is looked for where it lands. */
static int add_library(const struct front_ask *a, struct front_call *c, struct err *err)
{
    const char *lib = front_value(a, "--tf_lib"), *slash;
    int r;

    if (!lib)
        return 0;
    if (strstr(lib, "libbridge.so")) {
        front_note(c, "--tf_lib: libbridge.so is not needed, TensorFlow's own library is");
        return 0;
    }
    if (!front_exists(lib))
        return cli_bad(err, "--tf_lib: there is no '%s'", lib);
    slash = strrchr(lib, '/');
    front_option(c, "--files", "%s", lib);
    r = add_half(lib, c, err);
    if (r == 0)
        front_option(c, "--env", "TENSORFLOW_LIBRARY_PATH=./%s", slash ? slash + 1 : lib);
    return r;
}

static int translate_launch(const struct front_ask *a, struct front_call *c, struct err *err)
{
    struct servers s = {
        .name = front_value(a, "--app_name"),
        .workers = tf_number(a, "--num_worker", 2),
        .ps = tf_number(a, "--num_ps", 1),
        .memory = tf_number(a, "--container_memory", OLD_MB),
        .cores = tf_number(a, "--container_vcores", 1),
        .master_memory = tf_number(a, "--am_memory", 0),
        .master_cores = tf_number(a, "--am_vcores", 0),
        .own = true,
        .alone = true,
        .sized = is_sized(a),
    };
    int r = a->args->command.n
                ? cli_bad(err, "'%s': launch only starts servers; run a script with ydl-tf -job %s",
                          a->args->command.v[0], a->args->command.v[0])
                : 0;

    if (r == 0)
        front_option(c, "--spec", "clusterspec");
    if (r == 0)
        r = add_library(a, c, err);
    return r < 0 ? r : add_servers(a, &s, c);
}

/* The job that an option names is the verb's operand. */
static int add_job(const struct front_ask *a, const char *option, struct front_call *c,
                   struct err *err)
{
    const char *id = front_value(a, option);

    if (!id)
        return cli_bad(err, "%s is missing: which job?", option);
    front_add(c, id);
    return 0;
}

static int translate_cluster(const struct front_ask *a, struct front_call *c, struct err *err)
{
    front_option(c, "--format", "clusterspec");
    return add_job(a, "--app_id", c, err);
}

static int translate_kill(const struct front_ask *a, struct front_call *c, struct err *err)
{
    return add_job(a, "--application", c, err);
}

/* The words of the verb that it is come first, so they are put in here. */
static int translate_application(const struct front_ask *a, struct front_call *c, struct err *err)
{
    static const struct {
        const char *option, *verb;
    } verbs[] = { { "--kill", "kill" }, { "--status", "status" } };

    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (front_given(a, verbs[i].option)) {
            strs_done(&c->words);
            c->words = (struct strs){ 0 };
            front_add(c, verbs[i].verb);
            return add_job(a, verbs[i].option, c, err);
        }
    if (!front_given(a, "--list"))
        return cli_bad(err, "--list, --kill ID or --status ID is missing");
    front_add(c, "apps");
    return 0;
}

/* ---- the tables ---- */

static const struct front_verb launch_verb = {
    .cli = { .name = "launch",
             .summary = "start servers, print their addresses, and leave them running",
             .text = "Prints one line, 'ClusterSpec: {\"ps\":[\"HOST:PORT\"],\"worker\":[…]}', as "
                     "soon as\n"
                     "all servers are running. They run until 'ydl-tf kill'.",
             .opts = launch_options },
    .habits = LEGACY_AMONG,
    .verb = "submit",
    .translate = translate_launch,
};
static const struct front_verb cluster_verb = {
    .cli = { .name = "cluster",
             .summary = "print the addresses of a job's servers",
             .opts = cluster_options,
             .lacks = COMMON_JOB },
    .habits = LEGACY_AMONG,
    .verb = "spec",
    .translate = translate_cluster,
};
static const struct front_verb application_verb = {
    .cli = { .name = "application",
             .summary = "list, show or kill applications",
             .opts = application_options,
             .lacks = COMMON_JOB },
    .habits = LEGACY_AMONG,
    .verb = "cluster",
    .translate = translate_application,
};
static const struct front_verb kill_verb = {
    .cli = { .name = "kill", .summary = "kill a job", .opts = kill_options, .lacks = COMMON_JOB },
    .habits = LEGACY_AMONG,
    .verb = "kill",
    .translate = translate_kill,
};
static const struct cli_verb *const verbs[] = { &launch_verb.cli,      &cluster_verb.cli,
                                                &application_verb.cli, &kill_verb.cli,
                                                &front_serve_verb.cli, NULL };
static const struct front_verb job_verb = {
    .cli = { .operands = "[-- WORD…]", .opts = job_options, .complete = CLI_FILES, .subs = verbs },
    .habits = LEGACY_AMONG,
    .options_first = true,
    .verb = "run",
    .translate = translate_job,
};

/* clang-format off */
const struct front front_tf = {
    .program = {
        .name = "ydl-tf",
        .summary = "run TensorFlow servers on YARN or on this machine, like TensorFlow on YARN",
        .globals = common_opts, .self = &job_verb.cli,
        .text = "Starts TensorFlow servers, workers and parameter servers, and a script that uses "
                "them. The script runs on this machine and gets their addresses in --wk and --ps, "
                "as HOST:PORT separated by commas; the job ends when the script ends, with its "
                "exit status. Words after -- are passed to the script.\n\n"
                "The servers run no Python: they use TensorFlow's library, as found in the "
                "script's Python environment. With --on local, everything runs on this machine.",
        CLI_EXAMPLES({ "ydl-tf -job job.py -numberworkers 4 -numberps 1",
                       "five servers on YARN, and a script on this machine that uses them" },
                     { "ydl-tf -job train.py -numberworkers 2 -numberps 1 --clients workers",
                       "a client for each worker" },
                     { "ydl-tf -job train.py -numberworkers 2 -numberps 1 --servers script",
                       "a script that starts its own server" },
                     { "ydl-tf launch --num_worker 2 --num_ps 1",
                       "servers for any number of scripts" },
                     { "ydl-tf kill --application application_1700000000000_0001", "stop them" },
                     { "ydl-tf serve --model_name flowers --model_base_path /srv/flowers --port 8501",
                       "serve a model behind an address on YARN" }),
        .sections = front_sections,
    },
};
/* clang-format on */
