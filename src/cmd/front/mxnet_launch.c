/* mxnet_launch.c - ydl-launch: tools/launch.py of MXNet. */
#include "base/json.h"
#include "cmd/front/dmlc_common.h"
#include "cmd/front/fronts.h"

#include <string.h>

static const char *const launchers[] = { "local", "ssh", "mpi", "sge", "yarn", NULL };

/* clang-format off */
static const struct cli_opt options[] = {
    { "-n", .also = { "--num-workers" }, .meta = "N", .help = "number of workers; required",
      .type = CLI_I64, .least = 1 },
    { "-s", .also = { "--num-servers" }, .meta = "N",
      .help = "number of servers", .fallback = "as many as workers", .type = CLI_I64 },
    { "--launcher", .meta = "KIND",
      .help = "where to run", .fallback = "$YDL_ON, or local", .choices = launchers },
    { "--env-server", .meta = "NAME:VALUE", .help = "environment variable for the servers",
      .type = CLI_LIST },
    { "--env-worker", .meta = "NAME:VALUE", .help = "environment variable for the workers",
      .type = CLI_LIST },
    { "--env", .meta = "NAME", .help = "variable of this environment to pass to all tasks",
      .type = CLI_LIST },
    { "--p3", .help = "send parameters in slices, by priority" },
    DMLC_SCHEDULER,
    DMLC_NATIVE,
    DMLC_SSH("-H", "--hostfile"),
    { 0 },
};
/* clang-format on */

static int mxnet_launch_find_place(const struct front_ask *a, const char **ret, struct err *err)
{
    const char *said = front_value(a, "--launcher");

    *ret = said ? said : front_on(a, "local");
    if (!said || str_eq(said, "yarn") || str_eq(said, "local"))
        return 0;
    return cli_bad(err, "'%s' is not supported: ydl runs on yarn or local", said);
}

/* ---- variables ---- */

/* Those of one role, as in a job file. */
static int role_env(const struct front_ask *a, const char *option, json_t *roles, const char *role,
                    struct err *err)
{
    AUTO_JSON *env = json_object();
    AUTO_JSON *own = NULL;
    int r = env ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < a->args->n; i++) {
        const struct legacy_hit *h = &a->args->hits[i];
        const char *colon = legacy_is(h->option, option) ? strchr(h->value, ':') : NULL;
        AUTO_FREE char *name = colon ? strndup(h->value, (size_t)(colon - h->value)) : NULL;

        if (!legacy_is(h->option, option))
            continue;
        if (!colon || colon == h->value)
            return cli_bad(err, "option '%s': '%s' is not NAME:VALUE", option, h->value);
        if (!name || json_object_set_new(env, name, json_text(colon + 1)) < 0)
            r = err_oom(err);
    }
    if (r < 0 || json_object_size(env) == 0)
        return r;
    r = json_make(&own, err, "{s:O}", "env", env);
    if (r == 0 && json_object_set(roles, role, own) < 0)
        r = err_oom(err);
    return r;
}

/* What options of ydl cannot say goes into a job file. */
static int role_envs(const struct front_ask *a, struct front_call *c, struct err *err)
{
    AUTO_JSON *roles = json_object();
    AUTO_JSON *job = NULL;
    int r = roles ? role_env(a, "--env-worker", roles, "worker", err) : err_oom(err);

    if (r == 0)
        r = role_env(a, "--env-server", roles, "server", err);
    if (r < 0 || json_object_size(roles) == 0)
        return r;
    r = json_make(&job, err, "{s:O}", "roles", roles);
    if (r < 0)
        return r;
    front_job(c, job);
    return 0;
}

/* NAME hands a variable of ours on; NAME=VALUE, which others of the family take, works too. */
static void named_env(const struct front_ask *a, struct front_call *c)
{
    for (size_t i = 0; i < a->args->n; i++) {
        const struct legacy_hit *h = &a->args->hits[i];
        const char *value = legacy_is(h->option, "--env") ? front_env(a, h->value) : NULL;

        if (!legacy_is(h->option, "--env"))
            continue;
        if (strchr(h->value, '='))
            front_option(c, "--env", "%s", h->value);
        else if (value)
            front_option(c, "--env", "%s=%s", h->value, value);
        else
            front_note(c, "--env %s: the variable is not set here", h->value);
    }
}

static void mxnet_launch_add_env(const struct front_ask *a, const struct dmlc *f,
                                 struct front_call *c)
{
    dmlc_pass(a, c);
    if (front_given(a, "--p3")) {
        dmlc_env(a, c, "DMLC_PS_VAN_TYPE", "p3");
        dmlc_env(a, c, "DMLC_PS_WATER_MARK", "10");
    }
    if (str_eq(f->on, "yarn"))
        dmlc_env(a, c, "PYTHONPATH", ".");
    named_env(a, c);
}

static int mxnet_launch_translate(const struct front_ask *a, struct front_call *c, struct err *err)
{
    struct dmlc f = { .worker_cpus = 1, .server_cpus = 1 };
    int r = dmlc_needs(a, "-n", err);

    if (r == 0)
        r = mxnet_launch_find_place(a, &f.on, err);
    if (r == 0)
        r = dmlc_script(a, f.on, err);
    if (r < 0)
        return r;
    f.workers = legacy_number(&a->syntax, a->args, "-n", 0);
    f.servers = legacy_number(&a->syntax, a->args, "-s", f.workers);
    f.scheduler = front_value(a, "--scheduler");
    f.worker_memory = f.server_memory = "1g";
    f.attempts = dmlc_attempts(a, f.on, NULL);
    r = dmlc_words(a, &f, c, err);
    if (r == 0)
        dmlc_native(a, c);
    if (r == 0)
        r = role_envs(a, c, err);
    if (r < 0)
        return r;
    mxnet_launch_add_env(a, &f, c);
    dmlc_conf(a, NULL, c);
    if (f.servers > 0)
        dmlc_kvstore(&a->args->command, c);
    return dmlc_command(a, &a->args->command, dmlc_files_of(&f, true), c);
}

static const struct front_verb only = {
    .cli = { .opts = options, .operands = "COMMAND…", .complete = CLI_FILES },
    .habits = LEGACY_ARGPARSE,
    .verb = "run",
    .translate = mxnet_launch_translate,
};

/* clang-format off */
const struct front front_launch = {
    .program = {
        .name = "ydl-launch",
        .summary = "run a distributed MXNet program, like MXNet's tools/launch.py",
        .globals = common_opts, .self = &only.cli,
        .text = "Runs workers, servers and a scheduler of a program that uses MXNet's distributed "
                "key-value store. On YARN the scheduler runs on this machine.\n\n"
                "Options may stand anywhere on the line, also after the command; unknown options "
                "are passed to the command. Put -- before the command to pass all its words to "
                "it. The exit status is the job's.",
        CLI_EXAMPLES(
            { "ydl-launch -n 2 --launcher local python train.py --kv-store dist_sync",
              "two workers and two servers on this machine" },
            { "ydl-launch -n 2 --launcher yarn --env-server OMP_NUM_THREADS:1 python train.py",
              "on YARN, with a variable for the server" }),
        .sections = front_sections,
    },
};
/* clang-format on */
