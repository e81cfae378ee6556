/* records.c - names of YARN's enums, resources as text, and checks before a request is sent: the
 * ResourceManager silently drops what it does not know. See records.h. */
#include "hadoop/yarn/records.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/rpc/exception.h"
#include "hadoop/yarn/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

/* clang-format off */
static const char *const app_states[] = {
    [YARN__APPLICATION_STATE__APP_NEW]        = "NEW",
    [YARN__APPLICATION_STATE__APP_NEW_SAVING] = "NEW_SAVING",
    [YARN__APPLICATION_STATE__APP_SUBMITTED]  = "SUBMITTED",
    [YARN__APPLICATION_STATE__APP_ACCEPTED]   = "ACCEPTED",
    [YARN__APPLICATION_STATE__APP_RUNNING]    = "RUNNING",
    [YARN__APPLICATION_STATE__APP_FINISHED]   = "FINISHED",
    [YARN__APPLICATION_STATE__APP_FAILED]     = "FAILED",
    [YARN__APPLICATION_STATE__APP_KILLED]     = "KILLED",
};
static const char *const final_statuses[] = {
    [YARN__FINAL_STATUS__FINAL_UNDEFINED] = "UNDEFINED",
    [YARN__FINAL_STATUS__FINAL_SUCCEEDED] = "SUCCEEDED",
    [YARN__FINAL_STATUS__FINAL_FAILED]    = "FAILED",
    [YARN__FINAL_STATUS__FINAL_KILLED]    = "KILLED",
    [YARN__FINAL_STATUS__FINAL_ENDED]     = "ENDED",
};
static const char *const attempt_states[] = {
    [YARN__ATTEMPT_STATE__ATTEMPT_NEW]              = "NEW",
    [YARN__ATTEMPT_STATE__ATTEMPT_SUBMITTED]        = "SUBMITTED",
    [YARN__ATTEMPT_STATE__ATTEMPT_SCHEDULED]        = "SCHEDULED",
    [YARN__ATTEMPT_STATE__ATTEMPT_ALLOCATED_SAVING] = "ALLOCATED_SAVING",
    [YARN__ATTEMPT_STATE__ATTEMPT_ALLOCATED]        = "ALLOCATED",
    [YARN__ATTEMPT_STATE__ATTEMPT_LAUNCHED]         = "LAUNCHED",
    [YARN__ATTEMPT_STATE__ATTEMPT_FAILED]           = "FAILED",
    [YARN__ATTEMPT_STATE__ATTEMPT_RUNNING]          = "RUNNING",
    [YARN__ATTEMPT_STATE__ATTEMPT_FINISHING]        = "FINISHING",
    [YARN__ATTEMPT_STATE__ATTEMPT_FINISHED]         = "FINISHED",
    [YARN__ATTEMPT_STATE__ATTEMPT_KILLED]           = "KILLED",
};
static const char *const node_states[] = {
    [YARN__NODE_STATE__NODE_NEW]             = "NEW",
    [YARN__NODE_STATE__NODE_RUNNING]         = "RUNNING",
    [YARN__NODE_STATE__NODE_UNHEALTHY]       = "UNHEALTHY",
    [YARN__NODE_STATE__NODE_DECOMMISSIONED]  = "DECOMMISSIONED",
    [YARN__NODE_STATE__NODE_LOST]            = "LOST",
    [YARN__NODE_STATE__NODE_REBOOTED]        = "REBOOTED",
    [YARN__NODE_STATE__NODE_DECOMMISSIONING] = "DECOMMISSIONING",
    [YARN__NODE_STATE__NODE_SHUTDOWN]        = "SHUTDOWN",
};

static const struct {
    int32_t status;
    const char *text;
} exits[] = {
    { -100, "released, or its node was lost" },
    { -101, "killed: the node's disks failed" },
    { -102, "preempted: the resources were needed by another queue or job" },
    { -103, "killed: used more virtual memory than allowed" },
    { -104, "killed: used more memory than it asked for" },
    { -105, "stopped by its master" },
    { -106, "killed by the ResourceManager" },
    { -107, "killed when its application ended" },
    { -108, "displaced by a guaranteed container" },
    { -109, "killed: wrote more logs than allowed" },
    {   -1, "could not be launched" },
    { -1000, "did not start, or has not ended" },
};
/* clang-format on */

static const char *name_of(const char *const *names, size_t n, unsigned v)
{
    return v < n && names[v] ? names[v] : "UNKNOWN";
}
#define NAME_OF(names, v) name_of(names, COUNT_OF(names), (unsigned)(v))

const char *yarn_app_state_name(Yarn__ApplicationState s)
{
    return NAME_OF(app_states, s);
}

const char *yarn_final_status_name(Yarn__FinalStatus s)
{
    return NAME_OF(final_statuses, s);
}

const char *yarn_attempt_state_name(Yarn__AttemptState s)
{
    return NAME_OF(attempt_states, s);
}

const char *yarn_node_state_name(Yarn__NodeState s)
{
    return NAME_OF(node_states, s);
}

/* Every enum that is parsed starts at 1: row 0 has no name. */
static int parse_name(const char *text, const char *const *names, size_t n, const char *what,
                      struct err *err)
{
    const char *near;

    for (size_t i = 1; i < n; i++)
        if (strcasecmp(text, names[i]) == 0)
            return (int)i;
    near = str_nearest(text, names + 1, n - 1);
    err_set(err, -EINVAL, "'%s' is not a state of %s", text, what);
    if (near)
        err_hint(err, "did you mean '%s'?", near);
    return -EINVAL;
}

int yarn_app_state_parse(const char *text, Yarn__ApplicationState *ret, struct err *err)
{
    int r = parse_name(text, app_states, COUNT_OF(app_states), "an application", err);

    if (r < 0)
        return r;
    *ret = (Yarn__ApplicationState)r;
    return 0;
}

int yarn_node_state_parse(const char *text, Yarn__NodeState *ret, struct err *err)
{
    int r = parse_name(text, node_states, COUNT_OF(node_states), "a node", err);

    if (r < 0)
        return r;
    *ret = (Yarn__NodeState)r;
    return 0;
}

bool yarn_app_state_final(Yarn__ApplicationState s)
{
    return s == YARN__APPLICATION_STATE__APP_FINISHED || s == YARN__APPLICATION_STATE__APP_FAILED ||
           s == YARN__APPLICATION_STATE__APP_KILLED;
}

const char *yarn_exit_text(int32_t exit_status)
{
    for (size_t i = 0; i < COUNT_OF(exits); i++)
        if (exits[i].status == exit_status)
            return exits[i].text;
    return NULL;
}

/* ---- resources ---- */

int64_t yarn_memory(const Yarn__Resource *r)
{
    return r ? r->memory : 0;
}

int32_t yarn_vcores(const Yarn__Resource *r)
{
    return r ? r->virtual_cores : 0;
}

static bool is_basic(const char *name)
{
    return str_eq(name, "memory-mb") || str_eq(name, "vcores");
}

int64_t yarn_amount_of(const Yarn__Resource *r, const char *name)
{
    if (!r)
        return 0;
    if (str_eq(name, "memory-mb"))
        return r->memory;
    if (str_eq(name, "vcores"))
        return r->virtual_cores;
    for (size_t i = 0; i < r->n_values; i++)
        if (str_eq(r->values[i]->key, name))
            return r->values[i]->value;
    return 0;
}

const char *yarn_resource_text(const Yarn__Resource *r, char *out, size_t n)
{
    int used = snprintf(out, n, "%" PRId64 " MB, %" PRId32 " core%s", yarn_memory(r),
                        yarn_vcores(r), yarn_vcores(r) == 1 ? "" : "s");

    for (size_t i = 0; r && i < r->n_values && used >= 0 && (size_t)used < n; i++) {
        const Yarn__ResourceInformation *v = r->values[i];
        char name[64], units[16];

        if (is_basic(v->key) || v->value == 0)
            continue;
        str_clean(name, sizeof(name), v->key);
        str_clean(units, sizeof(units), v->units);
        used += snprintf(out + used, n - (size_t)used, ", %" PRId64 "%s %s", v->value, units, name);
    }
    return out;
}

/* An empty unit means plain numbers. With another one than its own the RM converts. */
static int add_amount(Yarn__Resource *r, const struct yarn_amount *a)
{
    AUTO_MESSAGE Yarn__ResourceInformation *v = MESSAGE_NEW(yarn__resource_information);

    if (!v || MESSAGE_TEXT(v->key, a->name) < 0 || MESSAGE_TEXT(v->units, "") < 0)
        return -ENOMEM;
    v->has_value = v->has_kind = true;
    v->value = a->value;
    return MESSAGE_ADD(r, values, take(v));
}

/* Memory and cores stand in fields of their own, and the RM reads them only there: among the other
 * amounts it would ignore them. So they are never written twice. */
Yarn__Resource *yarn_resource_new(const struct yarn_resource *r)
{
    AUTO_MESSAGE Yarn__Resource *m = MESSAGE_NEW(yarn__resource);

    if (!m)
        return NULL;
    m->has_memory = m->has_virtual_cores = true;
    m->memory = r->memory_mb;
    m->virtual_cores = r->vcores;
    for (size_t i = 0; i < r->n_more; i++)
        if (!is_basic(r->more[i].name) && add_amount(m, &r->more[i]) < 0)
            return NULL;
    return take(m);
}

static int check_amount(const char *name, int64_t want, const Yarn__Resource *maximum,
                        struct err *err)
{
    int64_t most = yarn_amount_of(maximum, name);

    if (!maximum || want <= most)
        return 0;
    return err_set(err, -EINVAL,
                   "%" PRId64 " of '%s' is more than a container can have here, %" PRId64, want,
                   name, most);
}

/* Older RMs send no list of types: then every name passes. */
static int check_type(const char *name, Yarn__ResourceTypeInfo *const *types, size_t n,
                      struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(types[i]->name, name))
            return 0;
    if (n == 0 || is_basic(name))
        return 0;
    err_set(err, -EINVAL, "the cluster has no resource '%s'", name);
    err_hint(err, "the ResourceManager would ignore it and grant containers that lack it");
    return -EINVAL;
}

int yarn_resource_check(const struct yarn_resource *r, const Yarn__Resource *maximum,
                        Yarn__ResourceTypeInfo *const *types, size_t n_types, struct err *err)
{
    int ret;

    if (r->memory_mb <= 0)
        return err_set(err, -EINVAL, "memory of %" PRId64 " MB is not a size", r->memory_mb);
    if (r->vcores <= 0)
        return err_set(err, -EINVAL, "%" PRId32 " cores is not a number of cores", r->vcores);
    ret = check_amount("memory-mb", r->memory_mb, maximum, err);
    if (ret == 0)
        ret = check_amount("vcores", r->vcores, maximum, err);
    for (size_t i = 0; i < r->n_more && ret == 0; i++) {
        if (r->more[i].value < 0)
            return err_set(err, -EINVAL, "%" PRId64 " of '%s' is not an amount", r->more[i].value,
                           r->more[i].name);
        ret = check_type(r->more[i].name, types, n_types, err);
        if (ret == 0)
            ret = check_amount(r->more[i].name, r->more[i].value, maximum, err);
    }
    return ret;
}

/* ---- nodes, applications, exceptions ---- */

const Yarn__NodeId *yarn_node_id(const Yarn__NodeId *m)
{
    return m && m->host[0] && m->port > 0 && m->port <= 65535 ? m : NULL;
}

int yarn_app_refused(const Yarn__ApplicationReport *a, struct err *err)
{
    char text[YARN_APP_ID_TEXT], why[320];

    /* A user without access is shown neither attempts nor reasons: "N/A". */
    if (a->state != YARN__APPLICATION_STATE__APP_FAILED ||
        yarn_attempt_id_of(a->current_attempt_id).attempt > 0 || !a->diagnostics[0] ||
        str_eq(a->diagnostics, "N/A"))
        return 0;
    str_clean(why, sizeof(why), a->diagnostics);
    return err_set(err, -EREMOTEIO, "the ResourceManager refused '%s': %s",
                   yarn_app_id_text(yarn_app_id_of(a->application_id), text), why);
}

int yarn_exception_err(const Yarn__SerializedException *e, struct err *err)
{
    return rpc_exception_err(e ? e->class_name : NULL, e ? e->message : NULL, err);
}
