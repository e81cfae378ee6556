/* native_deployment.c - `ydl-native deployment` and `ydl-native replica`: what the tasks of a
 * deployment run. Jobs of `ydl serve` start them; what they need is in the task's environment. */
#include "base/path.h"
#include "base/str.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "native/model_library.h"
#include "native/python.h"
#include "serve/deployment/controller.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/replica.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every task has this variable: if it is not set, we do not run as a task. */
static int task_variable(const char *name, const char **ret, struct err *err)
{
    *ret = getenv(name);
    return *ret ? 0 : err_set(err, -EINVAL, "%s is not set: 'ydl serve' starts this program", name);
}

/* ---- the gateway's task ---- */

struct deployment_args {
    const char *haproxy, *host;
};

struct deployment_call {
    struct cli *cli;
    struct controller_options o;
    struct err *err;
};

static void deployment_note(void *user, const char *text)
{
    native_note(((const struct deployment_call *)user)->cli, text);
}

/* The library that runs the present version runs others of the same format. */
static int deployment_find(void *user, const json_t *present, json_t *version, struct err *err)
{
    const char *format = json_string_value(json_object_get(version, "format"));
    const struct find_library *library = model_library(format);
    AUTO_FREE char *path = NULL;
    int r = 0;

    (void)user;
    if (!format || !model_is_served(format))
        return err_set(err, -EINVAL, "version %lld has the format '%s', which cannot be served yet",
                       (long long)json_int_or(version, "version", 0), format ? format : "");
    if (json_equal(json_object_get(present, "format"), json_object_get(version, "format")))
        return json_object_update_missing(version, (json_t *)present) < 0 ? err_oom(err) : 0;
    if (str_eq(format, "python"))
        r = python_choose(NULL, getenv("PATH"), &path, err);
    else if (library)
        r = model_library_find(library, NULL, &path, err);
    return r < 0                                                          ? r
           : json_object_set_new(version, "library", json_text(path)) < 0 ? err_oom(err)
                                                                          : 0;
}

static int deployment_work(void *arg)
{
    struct deployment_call *x = arg;

    return controller_run(&x->o, x->err);
}

static int deployment_in_dir(struct deployment_call *x, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *dir = str_printf("%s/ydl-XXXXXX", tmp && strlen(tmp) < 50 ? tmp : "/tmp");
    int r;

    if (!dir || !mkdtemp(dir))
        return err_sys(err, "make a directory like '%s'", dir ? dir : "");
    x->o.dir = dir;
    r = loop_new(&x->o.loop, err);
    if (r == 0) {
        r = loop_run(x->o.loop, deployment_work, x, true);
        loop_free(x->o.loop);
    }
    (void)path_remove(dir, NULL);
    return r;
}

static int native_deployment_run(struct cli *c, struct err *err)
{
    const struct deployment_args *a = c->args;
    struct deployment_call x = { .cli = c, .err = err };
    AUTO_FREE char *program = NULL;
    AUTO_FREE char *listen = NULL;
    const char *host = NULL, *port = NULL;
    int r = native_haproxy_find(a->haproxy, &program, err);

    if (r == 0)
        r = task_variable(DEPLOYMENT_PLAN_ENV, &x.o.plan, err);
    if (r == 0)
        r = task_variable("YDL_SOCKET", &x.o.socket, err);
    if (r == 0)
        r = task_variable("YDL_HOST", &host, err);
    if (r == 0)
        r = task_variable("YDL_PORT", &port, err);
    if (r < 0)
        return r;
    listen = str_printf("%s:%s", a->host ? a->host : host, port);
    if (!listen)
        return err_oom(err);
    x.o.listen = listen;
    x.o.haproxy = program;
    x.o.note = deployment_note;
    x.o.find = deployment_find;
    x.o.user = &x;
    (void)signal(SIGPIPE, SIG_IGN);
    return deployment_in_dir(&x, err);
}

/* clang-format off */
const struct cli_verb verb_native_deployment = {
    .name = "deployment", .summary = "run the gateway of a deployment (started by ydl serve)",
    .hidden = true, .run = native_deployment_run,
    CLI_OPTS(struct deployment_args,
        { "haproxy", 0, CLI_TEXT, offsetof(struct deployment_args, haproxy), NULL, "PATH",
          "the HAProxy to run" },
        { "host", 0, CLI_TEXT, offsetof(struct deployment_args, host), NULL, "ADDRESS",
          "numeric address to listen on", .fallback = "the task's" }),
};
/* clang-format on */

/* ---- a replica's task ---- */

struct replica_call {
    struct replica_task t;
    json_t *version;
    struct err *err;
};

static int replica_work(void *arg)
{
    struct replica_call *x = arg;

    return replica_begin(&x->t, &x->version, x->err);
}

/* What it is to serve, its key, and its announcement. */
static int replica_ask(const char *address, const char *key_file, json_t **ret, struct err *err)
{
    struct replica_call x = { .t = { .address = address, .key_file = key_file }, .err = err };
    int r = task_variable("YDL_SOCKET", &x.t.socket, err);

    if (r == 0)
        r = task_variable("YDL_ROLE", &x.t.role, err);
    if (r == 0)
        r = task_variable("YDL_INDEX", &x.t.index, err);
    if (r == 0)
        r = task_variable("YDL_ATTEMPT", &x.t.attempt, err);
    if (r == 0)
        r = task_variable(DEPLOYMENT_PLAN_ENV, &x.t.plan, err);
    if (r == 0)
        r = loop_new(&x.t.loop, err);
    if (r < 0)
        return r;
    r = loop_run(x.t.loop, replica_work, &x, true);
    loop_free(x.t.loop);
    *ret = x.version;
    return r;
}

/* Words and their values, where there is one. */
static int replica_words(struct strs *words, const char *const *options, struct err *err)
{
    for (; *options; options += 2)
        if (options[1] && (strs_add(words, options[0]) < 0 || strs_add(words, options[1]) < 0))
            return err_oom(err);
    return 0;
}

/* Says where it will listen and becomes the server, which knows nothing of jobs. */
static int replica_become(struct cli *c, const char *host, const char *port, const char *key_file,
                          const json_t *version, struct err *err)
{
    AUTO_FREE char *number = str_printf("%lld", (long long)json_int_or(version, "version", 0));
    const char *path = json_string_value(json_object_get(version, "path"));
    const char *const options[] = { "--host",
                                    host,
                                    "--port",
                                    port,
                                    "--name",
                                    json_string_value(json_object_get(version, "model")),
                                    "--model-version",
                                    number,
                                    "--lib",
                                    json_string_value(json_object_get(version, "library")),
                                    "--key-file",
                                    key_file,
                                    NULL };
    AUTO_STRS words = { 0 };
    int r = number && strs_add(&words, "ydl-native") == 0 && strs_add(&words, "serve") == 0
                ? replica_words(&words, options, err)
                : err_oom(err);

    for (size_t i = 0; r == 0 && i < c->n_operands; i++)
        r = strs_add(&words, c->operands[i]) < 0 ? err_oom(err) : 0;
    if (r == 0 && strs_add(&words, path) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
    execv("/proc/self/exe", words.v);
    return err_sys(err, "become the model server");
}

/* In the directory that ends with the job. Each start of this replica writes the same file. */
static int replica_key_path(char **ret, struct err *err)
{
    const char *dir = NULL, *role = NULL, *index = NULL;
    int r = task_variable("TMPDIR", &dir, err);

    if (r == 0)
        r = task_variable("YDL_ROLE", &role, err);
    if (r == 0)
        r = task_variable("YDL_INDEX", &index, err);
    if (r < 0)
        return r;
    *ret = str_printf("%s/replica-%s-%s.key", dir, role, index);
    return *ret ? 0 : err_oom(err);
}

static int native_replica_run(struct cli *c, struct err *err)
{
    const char *host = NULL, *port = NULL;
    AUTO_FREE char *address = NULL;
    AUTO_FREE char *key_file = NULL;
    AUTO_JSON *version = NULL;
    int r = task_variable("YDL_HOST", &host, err);

    if (r == 0)
        r = task_variable("YDL_PORT", &port, err);
    if (r == 0 && !(address = str_printf("%s:%s", host, port)))
        r = err_oom(err);
    if (r == 0)
        r = replica_key_path(&key_file, err);
    if (r == 0)
        r = replica_ask(address, key_file, &version, err);
    return r < 0 ? r : replica_become(c, host, port, key_file, version, err);
}

const struct cli_verb verb_native_replica = {
    .name = "replica",
    .summary = "serve what a deployment's plan says (started by ydl serve)",
    .hidden = true,
    .operands = "[-- ARGUMENT…]",
    .most = CLI_ANY,
    .run = native_replica_run,
};
