/* native_deployment.c - `ydl-native deployment`: what the gateway's task of a deployment runs. Jobs
 * of `ydl serve` start it; what it needs is in the task's environment. */
#include "base/path.h"
#include "base/str.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "native/backend_find.h"
#include "native/haproxy_find.h"
#include "native/model_library.h"
#include "native/python.h"
#include "serve/deployment/controller.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/gateway_reports.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct deployment_args {
    const char *haproxy, *host;
    bool direct;
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
    const struct backend_places nothing_named = { 0 };
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
        r = backend_find(library, &nothing_named, &path, err);
    return r < 0                                                          ? r
           : json_object_set_new(version, "library", json_text(path)) < 0 ? err_oom(err)
                                                                          : 0;
}

static int deployment_work(void *arg)
{
    struct deployment_call *x = arg;

    return controller_run(&x->o, x->err);
}

/* HAProxy may have travelled with what it loads. */
static int use_libraries(const char *home, struct err *err)
{
    AUTO_FREE char *dir = path_join(home, DEPLOYMENT_HAPROXY_LIB);

    if (!dir)
        return err_oom(err);
    if (access(dir, X_OK) < 0)
        return 0;
    return setenv("LD_LIBRARY_PATH", dir, 1) < 0 ? err_sys(err, "set LD_LIBRARY_PATH") : 0;
}

/* Its directory is in the job's own, which goes with the job however this ends. That path may be
 * long, and those of sockets are short: it becomes our working directory, and HAProxy's, and gets a
 * short name by that. */
#define HERE "/proc/self/cwd"

static int deployment_in_dir(struct deployment_call *x, struct err *err)
{
    const char *tmp = NULL;
    int r = native_task_variable("TMPDIR", &tmp, err);
    AUTO_FREE char *dir = r == 0 ? str_printf("%s/ydl-XXXXXX", tmp) : NULL;
    AUTO_FREE char *home = getcwd(NULL, 0);

    if (r == 0 && !home)
        return err_sys(err, "find the working directory");
    x->o.home = home;
    if (r == 0)
        r = use_libraries(home, err);

    if (r < 0)
        return r;
    if (!dir || !mkdtemp(dir) || chdir(dir) < 0)
        return err_sys(err, "make a directory like '%s'", dir ? dir : "");
    x->o.dir = HERE;
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
    const char *host = NULL, *port = NULL, *index = NULL;
    int64_t n = 0;
    int r = a->direct ? 0 : haproxy_find(a->haproxy, &program, err);

    if (r == 0)
        r = native_task_variable(DEPLOYMENT_PLAN_ENV, &x.o.plan, err);
    if (r == 0)
        r = native_task_variable("YDL_SOCKET", &x.o.socket, err);
    if (r == 0)
        r = native_task_variable("YDL_HOST", &host, err);
    if (r == 0 && !a->direct)
        r = native_task_variable("YDL_PORT", &port, err);
    if (r == 0)
        r = native_task_variable("YDL_INDEX", &index, err);
    if (r == 0 && str_to_i64(index, 0, GATEWAYS_MOST - 1, &n) < 0)
        r = err_set(err, -EINVAL, "a deployment has no gateway '%s'", index);
    if (r < 0)
        return r;
    if (a->host)
        host = a->host;
    listen = str_printf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port ? port : "0");
    if (!listen)
        return err_oom(err);
    x.o.listen = listen;
    x.o.index = (unsigned)n;
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
          "numeric address to listen on", .fallback = "the task's" },
        { "direct", 0, CLI_FLAG, offsetof(struct deployment_args, direct), NULL, NULL,
          "run no gateway: clients ask the replicas" }),
};
/* clang-format on */
