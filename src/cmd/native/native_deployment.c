/* native_deployment.c - `ydl-native deployment` and `ydl-native replica`: what the tasks of a
 * deployment run. Jobs of `ydl serve` start them; what they need is in the task's environment. */
#include "base/path.h"
#include "base/str.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "serve/deployment/controller.h"
#include "serve/deployment/deployment_plan.h"

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
    struct loop *loop;
    const char *socket;
    char *key;
    struct err *err;
};

static int replica_work(void *arg)
{
    const struct replica_call *x = arg;

    return controller_announce(x->loop, x->socket, x->key, x->err);
}

/* serve/at/a/0/2/10.0.0.7:9000 */
static int replica_announce(const char *host, const char *port, struct err *err)
{
    const char *role = NULL, *index = NULL, *attempt = NULL;
    struct replica_call x = { .err = err };
    int r = task_variable("YDL_SOCKET", &x.socket, err);

    if (r == 0)
        r = task_variable("YDL_ROLE", &role, err);
    if (r == 0)
        r = task_variable("YDL_INDEX", &index, err);
    if (r == 0)
        r = task_variable("YDL_ATTEMPT", &attempt, err);
    if (r < 0)
        return r;
    x.key = str_printf(DEPLOYMENT_AT "%s/%s/%s/%s:%s", role, index, attempt, host, port);
    r = x.key ? loop_new(&x.loop, err) : err_oom(err);
    if (r == 0) {
        r = loop_run(x.loop, replica_work, &x, true);
        loop_free(x.loop);
    }
    free(x.key);
    return r;
}

/* Says where it will listen and becomes the server, which knows nothing of jobs. */
static int native_replica_run(struct cli *c, struct err *err)
{
    const char *host = NULL, *port = NULL;
    AUTO_STRS words = { 0 };
    int r = task_variable("YDL_HOST", &host, err);

    if (r == 0)
        r = task_variable("YDL_PORT", &port, err);
    if (r == 0)
        r = replica_announce(host, port, err);
    if (r < 0)
        return r;
    if (strs_add(&words, "ydl-native") < 0 || strs_add(&words, "serve") < 0 ||
        strs_add(&words, "--host") < 0 || strs_add(&words, host) < 0 ||
        strs_add(&words, "--port") < 0 || strs_add(&words, port) < 0)
        return err_oom(err);
    for (size_t i = 0; i < c->n_operands; i++)
        if (strs_add(&words, c->operands[i]) < 0)
            return err_oom(err);
    execv("/proc/self/exe", words.v);
    return err_sys(err, "become the model server");
}

const struct cli_verb verb_native_replica = {
    .name = "replica",
    .summary = "serve a model in a deployment (started by ydl serve)",
    .hidden = true,
    .operands = "[-- ARGUMENT…]",
    .most = CLI_ANY,
    .run = native_replica_run,
};
