/* launch_options.c - from the words of a command line to a specification that is complete and
 * checked.
 *
 *     table ──► job file, or what a front end made ──► options ──► command ──► defaults ──► checks
 *
 * Later steps replace what earlier ones said. Whatever is wrong with the job is collected and told
 * all at once, with the key it belongs to, so that a user does not fix one fault after the other;
 * only what has nothing to do with the job (no memory, no cluster) ends it at once. See
 * launch_options.h. */
#include "launch/launch_options.h"
#include "base/path.h"
#include "cli/doc.h"
#include "cli/exit.h"
#include "cli/globals.h"
#include "client/task_filter.h"
#include "launch/auto_name.h"
#include "launch/environment_check.h"
#include "launch/job_paths.h"
#include "launch/launch_local.h"
#include "launch/machine_check.h"
#include "launch/native_programs.h"
#include "launch/targets/publish_target.h"
#include "platform/local/local_platform.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct options, field)
#define OURS 10 /* rows of the table that are no option of the specification */

static const char *const places[] = { "local", "yarn", NULL };

/* clang-format off */
const struct cli_opt options_table[] = {
    { "file", 'f', CLI_TEXT, AT(file), NULL, "FILE",
      "job file, see ydl-job(5); options override it", .group = CLI_WHAT },
    { "on", 0, CLI_CHOICE, AT(on), NULL, "PLACE", "platform", .group = CLI_WHAT, .choices = places,
      .fallback = "$YDL_ON, or local" },
    { "wait", 0, CLI_FLAG, AT(wait), NULL, NULL, "wait for the job and exit with its status",
      .group = CLI_WHAT, .feature = OPTIONS_LEAVE },
    { "detach-on-interrupt", 0, CLI_FLAG, AT(detach), NULL, NULL,
      "on Ctrl-C, leave the job running", .group = CLI_OTHER, .feature = OPTIONS_STAY },
    { "show", 0, CLI_LIST, AT(show), NULL, "ROLE[:INDEX]", "show only the output of these tasks",
      .group = CLI_OUTPUT, .rare = true, .feature = OPTIONS_STAY },
    { "timestamps", 0, CLI_FLAG, AT(timestamps), NULL, NULL,
      "prefix each line of output with its time", .group = CLI_OUTPUT, .rare = true,
      .feature = OPTIONS_STAY },
    { "prefix", 0, CLI_FLAG, AT(prefix), "yes", NULL, "prefix each line of output with its task",
      .group = CLI_OUTPUT, .feature = OPTIONS_STAY },
    { "collapse", 0, CLI_FLAG, AT(collapse), NULL, NULL,
      "show a line that many tasks print only once", .group = CLI_OUTPUT, .rare = true,
      .feature = OPTIONS_STAY },
    { "no-ship", 0, CLI_FLAG, AT(no_ship), NULL, NULL,
      "on YARN: upload nothing but what --files and --archives name", .group = CLI_ENVIRONMENT,
      .rare = true },
    { "spec", 0, CLI_TEXT, AT(spec), NULL, "FORMAT",
      "print where all tasks listen, as 'ydl spec' does", .group = CLI_OUTPUT,
      .feature = OPTIONS_LEAVE },
    { "workers", 'n', CLI_TEXT, AT(workers), NULL, "N", "number of workers", .group = CLI_WHAT },
    { "servers", 's', CLI_TEXT, AT(servers), NULL, "N", "number of parameter servers",
      .group = CLI_WHAT },
    { "role", 0, CLI_LIST, AT(roles), NULL, "NAME=COUNT[,KEY=VALUE…]",
      "run COUNT containers of role NAME", .group = CLI_WHAT },
    { "mem", 0, CLI_TEXT, AT(mem), NULL, "SIZE", "memory of each worker, such as 2g",
      .group = CLI_RESOURCES },
    { "cpus", 0, CLI_TEXT, AT(cpus), NULL, "N", "processor cores of each worker",
      .group = CLI_RESOURCES },
    { "gpus", 0, CLI_TEXT, AT(gpus), NULL, "N", "number of GPUs of each worker",
      .group = CLI_RESOURCES },
    { "procs", 0, CLI_TEXT, AT(procs), NULL, "N", "processes in each worker's container",
      .group = CLI_RESOURCES, .rare = true },
    { "name", 0, CLI_TEXT, AT(name), NULL, "NAME",
      "name of the job (default: taken from its command)", .group = CLI_WHAT },
    { "framework", 0, CLI_TEXT, AT(framework), NULL, "NAME",
      "framework, see 'ydl help run' (default: none)", .group = CLI_WHAT },
    { "native", 0, CLI_TEXT, AT(native), NULL, "WHEN",
      "run servers without Python, with ydl-native: yes, no, or auto, which does so for servers "
      "that have no command, and for an MXNet scheduler if MXNet's library is found (default: "
      "auto)", .group = CLI_ENVIRONMENT, .rare = true },
    { "files", 0, CLI_LIST, AT(files), NULL, "FILE[#NAME]", "file or directory for each task",
      .group = CLI_ENVIRONMENT },
    { "archives", 0, CLI_LIST, AT(archives), NULL, "FILE[#NAME]", "archive to unpack for each task",
      .group = CLI_ENVIRONMENT },
    { "env", 0, CLI_LIST, AT(env), NULL, "NAME=VALUE", "environment variable of every task",
      .group = CLI_ENVIRONMENT },
    { "venv", 0, CLI_TEXT, AT(venv), NULL, "DIR", "directory of a Python environment to run in",
      .group = CLI_ENVIRONMENT },
    { "pip", 0, CLI_LIST, AT(pip), NULL, "PACKAGE", "requirements file or Python package",
      .group = CLI_ENVIRONMENT },
    { "hadoop", 0, CLI_TEXT, AT(hadoop), NULL, "WHEN",
      "set the variables with which libhdfs finds Java and Hadoop: yes (fail if they are not "
      "found), no, or auto (if found, and the command names a file on HDFS) (default: auto)",
      .group = CLI_ENVIRONMENT, .rare = true },
    { "image", 0, CLI_TEXT, AT(image), NULL, "IMAGE", "container image to run tasks in",
      .group = CLI_ENVIRONMENT },
    { "restart", 0, CLI_TEXT, AT(restart), NULL, "POLICY",
      "what to restart if a task fails: never (nothing), task, or gang (all tasks) (default: by "
      "framework)", .group = CLI_FAILURES },
    { "max-restarts", 0, CLI_TEXT, AT(max_restarts), NULL, "N",
      "maximum number of restarts within the window", .group = CLI_FAILURES },
    { "restart-delay", 0, CLI_TEXT, AT(restart_delay), NULL, "TIME",
      "minimum delay before a restart; increases after repeated failures", .group = CLI_FAILURES,
      .rare = true },
    { "restart-codes", 0, CLI_LIST, AT(restart_codes), NULL, "CODE,…",
      "restart a task only after these exit codes; 128 + N stands for signal N (default: any)",
      .group = CLI_FAILURES, .rare = true },
    { "avoid", 0, CLI_TEXT, AT(avoid), NULL, "WHAT",
      "when to stop using a node: node-faults (after two failures the node may have caused), or "
      "all (after any failure but preemption and lost nodes; the task then moves) (default: "
      "node-faults)", .group = CLI_FAILURES, .rare = true },
    { "gang-hold", 0, CLI_TEXT, AT(gang_hold), NULL, "TIME",
      "how long to hold an incomplete set of containers before giving them back and asking again "
      "(default: 5m)", .group = CLI_CLUSTER, .rare = true },
    { "gang-retry", 0, CLI_TEXT, AT(gang_retry), NULL, "N",
      "how often to ask again (default: forever)", .group = CLI_CLUSTER, .rare = true },
    { "grace", 0, CLI_TEXT, AT(grace), NULL, "TIME",
      "time between the request to stop and the kill (default: 30s)", .group = CLI_FAILURES,
      .rare = true },
    { "save-time", 0, CLI_TEXT, AT(save_time), NULL, "TIME",
      "time limit for saving output and results when all tasks have ended; what is not saved by "
      "then is reported (default: 30m)", .group = CLI_FAILURES, .rare = true },
    { "timeout", 0, CLI_TEXT, AT(timeout), NULL, "TIME",
      "time limit, including waiting (default: none)", .group = CLI_FAILURES },
    { "output", 0, CLI_LIST, AT(output), NULL, "[DIR=]TARGET",
      "where to put the results in $YDL_OUT", .group = CLI_OUTPUT },
    { "publish", 0, CLI_TEXT, AT(publish), NULL, "NAME",
      "publish the results as a new version of this model if the job succeeds",
      .group = CLI_OUTPUT, .rare = true },
    { "publish-path", 0, CLI_TEXT, AT(publish_path), NULL, "PATH",
      "file or directory below the results to publish (default: all of them)",
      .group = CLI_OUTPUT, .rare = true },
    { "registry", 0, CLI_TEXT, AT(registry), NULL, "DIR",
      "registry to publish to: a directory, or an hdfs:// name (default: as for 'ydl model')",
      .group = CLI_OUTPUT, .rare = true },
    { "tensorboard", 0, CLI_TEXT, AT(tensorboard), NULL, "DIR",
      "run TensorBoard on DIR beside the job", .group = CLI_OUTPUT },
    { "queue", 0, CLI_TEXT, AT(queue), NULL, "QUEUE", "queue to submit to", .group = CLI_CLUSTER },
    { "priority", 0, CLI_TEXT, AT(priority), NULL, "N", "priority of the job in its queue",
      .group = CLI_CLUSTER, .rare = true },
    { "tag", 0, CLI_LIST, AT(tags), NULL, "WORD", "tag by which the job can be found",
      .group = CLI_CLUSTER, .rare = true },
    { "label", 0, CLI_TEXT, AT(label), NULL, "LABEL", "run on nodes with this label",
      .group = CLI_CLUSTER, .rare = true },
    { "image-by", 0, CLI_TEXT, AT(image_by), NULL, "WHO",
      "who runs the image: yarn (its container runtime), agent (docker run), or auto (default: "
      "auto)", .group = CLI_ENVIRONMENT, .rare = true },
    { "mount", 0, CLI_LIST, AT(mounts), NULL, "FROM:TO[:ro]",
      "directory of the node to mount in the image", .group = CLI_ENVIRONMENT, .rare = true },
    { "attempts", 0, CLI_TEXT, AT(attempts), NULL, "N",
      "how often YARN may start the job's master; tasks go on running meanwhile (default: 2)",
      .group = CLI_CLUSTER, .rare = true },
    { "staging", 0, CLI_TEXT, AT(staging), NULL, "DIR",
      "directory on HDFS for uploads, logs and results (default: .ydl in your home directory)",
      .group = CLI_CLUSTER, .rare = true },
    { "client-address", 0, CLI_TEXT, AT(client_address), NULL, "HOST",
      "name or address of this machine for tasks on the cluster, when some tasks run here "
      "(default: the address from which the master is reached)", .group = CLI_CLUSTER,
      .rare = true },
    { "nodes", 0, CLI_TEXT, AT(nodes), NULL, "N", "local only: pretend to have N machines",
      .group = CLI_RESOURCES, .rare = true },
    { 0 },
};

const char options_frameworks[] =
    "dask\tA Dask cluster, and the job's command as its client.\n"
    "deepspeed\tDeepSpeed scripts, without the deepspeed launcher (experimental).\n"
    "horovod\tHorovod over gloo, without horovodrun, ssh or MPI.\n"
    "jax\tJAX on several processes (jax.distributed).\n"
    "lightgbm\tLightGBM over sockets: the lightgbm program, or a script.\n"
    "mpi\tMPI programs (MPICH, MVAPICH, Intel MPI) by PMI-1, without mpirun.\n"
    "mxnet\tMXNet with a distributed key-value store (ps-lite).\n"
    "none\tAny program, in any roles.\n"
    "pytorch\tPyTorch (torch.distributed) with torchrun's environment.\n"
    "rabit\tRabit programs, and XGBoost up to 2.0.\n"
    "ray\tA Ray cluster, and the job's command as its driver (experimental).\n"
    "serve\tA deployment of models (see 'ydl serve').\n"
    "slider\tApplications made for Apache Slider (see 'slider').\n"
    "tensorflow\tTensorFlow 2 and estimators, by TF_CONFIG.\n"
    "tensorflow-flags\tTensorFlow 1 scripts with --ps_hosts, --worker_hosts, --job_name, --task_index.\n"
    "xgboost\tXGBoost from 2.1, with its tracker in the master.";
/* clang-format on */

int options_where(const struct options *o, enum options_on *ret, struct err *err)
{
    const char *env = getenv("YDL_ON");

    *ret = o->on >= 0 ? (enum options_on)o->on : OPTIONS_LOCAL;
    if (o->on >= 0 || !env || !*env)
        return 0;
    for (size_t i = 0; places[i]; i++)
        if (str_eq(places[i], env)) {
            *ret = (enum options_on)i;
            return 0;
        }
    return cli_bad(err, "YDL_ON is '%s': it must be local or yarn", env);
}

bool options_only_plan(void)
{
    const char *env = getenv("YDL_PLAN");

    return env && *env && !str_eq(env, "0");
}

/* ---- reading ---- */

static int options_read_file(const char *path, struct spec *s, struct spec_faults *f,
                             struct err *err)
{
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    int r = path_read(str_eq(path, "-") ? "/dev/stdin" : path, &text, err);

    if (r == -E2BIG) {
        err_clear(err);
        return cli_bad(err, "job file '%s' is larger than %zu MB", path, SPEC_FILE_MAX / MIB);
    }
    if (r < 0)
        return exit_named_file(r, err);
    f->file = strdup(path);
    if (!f->file)
        return err_oom(err);
    r = spec_parse(path, text.data ? text.data : (uint8_t *)"", text.len, s, f);
    return r == -ENOMEM ? err_oom(err) : 0;
}

/* The job that a front end made. */
static int options_read_job(const struct globals *g, struct spec *s, struct spec_faults *f,
                            struct err *err)
{
    f->file = strdup(g->job_by);
    if (!f->file)
        return err_oom(err);
    return spec_parse(g->job_by, g->job, strlen(g->job), s, f) == -ENOMEM ? err_oom(err) : 0;
}

/* Options below OURS have the name of a key of the specification, which parses the text itself: an
 * option and its key cannot differ in what they accept. */
static int read_flags(const struct options *o, struct spec *s, struct spec_faults *f)
{
    int r = 0;

    for (const struct cli_opt *opt = options_table + OURS; r != -ENOMEM && opt->name; opt++) {
        const void *at = (const char *)o + opt->offset;
        const struct strs *list = opt->type == CLI_LIST ? at : NULL;
        const char *one = opt->type == CLI_TEXT ? *(const char *const *)at : NULL;

        if (one)
            r = spec_flag(s, opt->name, one, f);
        for (size_t i = 0; list && r != -ENOMEM && i < list->n; i++)
            r = spec_flag(s, opt->name, list->v[i], f);
    }
    return r == -ENOMEM ? r : 0;
}

static int options_read_command(const struct cli *c, struct spec *s)
{
    int r = 0;

    if (c->n_operands == 0)
        return 0;
    strs_done(&s->command);
    for (size_t i = 0; r == 0 && i < c->n_operands; i++)
        r = strs_add(&s->command, c->operands[i]);
    return r;
}

/* ---- completing ---- */

static int give_name(struct spec *s)
{
    const struct strs *command = &s->command;

    for (size_t i = 0; command->n == 0 && i < s->n_roles; i++)
        command = &s->roles[i].command;
    if (!s->name)
        s->name = auto_name(command);
    return s->name ? 0 : -ENOMEM;
}

static int check_here(const struct spec *s, struct spec_faults *f)
{
    AUTO_FREE char *cwd = s->directory ? strdup(s->directory) : getcwd(NULL, 0);
    struct local_machine has;
    struct check_machine m = { .cwd = cwd ? cwd : "/", .path = getenv("PATH") };

    local_machine(&has);
    m.memory = has.memory;
    m.gpus = has.gpus;
    return check_local(s, &m, f);
}

/* ydl's own programs lie in one directory. */
static int place_programs(struct spec *s, enum options_on on, struct spec_faults *f)
{
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *dir = NULL;

    if (launch_node_program(&node, NULL) < 0)
        return 0; /* who starts something will say so */
    dir = path_dir(node);
    return dir ? native_programs_find(s, dir, on == OPTIONS_YARN, f) : -ENOMEM;
}

/* The framework first, since it fills in roles, and the name before the checks, which look at it.
 * What is checked last depends on the platform: here programs and memory are looked for, on a
 * cluster not. */
static int options_complete(struct spec *s, enum options_on on, const struct framework **ret,
                            struct spec_faults *f)
{
    struct err err = ERR_INIT;
    int r;

    if (framework_find(s->framework, ret, &err) < 0) {
        r = spec_fault(f, 0, "framework", "%s (%s)", err.text, err.hint);
        return r == -ENOMEM ? r : 0;
    }
    r = framework_complete(*ret, s, f);
    if (r != -ENOMEM)
        r = place_programs(s, on, f);
    if (r != -ENOMEM)
        r = give_name(s);
    if (r != -ENOMEM)
        r = spec_check(s, f);
    if (r != -ENOMEM && on == OPTIONS_LOCAL)
        r = check_here(s, f);
    if (r != -ENOMEM)
        r = publish_complete(s, on == OPTIONS_YARN, f);
    if (r != -ENOMEM)
        r = check_env(s, on == OPTIONS_YARN, f);
    return r == -ENOMEM ? r : 0;
}

/* ---- what is wrong ---- */

static bool options_said_before(const struct spec_faults *f, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq(f->lines.v[i], f->lines.v[at]))
            return true;
    return false;
}

/* Each fault is said once, though several roles may have it. With --json the same goes to standard
 * output as one document, with the errors' usual form. */
int options_faults(const struct cli *c, const struct spec_faults *f, struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    int r;

    for (size_t i = 0; i < f->lines.n; i++) {
        char clean[2048];

        if (options_said_before(f, i))
            continue;
        str_clean(clean, sizeof(clean), f->lines.v[i]);
        fprintf(stderr, "%s: %s\n", c->program->name, clean);
        if (list && json_array_append_new(list, json_text(f->lines.v[i])) < 0)
            return err_oom(err);
        n++;
    }
    if (!globals_of(c)->json)
        return EXIT_USAGE;
    text = str_printf("%zu error%s in the job", n, n == 1 ? "" : "s");
    if (!text)
        return err_oom(err);
    r = doc_print(err, "{s:{s:s, s:i, s:s, s:n, s:i, s:o}}", "error", "code", "USAGE", "errno",
                  EINVAL, "text", text, "hint", "exit", EXIT_USAGE, "faults", take(list));
    return r < 0 ? r : EXIT_USAGE;
}

/* Decides between a fault of the job, which joins the others, and one of the system, which ends the
 * launch. */
int options_blame(struct spec_faults *f, const char *key, int r, const struct err *why,
                  struct err *err)
{
    if (r >= 0)
        return 0;
    if (exit_users_fault(r))
        return spec_fault(f, 0, key, "%s", why->text) == -ENOMEM ? err_oom(err) : 0;
    if (err)
        *err = *why;
    return r;
}

/* What is to be shown has to be there. */
static int check_show(const struct options *o, const struct spec *s, struct err *err)
{
    AUTO_STRS roles = { 0 };

    for (size_t i = 0; i < s->n_roles; i++)
        if (strs_add(&roles, s->roles[i].name) < 0)
            return err_oom(err);
    return task_filter_check(&o->show, &roles, "option '--show': the job", err);
}

/* A function that returns less than 0 here has had no memory: faults of the job are in `f` and end
 * nothing, until all of them are told. */
int options_spec(const struct cli *c, struct spec *ret, const struct framework **ret_framework,
                 struct err *err)
{
    const struct options *o = c->args;
    struct spec_faults f = { 0 };
    enum options_on on;
    int r = options_where(o, &on, err);

    spec_init(ret);
    if (r == 0 && o->file)
        r = options_read_file(o->file, ret, &f, err);
    if (r == 0 && o->file && job_base(ret, o->file, c->n_operands > 0, on == OPTIONS_LOCAL) < 0)
        r = err_oom(err);
    if (r == 0 && !o->file && globals_of(c)->job)
        r = options_read_job(globals_of(c), ret, &f, err);
    if (r == 0 && (read_flags(o, ret, &f) < 0 || options_read_command(c, ret) < 0 ||
                   job_base_options(ret, on == OPTIONS_LOCAL) < 0 ||
                   options_complete(ret, on, ret_framework, &f) < 0))
        r = err_oom(err);
    if (r == 0 && f.lines.n > 0)
        r = options_faults(c, &f, err);
    if (r == 0)
        r = check_show(o, ret, err);
    spec_faults_done(&f);
    return r;
}
