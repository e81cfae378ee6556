/* form.c - a generation's cluster specification and rendezvous servers. */
#include "master/master_private.h"

#include <string.h>

/* Its host is the agent's number, or its name, which is in `host` then. */
static void fill_task(const struct master *m, const struct task *t, char host[NAMES_TEXT],
                      struct cluster_task *ret)
{
    const struct agent_conn *a = agents_get(m, t->agent);
    uint32_t role, first, n;

    engine_slot(m->engine, t->slot, &role, &first, &n);
    *ret = (struct cluster_task){
        .host = m->ops->names->host(m, t, a ? a->host : "", host),
        .node = a ? a->node : "",
        .local_rank = t->local_rank,
        .slot = t->rank / (n ? n : 1),
        .n_ports = t->n_ports,
    };
    memcpy(ret->port, t->port, sizeof(ret->port));
}

/* With its name kept for as long as the description. */
static int describe_task(struct master *m, const struct task *t, struct cluster_task *ret)
{
    struct agent_conn *a = agents_get(m, t->agent);
    char host[NAMES_TEXT];

    fill_task(m, t, host, ret);
    if (a)
        a->described = true;
    if (ret->host != host)
        return 0;
    if (strs_add(&m->form.hosts, host) < 0)
        return -ENOMEM;
    ret->host = m->form.hosts.v[m->form.hosts.n - 1];
    return 0;
}

/* Builds the new description beside the old one and swaps them, so that a failure before the swap
 * leaves a usable one. Strings of it are borrowed from agents: `described` keeps agents_forget()
 * from freeing those, and is cleared for all before the new ones are marked. */
static int fill_cluster(struct master *m, struct err *err)
{
    struct cluster_role *roles = calloc(m->spec.n_roles + 1, sizeof(*roles));
    struct cluster_task *tasks = calloc(engine_n_tasks(m->engine) + 1, sizeof(*tasks));
    const struct task *t = NULL;
    int result = 0;

    if (!roles || !tasks) {
        free(roles);
        free(tasks);
        return err_oom(err);
    }
    free(m->form.cluster.roles);
    free(m->form.tasks);
    m->form.cluster = (struct cluster){ .roles = roles,
                                        .n = m->spec.n_roles,
                                        .generation = engine_generation(m->engine) };
    m->form.tasks = tasks;
    strs_done(&m->form.hosts);
    for (uint32_t i = 0; i < m->agents.n; i++)
        m->agents.v[i]->described = false;
    for (size_t r = 0, sum = 0; r < m->spec.n_roles; sum += roles[r++].n) {
        roles[r].name = m->spec.roles[r].name;
        roles[r].n = engine_role_tasks(m->engine, (uint32_t)r);
        roles[r].tasks = tasks + sum;
    }
    while (result == 0 && (t = engine_next_in_gang(m->engine, t)))
        result = describe_task(m, t, &roles[t->role].tasks[t->rank]);
    if (result == 0)
        result = cluster_find_neighbours(&m->form.cluster);
    return result < 0 ? err_oom(err) : 0;
}

static int render_cluster(struct master *m, struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_JSON *v = NULL;
    int r = cluster_json(&m->form.cluster, &v, err);

    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    if (!text)
        return err_oom(err);
    if (!str_eq(text, m->form.text))
        m->form.id++; /* agents that have the same need not get it again */
    free(m->form.text);
    m->form.text = take(text);
    return 0;
}

/* ---- servers ---- */

static void on_server_note(void *user, const char *text)
{
    master_note(user, text);
}

/* Those of the generation, or `all`. */
static void stop_servers(struct master *m, bool all)
{
    for (size_t i = 0; i < MASTER_SERVERS; i++)
        if (all || !rendezvous_lasts(1U << i))
            m->form.servers[i] = rendezvous_free(m->form.servers[i]);
}

/* The tasks that have ranks: others may decide as well, but no server of ours will see them. */
static unsigned world(const struct master *m)
{
    unsigned n = 0;

    for (size_t r = 0; r < m->spec.n_roles; r++) {
        const struct framework_role *row = framework_role(m->framework, m->spec.roles[r].name);

        if (row && row->ranked)
            n += engine_role_tasks(m->engine, (uint32_t)r);
    }
    return n;
}

/* Those that last, or the others. */
static int start_servers(struct master *m, bool lasting, struct err *err)
{
    m->form.server_options = (struct rendezvous_options){
        .loop = m->loop,
        .host = m->ops->host(m),
        .world = world(m),
        .user = m,
        .check = m->ops->own_peer,
        .vouch = m->ops->own_peer_asked,
        .on_note = on_server_note,
        .document = documents_get,
    };
    for (unsigned i = 0; i < MASTER_SERVERS; i++) {
        int r;

        if (!(m->framework->servers & (1U << i)) || rendezvous_lasts(1U << i) != lasting)
            continue;
        r = rendezvous_start(1U << i, &m->form.server_options, &m->form.servers[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int form_describe(struct master *m, struct err *err)
{
    int r;

    m->form.plans = plan_cache_free(m->form.plans);
    if (plan_cache_new(&m->form.plans) < 0)
        return err_oom(err);
    r = fill_cluster(m, err);
    return r < 0 ? r : render_cluster(m, err);
}

/* Servers, waits and barriers of a generation do not survive it: a worker of the old gang that is
 * slow to die must not meet the new gang at a rendezvous. Keys of the store stay, except those of
 * PMI, and so do servers that last (rendezvous_lasts()). */
int form_generation(struct master *m, struct err *err)
{
    int r;

    stop_servers(m, false);
    kv_generation(m->kv);
    m->form.late_notes = 0;
    r = form_describe(m, err);
    return r < 0 ? r : start_servers(m, false, err);
}

/* A new master in the middle of a generation: the store was restored from its log and must not be
 * cleared, so this is form_generation() without kv_generation(). */
int form_resume(struct master *m, struct err *err)
{
    int r = form_describe(m, err);

    return r < 0 ? r : start_servers(m, false, err);
}

int form_begin(struct master *m, struct err *err)
{
    return start_servers(m, true, err);
}

/* A task that was restarted alone may be on another host or other ports than the description says.
 */
static bool is_described(const struct master *m, const struct task *t)
{
    const struct cluster_role *role =
        t->role < m->form.cluster.n ? &m->form.cluster.roles[t->role] : NULL;
    struct cluster_task now;
    char host[NAMES_TEXT];

    if (!role || t->rank >= role->n)
        return false;
    fill_task(m, t, host, &now);
    return str_eq(role->tasks[t->rank].host, now.host) &&
           memcmp(role->tasks[t->rank].port, now.port, sizeof(now.port)) == 0;
}

static bool has_all(const struct master *m)
{
    for (uint32_t r = 0; r < m->form.cluster.n; r++)
        if (m->form.cluster.roles[r].n != engine_role_tasks(m->engine, r))
            return false;
    return true;
}

int form_follow(struct master *m, struct err *err)
{
    int r;

    /* Who belongs to a generation that ends stays in its world until the next one is formed. */
    if (!m->form.text || m->form.cluster.generation != engine_generation(m->engine) ||
        engine_state(m->engine) != JOB_RUNNING || has_all(m))
        return 0;
    r = form_describe(m, err);
    if (r == 0)
        kv_resized(m->kv);
    return r;
}

int form_include(struct master *m, uint32_t task, struct err *err)
{
    int r = form_follow(m, err);

    return r < 0 || is_described(m, engine_task(m->engine, task)) ? r : form_describe(m, err);
}

unsigned form_role_size(const struct master *m, const struct task *t)
{
    size_t n = t->role < m->form.cluster.n ? m->form.cluster.roles[t->role].n : 0;

    return t->rank < n ? (unsigned)n : 0;
}

bool form_has(const struct master *m, const struct task *t)
{
    return m->form.text && m->form.cluster.generation == engine_generation(m->engine) &&
           is_described(m, t);
}

const char *form_server(const struct master *m, int *ret_port)
{
    *ret_port = 0;
    for (size_t i = 0; i < MASTER_SERVERS; i++)
        if (m->form.servers[i])
            *ret_port = rendezvous_port(m->form.servers[i]);
    return m->ops->host(m);
}

struct plan form_plan(const struct master *m, uint32_t attempt)
{
    struct plan p = {
        .spec = &m->spec,
        .framework = m->framework,
        .job = m->opt->dir->id,
        .out = m->facts.out_dir,
        .cluster = &m->form.cluster,
        .attempt = attempt,
        .cache = m->form.plans,
        .inherited = m->ops->inherited(),
    };

    p.server_host = form_server(m, &p.server_port);
    return p;
}

void form_done(struct master *m)
{
    stop_servers(m, true);
    m->form.plans = plan_cache_free(m->form.plans);
    free(m->form.cluster.roles);
    free(m->form.tasks);
    free(m->form.text);
    strs_done(&m->form.hosts);
}
