/* tensorflow.c - TensorFlow's TF_CONFIG.
 *
 * Every task gets the same list of addresses and its own place in it. The evaluator gets it too but
 * stands in no list: nobody talks to it. Who ends by itself depends on what is there: with
 * parameter servers and a chief (TensorFlow 2) only the chief does; otherwise chief and workers. */
#include "framework/frameworks.h"
#include "framework/task.h"

static const struct framework_role roles[] = {
    { .name = "chief",
      .decides = true,
      .ranked = true,
      .one = true,
      .ports = 1,
      .doc = "coordinates and saves; without it, worker 0 does" },
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains" },
    { .name = "ps", .ports = 1, .doc = "a parameter server; is stopped at the end" },
    { .name = "evaluator",
      .side = true,
      .one = true,
      .doc = "evaluates checkpoints; is in no list of addresses; stopped at the end" },
    { 0 },
};

static const char *const listed[] = { "chief", "worker", "ps" };

static int complete(struct spec *s, struct spec_faults *f)
{
    struct spec_role *worker = spec_role(s, "worker");
    const struct spec_role *ps = spec_role(s, "ps");
    bool served = ps && ps->count > 0;

    (void)f;
    if (served && spec_role(s, "chief") && worker && worker->decides < 0)
        worker->decides = 0;
    return 0;
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

/* The document up to the task's own part: '{"cluster":{"worker":["h:p"]},"task":'. */
static int common(const struct framework_task *t, char **ret, struct err *err)
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

static int task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);

    if (!framework_role(t->framework, t->role->name))
        return 0;
    env_printf(&e, "TF_CONFIG", "%s{\"type\":\"%s\",\"index\":%u}}", t->common, t->role->name,
               t->rank);
    return env_end(&e, err);
}

static const char *const aliases[] = { "tf", "tf2", NULL };

const struct framework framework_tensorflow = {
    .name = "tensorflow",
    .summary = "TensorFlow 2 and estimators, by TF_CONFIG",
    .doc = "Workers (-n), parameter servers (role 'ps', -s), and where the job file names them a "
           "chief and an evaluator, get TF_CONFIG. The job has succeeded when chief and workers "
           "have; with a chief and parameter servers, when the chief has; the others are stopped. "
           "An evaluator that has to finish its last round says 'decides: true', and so does the "
           "chief or the workers then. With parameter servers a restart is of one task, otherwise "
           "of the gang. gRPC obeys http_proxy: unset it, or set no_proxy. For scripts that take "
           "--ps_hosts and --job_name see tensorflow-flags.",
    .aliases = aliases,
    .roles = roles,
    .worker_role = "worker",
    .server_role = "ps",
    .restart = SPEC_RESTART_GANG,
    .restart_serving = SPEC_RESTART_TASK, /* a worker comes back to its parameter servers */
    .port = FRAMEWORK_PORT_SHARE,         /* gRPC sets SO_REUSEPORT */
    .complete = complete,
    .common = common,
    .task = task,
};
