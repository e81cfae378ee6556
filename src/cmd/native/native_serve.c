/* native_serve.c - `ydl-native serve`: a model behind a port. */
#include "base/json.h"
#include "base/log.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "loop/fiber.h"
#include "native/python.h"
#include "serve/command/command_process.h"
#include "serve/command/command_server.h"
#include "serve/engine/server.h"
#include "serve/line_out.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

struct args {
    const char *lib, *python, *device, *host, *name, *access_log, *warmup, *key_file;
    struct strs labels, shapes, cors;
    int64_t version, port, delay, load, deadline, grace, header, body, idle;
    uint64_t body_max, memory_max;
    int64_t run;
    unsigned cpus, instances, workers, batch, queue, connections;
    bool no_model, late, threads_only;
};

#define AT(field) offsetof(struct args, field)
/* clang-format off */
static const struct cli_opt opts[] = {
    { "host",          0, CLI_TEXT,  AT(host),       "127.0.0.1", "ADDRESS",
      "numeric address to listen on; 0.0.0.0: all", .group = CLI_WHAT },
    { "port",          0, CLI_I64,   AT(port),       "8000", "N",
      "port to listen on; 0: any that is free", .group = CLI_WHAT },
    { "name",          0, CLI_TEXT,  AT(name),       NULL, "NAME",
      "the model's name in requests", .fallback = "its manifest's, or its file's",
      .group = CLI_WHAT },
    { "model-version", 0, CLI_I64,   AT(version),    "0", "N",
      "the version in requests; 0: its manifest's, or 1", .group = CLI_WHAT },
    { "label",         0, CLI_LIST,  AT(labels),     NULL, "NAME",
      "a label of this version, for /labels/NAME", .group = CLI_WHAT, .rare = true },
    { "lib",           0, CLI_TEXT,  AT(lib),        NULL, "PATH",
      "the library that runs the model, or its directory", .group = CLI_WHAT },
    { "python",        0, CLI_TEXT,  AT(python),     NULL, "PATH",
      "the Python of a handler, or its environment", .fallback = "the first in PATH",
      .group = CLI_WHAT },
    { "shape",         0, CLI_LIST,  AT(shapes),     NULL, "NAME=SIZES",
      "shape of an input, where an MXNet model does not say it: data=-1x3x224x224",
      .group = CLI_WHAT, .rare = true },
    { "warmup",        0, CLI_TEXT,  AT(warmup),     NULL, "DIR",
      "requests to answer before it is ready", .fallback = "warmup/ beside the model",
      .group = CLI_WHAT, .rare = true },
    { "late",          0, CLI_FLAG,  AT(late),       NULL, NULL,
      "listen only when it is ready: a balancer then sends nothing before",
      .group = CLI_WHAT, .rare = true },
    { "no-model",      0, CLI_FLAG,  AT(no_model),   NULL, NULL,
      "serve nothing: to try the rest", .group = CLI_WHAT, .rare = true },
    { "cpus",          0, CLI_COUNT, AT(cpus),       NULL, "N",
      "threads that compute", .fallback = "one per processor", .group = CLI_RESOURCES },
    { "device",        0, CLI_TEXT,  AT(device),     "cpu", "DEVICE",
      "cpu, cuda or cuda:N", .group = CLI_RESOURCES },
    { "instances",     0, CLI_COUNT, AT(instances),  "1", "N",
      "runs of the model at a time, at most --cpus", .group = CLI_RESOURCES },
    { "workers",       0, CLI_COUNT, AT(workers),    NULL, "N",
      "processes of a handler", .fallback = "one per cpu", .group = CLI_RESOURCES },
    { "threads-only",  0, CLI_FLAG,  AT(threads_only), NULL, NULL,
      "never run the model on the thread that answers requests, however short it is",
      .group = CLI_RESOURCES, .rare = true },
    { "batch",         0, CLI_COUNT, AT(batch),      "1", "ROWS",
      "join waiting requests, up to ROWS rows in all", .group = CLI_RESOURCES },
    { "batch-delay",   0, CLI_MS,    AT(delay),      "0ms", "TIME",
      "how long a request may wait for others to join", .group = CLI_RESOURCES },
    { "queue",         0, CLI_COUNT, AT(queue),      "256", "N",
      "requests that may wait; more are answered 429", .group = CLI_RESOURCES },
    { "max-body",      0, CLI_SIZE,  AT(body_max),   "64m", "SIZE",
      "largest request; larger ones are answered 413", .group = CLI_RESOURCES },
    { "max-memory",    0, CLI_SIZE,  AT(memory_max), "512m", "SIZE",
      "of all requests and answers; beyond it 429", .group = CLI_RESOURCES, .rare = true },
    { "connections",   0, CLI_COUNT, AT(connections), "1024", "N",
      "clients at a time", .group = CLI_RESOURCES, .rare = true },
    { "load-timeout",  0, CLI_MS,    AT(load),       "10m", "TIME",
      "for loading the model and its warm-up requests", .group = CLI_FAILURES, .rare = true },
    { "deadline",      0, CLI_MS,    AT(deadline),   "30s", "TIME",
      "for the answer to a request; then 504", .group = CLI_FAILURES },
    { "handler-timeout", 0, CLI_MS,  AT(run),        "60s", "TIME",
      "for one call of a handler; then its worker is replaced", .group = CLI_FAILURES,
      .rare = true },
    { "grace",         0, CLI_MS,    AT(grace),      "30s", "TIME",
      "for requests in flight after SIGTERM", .group = CLI_FAILURES },
    { "header-timeout", 0, CLI_MS,   AT(header),     "10s", "TIME",
      "for a request's header", .group = CLI_FAILURES, .rare = true },
    { "body-timeout",  0, CLI_MS,    AT(body),       "30s", "TIME",
      "for a request's body, and for each 64 KB of it more", .group = CLI_FAILURES, .rare = true },
    { "idle-timeout",  0, CLI_MS,    AT(idle),       "60s", "TIME",
      "for a connection without a request", .group = CLI_FAILURES, .rare = true },
    { "key-file",      0, CLI_TEXT,  AT(key_file),   NULL, "FILE",
      "clients must send one of the keys in it: Authorization: Bearer KEY", .group = CLI_WHAT,
      .rare = true },
    { "cors",          0, CLI_LIST,  AT(cors),       NULL, "ORIGIN",
      "an origin whose pages may ask; '*': any", .group = CLI_OUTPUT, .rare = true },
    { "access-log",    0, CLI_TEXT,  AT(access_log), NULL, "FILE",
      "write a line for each request; -: to standard output", .group = CLI_OUTPUT },
    { 0 },
};
/* clang-format on */

struct serving {
    struct cli *cli;
    struct err *err;
    struct loop *loop;
    struct server_options o;
    bool stuck;
};

/* ---- what it says ---- */

static void say_json(const json_t *v)
{
    (void)json_print(stdout, v, NULL);
}

static void native_serve_on_listening(void *user, const struct server_told *t)
{
    const struct serving *s = user;
    AUTO_JSON *v = NULL;
    char text[256];

    if (!globals_of(s->cli)->json) {
        (void)snprintf(text, sizeof(text), "listening on %s", t->url);
        native_note(s->cli, text);
    } else if (json_make(&v, NULL, "{s:s,s:s}", "event", "listening", "url", t->url) == 0) {
        say_json(v);
    }
}

static void native_serve_on_ready(void *user, const struct server_told *t)
{
    const struct serving *s = user;
    AUTO_JSON *v = NULL;
    char text[1024];

    if (!globals_of(s->cli)->json) {
        (void)snprintf(text, sizeof(text),
                       "ready: %s:%lld at %s, by %s %s (%s), loaded in %lld ms%s", t->model,
                       (long long)t->version, t->url, t->backend, t->library_version, t->library,
                       (long long)t->load_ms, t->warmed ? ", warm" : "");
        native_note(s->cli, text);
    } else if (json_make(&v, NULL, "{s:s,s:s,s:o,s:I,s:s,s:o,s:s,s:I,s:I}", "event", "ready", "url",
                         t->url, "model", json_text(t->model), "version", (json_int_t)t->version,
                         "backend", t->backend, "library", json_text(t->library), "library_version",
                         t->library_version, "load_ms", (json_int_t)t->load_ms, "warmup_requests",
                         (json_int_t)t->warmed) == 0) {
        say_json(v);
    }
}

/* ---- what it needs ---- */

static unsigned native_serve_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}

static const struct {
    const struct backend_ops *ops; /* of each backend */
    const struct find_library *library;
} libraries[] = {
    { &backend_onnxruntime, &find_onnxruntime },
    { &backend_xgboost, &find_xgboost },
    { &backend_lightgbm, &find_lightgbm },
    { &backend_tensorflow, &find_tensorflow },
    { &backend_mxnet, &find_mxnet },
};

static int native_serve_find(void *user, const struct backend_ops *ops, char **ret, struct err *err)
{
    const struct serving *s = user;
    const struct args *a = s->cli->args;
    struct native_ask ask = { .lib = a->lib, .alone = true };

    if (ops == &backend_python)
        return python_choose(a->python ? a->python : a->lib, getenv("PATH"), ret, err);
    for (size_t i = 0; i < COUNT_OF(libraries); i++)
        if (libraries[i].ops == ops)
            ask.library = libraries[i].library;
    return native_library(s->cli, &ask, ret, err);
}

static int native_serve_options(struct cli *c, struct serving *s, struct err *err)
{
    const struct args *a = c->args;
    unsigned cpus = a->cpus ? a->cpus : native_serve_processors();

    if (a->no_model != (c->n_operands == 0))
        return cli_bad(err, a->no_model ? "--no-model and a model" : "Which model?");
    if (a->port < 0 || a->port > 65535)
        return cli_bad(err, "--port: from 0 to 65535");
    if (a->version < 0)
        return cli_bad(err, "--model-version: 0 or more");
    if (a->instances > cpus)
        return cli_bad(err, "--instances: at most --cpus, which is %u", cpus);
    if (a->instances == 0 || a->batch == 0 || a->queue == 0 || a->connections == 0)
        return cli_bad(err, "--instances, --batch, --queue and --connections: 1 or more");
    if (a->run <= 0)
        return cli_bad(err, "--handler-timeout: more than 0");
    if (a->workers > 256)
        return cli_bad(err, "--workers: at most 256");
    if (a->load <= 0 || a->deadline <= 0 || a->body_max == 0 || a->memory_max == 0)
        return cli_bad(err, "--load-timeout, --deadline, --max-body and --max-memory: more than 0");
    s->o = (struct server_options){ .model = c->n_operands ? c->operands[0] : NULL,
                                    .name = a->name,
                                    .version = a->version,
                                    .labels = &a->labels,
                                    .shapes = &a->shapes,
                                    .host = a->host,
                                    .port = (unsigned)a->port,
                                    .late = a->late,
                                    .device = a->device,
                                    .cpus = cpus,
                                    .instances = a->instances,
                                    .workers = a->workers,
                                    .run_ms = a->run,
                                    .threads_only = a->threads_only,
                                    .rows_max = a->batch,
                                    .delay_ms = a->delay,
                                    .queue_max = a->queue,
                                    .load_ms = a->load,
                                    .deadline_ms = a->deadline,
                                    .grace_ms = a->grace,
                                    .header_ms = a->header,
                                    .body_ms = a->body,
                                    .idle_ms = a->idle,
                                    .body_max = a->body_max,
                                    .memory_max = a->memory_max,
                                    .connections_max = a->connections,
                                    .key_file = a->key_file,
                                    .cors = a->cors.n ? &a->cors : NULL,
                                    .access_log = a->access_log,
                                    .warmup = a->warmup,
                                    .find = native_serve_find,
                                    .on_listening = native_serve_on_listening,
                                    .on_ready = native_serve_on_ready,
                                    .user = s };
    if (a->body_max > a->memory_max) /* there will never be room: it is not told to come again */
        s->o.body_max = a->memory_max;
    return 0;
}

/* A model that is a program (command.json) is not loaded by us at all: we are in front of it. */
static int native_serve_work(void *arg)
{
    struct serving *s = arg;
    AUTO_COMMAND_SPEC spec = { 0 };
    int r = s->o.model ? command_spec_open(s->o.model, &spec, s->err) : 0;

    if (r < 0)
        return r;
    if (r > 0)
        return command_server_run(s->loop, &s->o, &spec, s->err);
    return server_run(s->loop, &s->o, &s->stuck, s->err);
}

/* A thread is inside the library and cannot be stopped: nothing that it uses may be freed. */
static void end_with_a_stuck_thread(const struct cli *c, int r, const struct err *err)
{
    bool fine = r == 0 || r == -ECANCELED;

    native_note(c, fine ? "the backend is still at work and is not waited for" : err->text);
    (void)fflush(NULL);
    _exit(fine ? 0 : 1);
}

/* What libraries read only from the environment; what is there already stays. No other thread reads
 * it yet. */
static void native_serve_environment(unsigned cpus)
{
    char threads[16];
    const struct {
        const char *name, *value;
    } rows[] = {
        { "OMP_WAIT_POLICY", "passive" }, /* OpenMP's spin, at the cost of everybody else */
        { "MXNET_OMP_MAX_THREADS", threads }, { "MXNET_CPU_WORKER_NTHREADS", threads },
        { "MXNET_SUBGRAPH_VERBOSE", "0" },    { "TF_CPP_MIN_LOG_LEVEL", "2" }, /* errors only */
    };

    (void)snprintf(threads, sizeof(threads), "%u", cpus);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        (void)setenv(rows[i].name, rows[i].value, 0);
}

/* The order matters: variables are set before there are threads and before a library is opened that
 * reads them; a thread that is stuck in a library makes an orderly end impossible, so that this is
 * looked at before anything is freed. */
static int native_serve_run(struct cli *c, struct err *err)
{
    struct serving s = { .cli = c, .err = err };
    int r = native_serve_options(c, &s, err);

    if (r < 0)
        return r;
    native_serve_environment(s.o.cpus);
    line_out_never_wait(STDERR_FILENO); /* nobody may read the log: requests do not wait for that */
    r = loop_new(&s.loop, err);
    if (r < 0)
        return r;
    r = loop_run(s.loop, native_serve_work, &s, true);
    if (s.stuck)
        end_with_a_stuck_thread(c, r, err);
    if (r == -ECANCELED && loop_signal(s.loop))
        r = 0;
    if (r == -ETIMEDOUT || r == -EBADMSG) /* of the model: nothing of a cluster, and no registry */
        r = -EIO;
    loop_free(s.loop);
    return r;
}

static const struct cli_section sections[] = {
    { "ENDPOINTS",
      "/v1/models/NAME…\tTensorFlow Serving's REST API: predict, classify, regress, status, "
      "metadata.\n"
      "/v2/…\tThe Open Inference Protocol: infer, health, metadata, repository index.\n"
      "/metrics\tCounters in Prometheus' text format.\n"
      "/\tA page to try the model by hand." },
    { "FORMATS", "command\tDIR/command.json, which names a program that speaks HTTP itself.\n"
                 "Python\tDIR/model.py with load(dir) and predict(inputs), in worker processes.\n"
                 "ONNX\tNAME.onnx or DIR/model.onnx, by ONNX Runtime.\n"
                 "XGBoost\tNAME.json, NAME.ubj, NAME.bst or DIR/model.json …, by XGBoost.\n"
                 "LightGBM\tNAME.txt or DIR/model.txt, by LightGBM.\n"
                 "TensorFlow\tDIR with saved_model.pb, a SavedModel, by TensorFlow.\n"
                 "MXNet\tNAME-symbol.json with NAME-0000.params beside it, by MXNet." },
    { "ENVIRONMENT", "ONNXRUNTIME_LIBRARY_PATH\tlibonnxruntime.so, or the directory that has it.\n"
                     "XGBOOST_LIBRARY_PATH\tlibxgboost.so, likewise.\n"
                     "LIGHTGBM_LIBRARY_PATH\tlib_lightgbm.so, likewise.\n"
                     "TENSORFLOW_LIBRARY_PATH\tlibtensorflow_cc.so.2, likewise.\n"
                     "MXNET_LIBRARY_PATH\tlibmxnet.so, likewise." },
    { "EXIT STATUS",
      "0\tIt got SIGTERM or SIGINT and has answered what was in flight.\n"
      "1\tThe library or the model could not be loaded, a warm-up request failed, or requests "
      "were cut off when --grace was over.\n"
      "2\tWrong usage." },
    { 0 },
};

static const struct cli_example examples[] = {
    { "ydl-native serve resnet.onnx", "serve one file on port 8000 of this machine" },
    { "ydl-native serve --host 0.0.0.0 --port 0 --cpus 2 --batch 16 model/",
      "serve a directory to other machines, joining requests" },
    { "curl -s localhost:8000/v2/models/resnet", "what it takes and gives" },
    { 0 },
};

const struct cli_verb verb_native_serve = {
    .name = "serve",
    .summary = "serve a model over HTTP",
    .text = "Loads one version of one model and answers requests for it, in the protocols of\n"
            "TensorFlow Serving and of the Open Inference Protocol. MODEL is a file, a directory\n"
            "with such a file, or a version's directory in a registry of models.\n\n"
            "It listens at once and is called ready (/v2/health/ready) when the model is loaded\n"
            "and has answered its warm-up requests. After SIGTERM it lets nobody in any more, and\n"
            "ends when what is in flight is answered.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "[MODEL]",
    .most = 1,
    .complete = CLI_FILES,
    .examples = examples,
    .sections = sections,
    .run = native_serve_run,
};

static int native_command_child_run(struct cli *c, struct err *err)
{
    int64_t parent = 0;

    if (str_to_i64(c->operands[0], 1, INT32_MAX, &parent) < 0)
        return cli_bad(err, "'%s' is not a process", c->operands[0]);
    return command_become((pid_t)parent, c->operands + 1, err);
}

const struct cli_verb verb_native_command_child = {
    .name = "command-child",
    .summary = "become a model's program and end with the server (started by serve)",
    .hidden = true,
    .operands = "PARENT PROGRAM [ARGUMENT…]",
    .least = 2,
    .most = CLI_ANY,
    .command_follows = true,
    .run = native_command_child_run,
};
