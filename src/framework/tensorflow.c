/* tensorflow.c - TensorFlow's TF_CONFIG.
 *
 * Every task gets the same list of addresses and its own place in it. The evaluator gets it too but
 * is in no list: nobody talks to it. Which tasks end by themselves depends on the roles: with
 * parameter servers and a chief (TensorFlow 2) only the chief does; with clients, which use servers
 * that others run, only they do; otherwise chief and workers. Roles that never end by themselves
 * run nothing but a server, so ydl-native can play them. */
#include "framework/frameworks.h"
#include "framework/native.h"
#include "framework/task.h"

#include <stdio.h>

static const struct framework_role roles[] = {
    { .name = "chief",
      .decides = true,
      .ranked = true,
      .one = true,
      .ports = 1,
      .doc = "coordinates and saves; optional: worker 0 does it by default" },
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains" },
    { .name = "ps", .ports = 1, .doc = "a parameter server; stopped at the end" },
    { .name = "evaluator",
      .side = true,
      .one = true,
      .doc = "evaluates checkpoints; not in the lists of addresses; stopped at the end" },
    { .name = "client",
      .decides = true,
      .doc = "a script that uses workers and ps as its servers; not in the lists of addresses" },
    { 0 },
};

static const char *const listed[] = { "chief", "worker", "ps" };

#define READY_MS 120000 /* a server that does not listen by then never will */

static bool tensorflow_present(const struct spec *s, const char *name)
{
    const struct spec_role *r = spec_role(s, name);

    return r && r->count > 0;
}

/* The server's command, and what others need to know when they wait for it. */
static int make_native(const struct spec *s, struct spec_role *role)
{
    static const char *const plain[] = { "tensorflow", NULL };
    char threads[32];
    const char *const limited[] = { "tensorflow", threads, NULL };
    struct native_words w = { .v = role->cpus > 0 ? limited : plain };

    (void)snprintf(threads, sizeof(threads), "--intra-op=%u", role->cpus);
    if (role->ready.kind == SPEC_READY_NONE)
        role->ready = (struct spec_ready){ .kind = SPEC_READY_PORT, .timeout = READY_MS };
    return native_role(role, &w, native_beside(s));
}

/* A worker that decides runs the user's code, unless there is none: then the job is its servers.
 * Without a command nobody else could be a server. */
static int choose_native(struct spec *s)
{
    static const char *const names[] = { "ps", "worker" };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++) {
        struct spec_role *role = spec_role(s, names[i]);
        bool serves = role && (i == 0 || role->decides == 0 || native_beside(s)->n == 0);

        if (!serves || role->count == 0 || role->command.n > 0 || s->native == SPEC_NATIVE_NO)
            continue;
        if (s->native == SPEC_NATIVE_YES || (s->command.n == 0 && native_beside(s)->n > 0))
            r = make_native(s, role);
    }
    return r;
}

/* Clients would wait for servers themselves, but say so every ten seconds. */
static int order_client(struct spec *s)
{
    static const char *const names[] = { "ps", "worker" };
    struct spec_role *client = spec_role(s, "client");
    int r = 0;

    if (!client || client->after.n > 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++)
        if (tensorflow_present(s, names[i]) && native_is(spec_role(s, names[i])))
            r = spec_add_after(&client->after, names[i], SPEC_AFTER_READY);
    return r;
}

static int tensorflow_complete(struct spec *s, struct spec_faults *f)
{
    struct spec_role *worker = spec_role(s, "worker");
    bool led =
        tensorflow_present(s, "client") || (tensorflow_present(s, "ps") && spec_role(s, "chief"));
    int r;

    (void)f;
    if (led && worker && worker->decides < 0)
        worker->decides = 0;
    r = choose_native(s);
    return r < 0 ? r : order_client(s);
}

/* ["h:p", …] */
static json_t *addresses(const struct cluster_role *c)
{
    AUTO_JSON *list = json_array();
    char address[TASK_ADDRESS_MAX];

    for (size_t i = 0; i < c->n; i++)
        if (json_array_append_new(list, json_text(task_address(&c->tasks[i], address))) < 0)
            return NULL;
    return take(list);
}

/* The document up to the task's own part: '{"cluster":{"worker":["h:p"]},"task":'. Without the
 * closing brace: tensorflow_task() writes the rest behind it, so that the list, which is long in a
 * large job, is encoded once. */
static int tensorflow_common(const struct framework_task *t, char **ret, struct err *err)
{
    AUTO_JSON *all = json_object();
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        const struct cluster_role *c = cluster_role(t->cluster, listed[i]);

        if (c && c->n > 0 && json_object_set_new(all, listed[i], addresses(c)) < 0)
            return err_oom(err);
    }
    text = json_dumps(all, JSON_COMPACT);
    *ret = text ? str_printf("{\"cluster\":%s,\"task\":", text) : NULL;
    return *ret ? 0 : err_oom(err);
}

static int tensorflow_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);

    if (!framework_role(t->framework, t->role->name) || str_eq(t->role->name, "client"))
        return 0;
    env_printf(&e, "TF_CONFIG", "%s{\"type\":\"%s\",\"index\":%u}}", t->common, t->role->name,
               t->rank);
    return env_end(&e, err);
}

const struct framework framework_tensorflow = {
    .name = "tensorflow",
    .summary = "TensorFlow 2 and estimators, by TF_CONFIG",
    .doc = "Workers (-n), parameter servers (role 'ps', -s), and a chief and an evaluator if the "
           "job file names them, get TF_CONFIG. The job succeeds when chief and workers succeed; "
           "with a chief and parameter servers, when the chief does; then the other tasks are "
           "stopped. If the evaluator must finish its last round, give it 'decides: true', and the "
           "chief or the workers too. With parameter servers a failed task is restarted alone, "
           "otherwise all tasks are. A role 'client' is a script that uses the others as its "
           "servers and alone decides the job's success; it gets no TF_CONFIG but has {hosts:ps} "
           "and {hosts:worker}. With 'native: yes' parameter servers, and workers that do not "
           "decide, are ydl-native and run no Python; with 'native: auto' only those that have no "
           "command. gRPC obeys http_proxy: unset it, or set no_proxy. For scripts that take "
           "--ps_hosts and --job_name see tensorflow-flags.",
    .aliases = (const char *const[]){ "tf", "tf2", NULL },
    .proven = true,
    .roles = roles,
    .server_role = "ps",
    .native = true,
    .names = true,
    .restart = SPEC_RESTART_GANG,
    .restart_serving = SPEC_RESTART_TASK, /* a worker comes back to its parameter servers */
    .port = FRAMEWORK_PORT_SHARE,         /* gRPC sets SO_REUSEPORT */
    .complete = tensorflow_complete,
    .common = tensorflow_common,
    .task = tensorflow_task,
};
