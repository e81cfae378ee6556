/* framework_roles.c - what the user did not say; see framework_complete() in framework.h.
 *
 * The order matters: first all roles, then the flags that are meant for them, then what the
 * framework knows, then what its table says, and last what follows from all of these. */
#include "framework/framework_roles.h"
#include "job/spec/spec.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define READY_MS 120000 /* a framework's own server that does not listen by then never will */

#define KEY_MAX 96
static const char *framework_roles_key_of(const struct spec_role *r, const char *key,
                                          char out[KEY_MAX])
{
    (void)snprintf(out, KEY_MAX, "roles.%s.%s", r->name, key);
    return out;
}

/* Faults are collected and the checks continue; only memory stops it. */
static int go_on(int r)
{
    return r == -EINVAL ? 0 : r;
}

/* ---- roles ---- */

static bool framework_roles_present(const struct spec *s, const char *name)
{
    const struct spec_role *r = name ? spec_role(s, name) : NULL;

    return r && r->count > 0;
}

static bool any_ranked(const struct framework *fw, const struct spec *s)
{
    for (const struct framework_role *row = fw->roles; row->name; row++)
        if (row->ranked && framework_roles_present(s, row->name))
            return true;
    return false;
}

/* How many servers there will be; -1: nobody said, so none. In this order: -s, the count of the
 * role in the job file, as many as workers where the framework has it so. */
static int64_t servers_wanted(const struct framework *fw, const struct spec *s)
{
    const struct spec_role *servers = fw->server_role ? spec_role(s, fw->server_role) : NULL;
    const struct spec_role *workers = spec_role(s, FRAMEWORK_WORKER);

    if (s->working.servers >= 0)
        return s->working.servers;
    if (servers)
        return servers->count;
    if (!fw->as_many_servers)
        return -1;
    if (s->working.workers >= 0)
        return s->working.workers;
    return workers ? workers->count : 1;
}

/* How many tasks of this row there should be; -1: as many as there are. */
static int64_t wanted(const struct framework *fw, const struct spec *s,
                      const struct framework_role *row)
{
    bool there = spec_role(s, row->name) != NULL;

    if (str_eq(row->name, FRAMEWORK_WORKER))
        return s->n_roles == 0 && s->working.workers < 0 ? 1 : s->working.workers;
    if (fw->server_role && str_eq(row->name, fw->server_role))
        return servers_wanted(fw, s);
    if (there)
        return -1;
    switch (row->make) {
    case FRAMEWORK_ALWAYS:
        return 1;
    case FRAMEWORK_SERVING:
        return servers_wanted(fw, s) > 0 ? 1 : -1;
    case FRAMEWORK_DRIVER:
        return s->command.n > 0 ? 1 : -1;
    case FRAMEWORK_ASKED:
        break;
    }
    return -1;
}

/* Counts are found out for all rows before a role is made, for making one changes the answers. */
static int make_roles(const struct framework *fw, struct spec *s)
{
    int64_t counts[16];
    size_t n = 0;
    int r = 0;

    for (const struct framework_role *row = fw->roles; row->name && n < COUNT_OF(counts); row++)
        counts[n++] = wanted(fw, s, row);
    for (size_t i = 0; i < n && r == 0; i++)
        if (counts[i] > 0 || (counts[i] == 0 && spec_role(s, fw->roles[i].name)))
            r = spec_role_count(s, fw->roles[i].name, counts[i]);
    return r;
}

static int framework_roles_words(struct spec_role *role, const char *const *v, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = strs_add(&role->command, v[i]);
    return r;
}

bool framework_board_copies(const struct spec *s)
{
    return s->tensorboard && spec_is_remote(s->tensorboard);
}

/* TensorBoard belongs to no framework: a side role, on any job that names a directory. It reads
 * files on its own machine; the agent copies others there. */
static int make_tensorboard(struct spec *s)
{
    const char *logs = framework_board_copies(s) ? FRAMEWORK_BOARD_COPY : s->tensorboard;
    const char *const command[] = { "tensorboard", "--logdir", logs,     "--host",
                                    "{host}",      "--port",   "{port}", "--reload_multifile",
                                    "true" };
    struct spec_role *r = s->tensorboard ? spec_role(s, FRAMEWORK_BOARD) : NULL;
    int e = 0;

    if (!s->tensorboard)
        return 0;
    if (!r)
        e = spec_add_role(s, FRAMEWORK_BOARD, &r);
    if (e < 0)
        return e;
    r->side = r->side < 0 ? 1 : r->side;
    r->ports = r->ports < 0 ? 1 : r->ports;
    return r->command.n > 0 ? 0 : framework_roles_words(r, command, COUNT_OF(command));
}

static const char *nearest_row(const struct framework *fw, const struct spec *s)
{
    const char *names[SPEC_ROLES_MAX], *near = NULL;
    size_t n = 0;

    for (; n < s->n_roles && n < COUNT_OF(names); n++)
        names[n] = s->roles[n].name;
    for (const struct framework_role *row = fw->roles; row->name && !near; row++)
        if (row->ranked)
            near = str_nearest(row->name, names, n);
    return near;
}

static int check_roles(const struct framework *fw, const struct spec *s, struct spec_faults *f)
{
    bool first = f->n == 0; /* a role may be missing because its name or key is misspelt */
    const char *near;
    int r = 0;

    if (s->working.servers > 0 && !fw->server_role)
        r = go_on(spec_fault(f, 0, "--servers", "framework '%s' has no servers", fw->name));
    if (r == 0 && s->native == SPEC_NATIVE_YES && !fw->native)
        r = go_on(spec_fault(f, 0, "native", "framework '%s' has no native servers", fw->name));
    if (r < 0 || !first || fw->any_roles || any_ranked(fw, s))
        return r;
    near = nearest_row(fw, s);
    return go_on(spec_fault(f, 0, "roles", "framework '%s' needs a role '%s'%s%s%s", fw->name,
                            FRAMEWORK_WORKER, near ? " (did you mean '" : "", near ? near : "",
                            near ? "'?)" : ""));
}

/* ---- what --mem, --cpus, --gpus and --procs are for ---- */

static void apply_flags(const struct spec *s, struct spec_role *r, bool one)
{
    unsigned procs = r->procs;

    spec_working_role_apply(s, r);
    if (one) /* a chief is one process, whatever the workers are */
        r->procs = procs;
}

static void apply_to_ranked(const struct framework *fw, struct spec *s)
{
    for (const struct framework_role *row = fw->roles; row->name; row++) {
        struct spec_role *r = row->ranked ? spec_role(s, row->name) : NULL;

        if (r)
            apply_flags(s, r, row->one);
    }
}

/* ---- commands, ports, order ---- */

int complete_command(struct spec_role *role, const struct framework_role *row, bool *ret)
{
    int r = 0;

    *ret = row->command && role->command.n == 0;
    if (*ret)
        r = strs_split(&role->command, row->command, " ");
    return r;
}

/* Whether a text has the variable and not just its literal form with doubled braces. */
static bool mentions(const char *text, const char *variable)
{
    for (const char *at = text; (at = strstr(at, variable)) != NULL; at++)
        if (at == text || at[-1] != '{')
            return true;
    return false;
}

static bool words_mention(const struct strs *command, const char *variable)
{
    for (size_t i = 0; i < command->n; i++)
        if (mentions(command->v[i], variable))
            return true;
    return false;
}

static bool env_mentions(const struct spec_vars *env, const char *variable)
{
    for (size_t i = 0; i < env->n; i++)
        if (mentions(env->v[i].value, variable))
            return true;
    return false;
}

static const struct strs *command_of(const struct spec *s, const struct spec_role *r)
{
    return r->command.n > 0 ? &r->command : &s->command;
}

/* In any text that is expanded for a task of the role. */
static bool role_mentions(const struct spec *s, const struct spec_role *r, const char *variable)
{
    return words_mention(command_of(s, r), variable) || env_mentions(&r->env, variable) ||
           env_mentions(&r->exports, variable) || env_mentions(&s->env, variable);
}

/* A task needs as many ports as it asks for by number, and one when it asks for its own, or anybody
 * for one of its role. A port is reserved only for those who use one: reserving costs time on each
 * node. */
static int needs_ports(const struct spec *s, const struct spec_role *r)
{
    char other[KEY_MAX];

    for (int k = CLUSTER_PORTS_MAX; k > 0; k--) {
        (void)snprintf(other, sizeof(other), "{port:%d}", k - 1);
        if (role_mentions(s, r, other))
            return k;
    }
    if (role_mentions(s, r, "{port}"))
        return 1;
    (void)snprintf(other, sizeof(other), "{port:%s:", r->name);
    if (words_mention(&s->command, other) || env_mentions(&s->env, other))
        return 1;
    for (size_t i = 0; i < s->n_roles; i++)
        if (words_mention(&s->roles[i].command, other) || env_mentions(&s->roles[i].env, other))
            return 1;
    return 0;
}

static int order(struct spec *s, struct spec_role *r, const struct framework_role *row)
{
    struct spec_role *first = row->after ? spec_role(s, row->after) : NULL;

    if (!first || r->after.n > 0)
        return 0;
    if (first->ready.kind == SPEC_READY_NONE) {
        first->ready.kind = SPEC_READY_PORT;
        first->ready.timeout = READY_MS;
    }
    return spec_add_after(&r->after, first->name, SPEC_AFTER_READY);
}

/* ---- all of a role ---- */

static int framework_roles_check_role(const struct framework *fw, const struct spec_role *r,
                                      const struct framework_role *row, struct spec_faults *f)
{
    char key[KEY_MAX];
    int e = 0;

    if (row->one && (uint64_t)r->count * r->procs > 1)
        e = go_on(spec_fault(f, r->line,
                             framework_roles_key_of(r, r->count > 1 ? "count" : "procs", key),
                             "framework '%s' has at most one task of this role", fw->name));
    if (e == 0 && r->ports < (int)row->ports && r->count > 0)
        e = go_on(spec_fault(f, r->line, framework_roles_key_of(r, "ports", key),
                             "framework '%s' needs %u for each task", fw->name, row->ports));
    return e;
}

static int fill_role(const struct framework *fw, struct spec *s, struct spec_role *r,
                     struct spec_faults *f)
{
    const struct framework_role *row = framework_role(fw, r->name);
    bool filled;
    int e = 0;

    r->procs = r->procs ? r->procs : 1;
    if (row) {
        r->side = r->side < 0 ? row->side && r->decides != 1 : r->side;
        r->decides = r->decides < 0 ? row->decides && r->side != 1 : r->decides;
        e = complete_command(r, row, &filled);
        if (e == 0)
            e = order(s, r, row);
    }
    if (r->ports < 0)
        r->ports = row && row->ports > 0 ? (int)row->ports : needs_ports(s, r);
    return e == 0 && row ? framework_roles_check_role(fw, r, row, f) : e;
}

static bool anybody_decides(const struct spec *s)
{
    for (size_t i = 0; i < s->n_roles; i++)
        if (s->roles[i].decides == 1)
            return true;
    return false;
}

/* Once a role is marked as deciding, only the marked roles decide. */
static void respect_decision(struct spec *s)
{
    if (!anybody_decides(s))
        return;
    for (size_t i = 0; i < s->n_roles; i++)
        s->roles[i].decides = s->roles[i].decides == 1;
}

/* Where the framework's own programs run forever, somebody else must be there to decide. */
static int check_driver(const struct framework *fw, const struct spec *s, struct spec_faults *f)
{
    if (f->n > 0 || anybody_decides(s))
        return 0;
    for (const struct framework_role *row = fw->roles; row->name; row++)
        if (row->make == FRAMEWORK_DRIVER)
            return go_on(spec_fault(
                f, 0, "command",
                "framework '%s' runs the job's command, and there is none: add one after --",
                fw->name));
    return 0;
}

/* Last: when no role is marked as deciding, every role that is not a side role decides. */
static void framework_roles_settle(struct spec *s)
{
    bool named = anybody_decides(s);

    for (size_t i = 0; i < s->n_roles; i++) {
        struct spec_role *r = &s->roles[i];

        r->side = r->side < 0 ? 0 : r->side;
        if (r->decides < 0)
            r->decides = !named && r->side == 0;
    }
}

/* A number of restarts without a policy means the framework's policy. Where nobody asked for
 * restarts, nothing is set: naming a policy would ask for them. */
static void choose_restart(const struct framework *fw, struct spec *s)
{
    bool serving =
        fw->restart_serving != SPEC_RESTART_DEFAULT && framework_roles_present(s, fw->server_role);
    enum spec_policy suits = serving ? fw->restart_serving : fw->restart;

    if (s->restart.policy != SPEC_RESTART_DEFAULT)
        return;
    if (s->restart.max > 0)
        s->restart.policy = suits;
    for (size_t i = 0; i < s->n_roles; i++) {
        struct spec_restart *own = &s->roles[i].restart;

        if (own->policy == SPEC_RESTART_DEFAULT && own->max > 0)
            own->policy = suits;
    }
}

/* A later step relies on the earlier ones: flags such as --mem are for roles that may just have
 * been made, a framework looks at all of them, and who decides can be said only when every role is
 * known. */
int framework_complete(const struct framework *fw, struct spec *s, struct spec_faults *f)
{
    size_t before = f->n;
    int r;

    if (f->unreadable)
        return -EINVAL;
    r = make_roles(fw, s);
    if (r == 0)
        r = make_tensorboard(s);
    if (r == 0)
        r = check_roles(fw, s, f);
    if (r < 0)
        return r;
    apply_to_ranked(fw, s);
    respect_decision(s);
    if (fw->complete)
        r = go_on(fw->complete(s, f));
    for (size_t i = 0; i < s->n_roles && r == 0; i++)
        r = fill_role(fw, s, &s->roles[i], f);
    if (r == 0)
        r = check_driver(fw, s, f);
    if (r < 0)
        return r;
    framework_roles_settle(s);
    for (size_t i = 0; fw->any_roles && !any_ranked(fw, s) && i < s->n_roles; i++)
        if (s->roles[i].decides == 1)
            apply_flags(s, &s->roles[i], false);
    choose_restart(fw, s);
    return f->n > before ? -EINVAL : 0;
}
