/* tensorflow_flags.c - TensorFlow 1 scripts that learn their place from four arguments. */
#include "framework/frameworks.h"
#include "framework/native.h"
#include "framework/task.h"

#include <string.h>

static const struct framework_role roles[] = {
    { .name = "ps", .ports = 1, .doc = "a parameter server; stopped at the end" },
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains; 0 is chief" },
    { 0 },
};

/* A parameter server runs nothing of the user's. */
static int tensorflow_flags_complete(struct spec *s, struct spec_faults *f)
{
    static const char *const words[] = {
        "tensorflow", "--job-name",    "ps",    "--task-index",          "{rank}",
        "--job",      "ps={hosts:ps}", "--job", "worker={hosts:worker}", NULL
    };
    const struct native_words w = { .v = words };
    struct spec_role *ps = spec_role(s, "ps");

    (void)f;
    if (!ps || ps->count == 0 || ps->command.n > 0 || s->native != SPEC_NATIVE_YES)
        return 0;
    return native_role(ps, &w, native_beside(s));
}

/* The arguments that are the same for all: --ps_hosts= and --worker_hosts=, a line each. Without
 * parameter servers there is no --ps_hosts: scripts split it at commas and would find one server
 * with an empty name. */
static int tensorflow_flags_common(const struct framework_task *t, char **ret, struct err *err)
{
    static const char *const lists[] = { "ps", "worker" };
    AUTO_BUF b = { .max = 4 * MIB };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(lists) && r == 0; i++) {
        if (task_count(t, lists[i]) == 0)
            continue;
        r = buf_printf(&b, "--%s_hosts=", lists[i]);
        if (r == 0)
            r = task_hosts(t, lists[i], ",", &b);
        if (r == 0)
            r = buf_add_u8(&b, '\n');
    }
    if (r < 0)
        return err_code(err, r, "addresses for tensorflow");
    *ret = buf_text(&b) ? strdup(buf_text(&b)) : NULL;
    return *ret ? 0 : err_oom(err);
}

static int tensorflow_flags_task(const struct framework_task *t, struct err *err)
{
    int r;

    if (!framework_role(t->framework, t->role->name) || native_is(t->role))
        return 0;
    r = strs_split(t->argv, t->common, "\n");
    if (r == 0)
        r = strs_printf(t->argv, "--job_name=%s", t->role->name);
    if (r == 0)
        r = strs_printf(t->argv, "--task_index=%u", t->rank);
    return r < 0 ? err_oom(err) : 0;
}

const struct framework framework_tensorflow_flags = {
    .name = "tensorflow-flags",
    .summary = "TensorFlow 1 scripts with --ps_hosts, --worker_hosts, --job_name, --task_index",
    .doc = "The four arguments are appended to the command of every worker (-n) and parameter "
           "server (role 'ps', -s). The job succeeds when all workers succeed; then the parameter "
           "servers are stopped. With 'native: yes' these are ydl-native. A failed task is "
           "restarted alone, on the same port. Scripts with other names for these arguments can "
           "use framework 'none' and {hosts:ps}, {hosts:worker}, {role} and {rank}.",
    .aliases = (const char *const[]){ "tf1", "tf-flags", "tensorflow1", NULL },
    .proven = true,
    .roles = roles,
    .server_role = "ps",
    .native = true,
    .names = true,
    .restart = SPEC_RESTART_TASK,
    .port = FRAMEWORK_PORT_SHARE,
    .complete = tensorflow_flags_complete,
    .common = tensorflow_flags_common,
    .task = tensorflow_flags_task,
};
