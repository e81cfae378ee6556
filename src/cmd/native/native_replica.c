/* native_replica.c - `ydl-native replica`: what a replica's task of a deployment runs. Jobs of
 * `ydl serve` start it; what it needs is in the task's environment. */
#include "base/str.h"
#include "cmd/native/native_verbs.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/replica.h"

#include <unistd.h>

struct replica_call {
    struct cli *cli;
    struct replica_task t;
    json_t *version;
    struct err *err;
};

static void replica_note(void *user, const char *text)
{
    native_note(((const struct replica_call *)user)->cli, text);
}

static int replica_work(void *arg)
{
    struct replica_call *x = arg;

    return replica_begin(&x->t, &x->version, x->err);
}

/* What it is to serve, its key, and its announcement. */
static int replica_ask(struct cli *c, const char *address, const char *key_file, json_t **ret,
                       struct err *err)
{
    struct replica_call x = { .cli = c,
                              .t = { .address = address, .key_file = key_file },
                              .err = err };
    int r = native_task_variable("YDL_SOCKET", &x.t.socket, err);

    x.t.note = replica_note;
    x.t.user = &x;

    if (r == 0)
        r = native_task_variable("YDL_ROLE", &x.t.role, err);
    if (r == 0)
        r = native_task_variable("YDL_INDEX", &x.t.index, err);
    if (r == 0)
        r = native_task_variable("YDL_ATTEMPT", &x.t.attempt, err);
    if (r == 0)
        r = native_task_variable(DEPLOYMENT_PLAN_ENV, &x.t.plan, err);
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

/* Says where it will listen and becomes the server, which knows nothing of jobs.
 *
 * exec and not a child: the agent's signals, limits and exit status are the server's, and locks on
 * open files (the version in the node's cache) pass on. */
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
                                    json_is_true(json_object_get(version, "open")) ? NULL
                                                                                   : key_file,
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
    int r = native_task_variable("TMPDIR", &dir, err);

    if (r == 0)
        r = native_task_variable("YDL_ROLE", &role, err);
    if (r == 0)
        r = native_task_variable("YDL_INDEX", &index, err);
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
    int r = native_task_variable("YDL_HOST", &host, err);

    if (r == 0)
        r = native_task_variable("YDL_PORT", &port, err);
    if (r == 0 && !(address = str_printf("%s:%s", host, port)))
        r = err_oom(err);
    if (r == 0)
        r = replica_key_path(&key_file, err);
    if (r == 0)
        r = replica_ask(c, address, key_file, &version, err);
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
