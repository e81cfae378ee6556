/* registry_tasks.c - names of the job's tasks, by records that RegistryDNS makes them of: see
 * registry_entry.h
 *
 *     prepared ──► wish ──► the old record goes, a new one comes ──► looked up ──► inbox_prepared()
 *
 * Whatever has come meanwhile is done together: put first, and then looked up, when the first of
 * them are known already. */
#include "base/log.h"
#include "job/engine/policy.h"
#include "loop/resolve.h"
#include "master/yarn/registry_entry_private.h"

#include <stdio.h>
#include <string.h>

#define CALL_MS 10000
#define PROBE_MS 5000  /* for the job's own name to be found: if it is not, nobody's will be */
#define SEEN_MS 5000   /* for all names of one batch */
#define AGAIN_MS 30000 /* until a record is tried again that could not be put */
#define REGISTRY_TASK_API "http://ydl/task"
#define FIRST_MS 20  /* between two look-ups, at first … */
#define PAUSE_MS 250 /* … and later: an answer that there is none may be kept by somebody */

/* ---- what is called how ---- */

static const char *registry_tasks_label_of(const struct master *m, const struct task *t,
                                           char out[REGISTRY_LABEL])
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%.40s-%u", m->spec.roles[t->role].name, t->rank);
    return registry_label(text, out);
}

const char *registry_tasks_host(const struct master *m, const struct task *t, const char *number,
                                char out[NAMES_TEXT])
{
    const char *domain = engine_names(m->engine);
    char label[REGISTRY_LABEL];

    if (!domain)
        return number;
    (void)snprintf(out, NAMES_TEXT, "%s.%.190s", registry_tasks_label_of(m, t, label), domain);
    return out;
}

/* "a_b" and "a-b" are two roles, but one label. */
static bool labels_differ(const struct spec *s)
{
    for (size_t i = 0; i < s->n_roles; i++)
        for (size_t k = 0; k < i; k++) {
            char a[REGISTRY_LABEL], b[REGISTRY_LABEL];

            if (str_eq(registry_label(s->roles[i].name, a), registry_label(s->roles[k].name, b)))
                return false;
        }
    return true;
}

bool registry_tasks_wanted(const struct master *m)
{
    bool alone = false;

    for (size_t i = 0; i < m->spec.n_roles; i++) {
        const struct spec_role *role = &m->spec.roles[i];

        alone = alone ||
                policy_of_role(&m->spec, role, m->framework->restart).policy == SPEC_RESTART_TASK;
    }
    return alone && m->framework->names && labels_differ(&m->spec);
}

/* ---- looking up ---- */

/* 0: it is this number. -ENXIO: not yet. */
static int registry_tasks_look_up(struct enrolled *x, const char *name, const char *number)
{
    struct resolve_addrs found = { 0 };
    struct loop *l = x->m->loop;
    int r = resolve_host(l, name, 0, loop_in(l, SEEN_MS), &found, NULL);

    for (int i = 0; r == 0 && i < found.n; i++) {
        char text[INET6_ADDRSTRLEN];

        if (str_eq(resolve_text(&found.v[i], text), number))
            return 0;
    }
    return r == -ECANCELED || r == -ENOMEM ? r : -ENXIO;
}

static int registry_tasks_wait_for(struct enrolled *x, const char *name, const char *number,
                                   int64_t deadline)
{
    int64_t pause = FIRST_MS;
    int r = registry_tasks_look_up(x, name, number);

    while (r == -ENXIO && loop_now(x->m->loop) < deadline) {
        r = fiber_sleep(x->m->loop, pause);
        pause = 2 * pause < PAUSE_MS ? 2 * pause : PAUSE_MS;
        if (r == 0)
            r = registry_tasks_look_up(x, name, number);
    }
    return r;
}

/* ---- the records ---- */

static int registry_tasks_room_for(struct enrolled *x, uint32_t task)
{
    struct registry_entry_place *v;
    uint32_t n = task + 16;

    if (task < x->n_places)
        return 0;
    v = realloc(x->places, n * sizeof(*v));
    if (!v)
        return -ENOMEM;
    memset(v + x->n_places, 0, (n - x->n_places) * sizeof(*v));
    x->places = v;
    x->n_places = n;
    return 0;
}

/* Tasks that keep their ports are in the registry with them, also where nobody makes names of that.
 */
static bool registry_tasks_say_ports(const struct enrolled *x)
{
    return x->path && x->m->framework->keeps_ports;
}

static uint16_t first_port(const struct registry_entry_wish *w)
{
    return w->n_ports > 0 ? w->ports[0] : 0;
}

/* A container has one task, as a rule: its name is that of YARN's own services. */
static int component_path(struct enrolled *x, const struct task *t, const char *container,
                          char **ret, struct err *err)
{
    const char *job = x->m->opt->dir->id;
    char text[2 * REGISTRY_LABEL], one[REGISTRY_LABEL], label[REGISTRY_LABEL];

    if (!*container)
        (void)snprintf(text, sizeof(text), "%.40s-%u", job, t->id);
    else if (t->local_rank > 0)
        (void)snprintf(text, sizeof(text), "%s-%u", registry_container(container, one),
                       t->local_rank);
    else
        (void)snprintf(text, sizeof(text), "%s", registry_container(container, one));
    return registry_component_path(x->path, registry_label(text, label), ret, err);
}

/* Everything that is needed of task and agent is copied first: each call to the registry waits, and
 * by the time it returns either may be gone or elsewhere. */
static int registry_tasks_put_task(struct enrolled *x, const struct task *t,
                                   const struct agent_conn *a, const struct registry_entry_wish *w,
                                   struct err *err)
{
    struct master *m = x->m;
    const char *found = platform_container(m->platform, a->number);
    AUTO_FREE char *container = strdup(found);
    AUTO_FREE char *path = NULL;
    struct registry_entry_place *p = &x->places[t->id];
    char label[REGISTRY_LABEL], role[REGISTRY_LABEL], host[sizeof(a->host)], node[sizeof(a->node)];
    struct registry_record record = { .description = registry_tasks_label_of(m, t, label),
                                      .persistence = REGISTRY_CONTAINER,
                                      .id = container,
                                      .ip = host,
                                      .hostname = node,
                                      .component =
                                          registry_label(m->spec.roles[t->role].name, role) };
    const struct registry_endpoint external = {
        .api = REGISTRY_TASK_API, .protocol = "tcp", .host = host, .port = w->ports[0]
    };
    uint32_t id = t->id, agent = a->number;
    int r = container ? component_path(x, t, container, &path, err) : err_oom(err);

    if (registry_tasks_say_ports(x) &&
        w->n_ports > 0) { /* others have another port at each start */
        record.external = &external;
        record.n_external = 1;
    }
    (void)snprintf(host, sizeof(host), "%s", a->host);
    (void)snprintf(node, sizeof(node), "%s", a->node);
    if (r == 0 && p->path && !str_eq(p->path, path))
        r = registry_delete(x->registry, p->path, false, loop_in(m->loop, CALL_MS), err);
    if (r ==
        0) /* it may have moved on while we wait: nothing of `t` and `a` is used from here on */
        r = registry_put(x->registry, path, &record, true, loop_in(m->loop, CALL_MS), err);
    if (r < 0)
        return r;
    p = &x->places[id];
    free(p->path);
    *p = (struct registry_entry_place){ .path = take(path), .agent = agent, .port = first_port(w) };
    return 0;
}

/* ---- wishes ---- */

static int add_wish(struct enrolled *x, const struct registry_entry_wish *w)
{
    if (x->n_wishes == x->cap_wishes) {
        size_t cap = x->cap_wishes ? 2 * x->cap_wishes : 16;
        struct registry_entry_wish *v = realloc(x->wishes, cap * sizeof(*v));

        if (!v)
            return -ENOMEM;
        x->wishes = v;
        x->cap_wishes = cap;
    }
    x->wishes[x->n_wishes++] = *w;
    cond_wake_all(&x->changed);
    return 0;
}

static bool stands(const struct enrolled *x, uint32_t task, uint32_t agent)
{
    return task < x->n_places && x->places[task].path && x->places[task].agent == agent;
}

/* Is that there already? In its container, too, it may have got another port. */
static bool is_put(const struct enrolled *x, const struct registry_entry_wish *w)
{
    return stands(x, w->task, w->agent) &&
           (!registry_tasks_say_ports(x) || x->places[w->task].port == first_port(w));
}

/* True when the task's report is held here until its name can be looked up. Where names are only
 * nice to have (`wanted` is false), the record is put, but nobody waits for it. */
bool registry_tasks_before_ready(struct agent_conn *a, uint32_t task, const uint16_t *ports,
                                 unsigned n)
{
    struct enrolled *x = yarn_of(a->master)->enrolled;
    struct registry_entry_wish w = { .task = task, .agent = a->number, .n_ports = n };

    memcpy(w.ports, ports, n * sizeof(*ports));
    if (!x || !x->fiber || (!x->domain && !registry_tasks_say_ports(x)) || is_put(x, &w))
        return false;
    w.held = x->wanted;
    return add_wish(x, &w) == 0 && w.held;
}

/* What was prepared before that is of no use: the ports may be others by now. */
static void stop_holding(struct registry_entry_wish *v, size_t n, uint32_t task)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].task == task)
            v[i].held = false;
}

void registry_tasks_prepare_again(struct master *m, uint32_t task)
{
    struct enrolled *x = yarn_of(m)->enrolled;

    if (!x)
        return;
    stop_holding(x->batch, x->n_batch, task);
    stop_holding(x->wishes, x->n_wishes, task);
}

static void registry_tasks_deliver(struct enrolled *x, const struct registry_entry_wish *w)
{
    struct agent_conn *a = agents_get(x->m, w->agent);
    struct err err = ERR_INIT;

    if (w->held && a && inbox_prepared(a, w->task, w->ports, w->n_ports, &err) < 0)
        master_fault(x->m, &err);
    master_wake(x->m);
}

static int put_wish(struct enrolled *x, const struct registry_entry_wish *w, struct err *err)
{
    const struct task *t = engine_task(x->m->engine, w->task);
    struct agent_conn *a = agents_get(x->m, w->agent);

    if (!a || a->lost || t->agent != w->agent)
        return 0; /* it is elsewhere by now, or will be */
    if (registry_tasks_room_for(x, w->task) < 0)
        return err_oom(err);
    return is_put(x, w) ? 0 : registry_tasks_put_task(x, t, a, w, err);
}

static int see_wish(struct enrolled *x, const struct registry_entry_wish *w, int64_t deadline)
{
    const struct task *t = engine_task(x->m->engine, w->task);
    const struct agent_conn *a = agents_get(x->m, w->agent);
    char label[REGISTRY_LABEL], name[NAMES_TEXT], host[sizeof(a->host)];
    int r;

    if (!stands(x, w->task, w->agent) || !a)
        return 0;
    (void)snprintf(host, sizeof(host), "%s", a->host); /* it may be forgotten while we wait */
    (void)snprintf(name, sizeof(name), "%s.%.190s", registry_tasks_label_of(x->m, t, label),
                   x->domain);
    r = registry_tasks_wait_for(x, name, host, deadline);
    if (r == 0 && stands(x, w->task, w->agent))
        x->places[w->task].seen = true;
    return r;
}

/* A registry that is away comes back. An address that is wrong there would stay so until the task
 * moves again. */
static void note_put(struct enrolled *x, int r, const struct err *why)
{
    if (r < 0 && !x->failing)
        registry_entry_note(x, "a task cannot be found in YARN's registry", why);
    if (r < 0 && registry_tasks_say_ports(x))
        x->retry_at = loop_in(x->m->loop, AGAIN_MS);
    x->failing = r < 0;
}

/* All of them: none is delivered before all are known. What cannot be named is delivered too.
 * After the first name that RegistryDNS does not know in time, names are given up for the job
 * (`named`): each later task would cost SEEN_MS for nothing. */
static int serve_batch(struct enrolled *x)
{
    int64_t deadline = loop_in(x->m->loop, SEEN_MS);
    struct err err = ERR_INIT;
    int r = 0;

    for (size_t i = 0; i < x->n_batch && r == 0; i++)
        r = put_wish(x, &x->batch[i], &err);
    if (r != -ECANCELED)
        note_put(x, r, &err);
    for (size_t i = 0; i < x->n_batch && r == 0 && x->named; i++) {
        r = see_wish(x, &x->batch[i], deadline);
        if (r == -ENXIO)
            (void)err_set(&err, r, "it takes more than %d s", SEEN_MS / 1000);
    }
    if (r < 0 && r != -ECANCELED && x->named) {
        registry_entry_note(x, "RegistryDNS does not answer for a task", &err);
        x->named = false;
    }
    for (size_t i = 0; i < x->n_batch && r != -ECANCELED; i++)
        registry_tasks_deliver(x, &x->batch[i]);
    return r == -ECANCELED ? r : 0;
}

static int serve_wishes(struct enrolled *x)
{
    int r;

    x->batch = take(x->wishes);
    x->n_batch = x->n_wishes;
    x->n_wishes = x->cap_wishes = 0;
    r = serve_batch(x);
    x->n_batch = 0;
    free(take(x->batch));
    return r;
}

/* ---- beginning and end ---- */

/* "NAME.USER.DOMAIN" */
static int make_domain(struct enrolled *x, struct err *err)
{
    char user[REGISTRY_LABEL];
    char *whole = str_printf("%s.%s.%s", x->name, registry_user(x->m->facts.user, user), x->domain);

    if (!whole)
        return err_oom(err);
    free(x->domain);
    x->domain = whole;
    return 0;
}

/* Those that a master before us has named: its records go with it. */
static int name_again(struct enrolled *x)
{
    const struct task *t = NULL;
    int r = 0;

    while (r == 0 && (t = engine_next_in_gang(x->m->engine, t))) {
        struct registry_entry_wish w = { .task = t->id, .agent = t->agent, .n_ports = t->n_ports };

        memcpy(w.ports, t->port, sizeof(w.ports));
        if (t->state >= TASK_READY && t->state <= TASK_RUNNING)
            r = add_wish(x, &w);
    }
    return r;
}

static int registry_tasks_begin(struct enrolled *x)
{
    struct err err = ERR_INIT;
    const char *before = engine_names(x->m->engine);
    int r = x->domain ? make_domain(x, &err) : 0;

    if (r == 0 && (x->domain || registry_tasks_say_ports(x)))
        r = name_again(x);
    if (r == 0 && before && !str_eq(before, x->domain)) /* it was another's name when we came */
        r = engine_set_names(x->m->engine, NULL, &err);
    if (r < 0 || !x->wanted)
        return r;
    r = registry_tasks_wait_for(x, x->domain, yarn_of(x->m)->container->host,
                                loop_in(x->m->loop, PROBE_MS));
    x->named = r == 0;
    if (r == -ENXIO)
        log_info(LOG_MASTER, "'%s' cannot be looked up here: tasks are told numbers", x->domain);
    return r == -ECANCELED ? r : 0;
}

static int put_again(struct enrolled *x)
{
    x->retry_at = 0;
    return name_again(x);
}

static int await_wish(struct enrolled *x)
{
    int r = cond_wait(x->m->loop, &x->changed, x->retry_at ? x->retry_at : LOOP_NEVER);

    return r == -ETIMEDOUT ? 0 : r;
}

void registry_tasks_serve(struct enrolled *x)
{
    int r = registry_tasks_begin(x);

    while (r == 0) {
        if (x->n_wishes > 0)
            r = serve_wishes(x);
        else if (x->retry_at && loop_now(x->m->loop) >= x->retry_at)
            r = put_again(x);
        else
            r = await_wish(x);
        if (x->wanted && !x->named)
            x->wanted = false; /* nobody waits for what is of no use */
    }
}

void registry_tasks_give_up(struct enrolled *x)
{
    x->wanted = x->named = false;
    free(take(x->domain));
    for (size_t i = 0; i < x->n_wishes && !x->m->ended; i++)
        registry_tasks_deliver(x, &x->wishes[i]);
    x->n_wishes = 0;
}

void registry_tasks_free(struct enrolled *x)
{
    for (uint32_t i = 0; i < x->n_places; i++)
        free(x->places[i].path);
    free(x->places);
    free(x->wishes);
}

/* Names are used by a generation only if all of its tasks have one that was seen: a description
 * with names of some and numbers of others would tell tasks apart that are the same to their
 * framework. */
void registry_tasks_decide(struct master *m)
{
    const struct enrolled *x = yarn_of(m)->enrolled;
    const struct task *t = NULL;
    bool all = x && x->named;
    struct err err = ERR_INIT;

    while (all && (t = engine_next_in_gang(m->engine, t)))
        if (t->state == TASK_READY)
            all = stands(x, t->id, t->agent) && x->places[t->id].seen;
    if (engine_set_names(m->engine, all ? x->domain : NULL, &err) < 0)
        master_fault(m, &err);
}
