/* lightgbm.c - LightGBM over sockets: everybody gets everybody's address and finds itself there.
 *
 * The lightgbm program takes arguments of the form key=value and gets them; a Python script reads
 * the variables and hands them on as parameters. A process finds its rank by looking for its own
 * address and port in the list: so there are numeric addresses in it, and two tasks of one machine
 * differ by their ports. */
#include "framework/frameworks.h"
#include "framework/task.h"

#include <string.h>

static int lightgbm_common(const struct framework_task *t, char **ret, struct err *err)
{
    AUTO_BUF b = { .max = 4 * MIB };
    int r = task_hosts(t, "worker", ",", &b);

    if (r < 0)
        return err_code(err, r, "addresses for lightgbm");
    *ret = buf_text(&b) ? strdup(buf_text(&b)) : NULL;
    return *ret ? 0 : err_oom(err);
}

static bool lightgbm_is_program(const struct strs *argv)
{
    return argv->n > 0 && str_eq(str_behind(argv->v[0], '/'), "lightgbm");
}

/* Adds key=value unless the user has given the key. */
static int argument(const struct framework_task *t, const char *key, const char *value)
{
    size_t n = strlen(key);

    for (size_t i = 1; i < t->argv->n; i++)
        if (strncmp(t->argv->v[i], key, n) == 0 && t->argv->v[i][n] == '=')
            return 0;
    return strs_printf(t->argv, "%s=%s", key, value);
}

static int lightgbm_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);
    AUTO_FREE char *size = NULL, *port = NULL;
    struct world w;

    if (!world_of(t, &w))
        return 0;
    size = str_printf("%u", w.size);
    port = str_printf("%u", w.self->port[0]);
    if (!size || !port)
        return err_oom(err);
    env_text(&e, "LIGHTGBM_MACHINES", t->common);
    env_text(&e, "LIGHTGBM_NUM_MACHINES", size);
    env_text(&e, "LIGHTGBM_LOCAL_LISTEN_PORT", port);
    if (e.r == 0 && lightgbm_is_program(t->argv) &&
        (argument(t, "machines", t->common) < 0 || argument(t, "num_machines", size) < 0 ||
         argument(t, "local_listen_port", port) < 0))
        return err_oom(err);
    return env_end(&e, err);
}

const struct framework framework_lightgbm = {
    .name = "lightgbm",
    .summary = "LightGBM over sockets: the lightgbm program, or a script",
    .doc = "Workers (-n) get LIGHTGBM_MACHINES (host:port of all), LIGHTGBM_NUM_MACHINES and "
           "LIGHTGBM_LOCAL_LISTEN_PORT, for a script to pass on as the parameters machines, "
           "num_machines and local_listen_port. If the command is 'lightgbm' itself, those that it "
           "does not set are appended to it as key=value. The job succeeds when all workers "
           "succeed; a restart restarts all of them, because LightGBM cannot take a worker back.",
    .aliases = (const char *const[]){ "lgbm", "lgb", NULL },
    .proven = true,
    .roles = task_listeners,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_RELEASE,
    .common = lightgbm_common,
    .task = lightgbm_task,
};
