/* engine.c - the engine decides everything about a job and does nothing: events come in, actions go
 * out, and time is a parameter. Here: how one is made, and the questions it answers. See engine.h.
 *
 *     platform, agents, people ──► engine_on_…(), engine_stop(), …
 *                                       ├──► engine_next_action() ──► the master does it
 *                                       └──► event lines ──► the log ──► engine_restore()
 *
 * Every call goes through engine_enter() and engine_leave(), so that running out of memory inside a
 * decision is noticed once and reported from then on. */
#include "base/array.h"
#include "job/engine/engine_private.h"

#include <stdio.h>
#include <string.h>

#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
#define LOSSES_MAX 10
#define NAMES_MAX 189          /* of a domain, so that a label fits before it */
#define EVENTS_MAX (256 * MIB) /* of lines that nobody has fetched */

int engine_enter(const struct engine *e, struct err *err)
{
    if (e->bad == 0)
        return 0;
    if (err)
        *err = e->fault;
    return e->bad;
}

int engine_fault(const struct engine *e, struct err *err)
{
    return engine_enter(e, err);
}

int engine_leave(struct engine *e, struct err *err)
{
    return engine_enter(e, err);
}

void engine_oom(struct engine *e)
{
    if (e->bad == 0)
        e->bad = err_oom(&e->fault);
}

/* ---- birth ---- */

static void unit_init(struct engine *e, const struct role *r, const struct slot *s, uint32_t local)
{
    struct unit *u = &e->units[e->n_units];

    *u = (struct unit){ .t = { .id = e->n_units,
                               .role = (uint32_t)(r - e->roles),
                               .rank = s->index * r->procs + local,
                               .slot = (uint32_t)(s - e->slots),
                               .local_rank = (uint16_t)local,
                               .agent = UINT32_MAX } };
    for (size_t i = 0; i < COUNT_OF(u->at); i++)
        u->at[i] = NEVER;
    e->n_units++;
}

/* All memory for the new containers is got first, so that adding them cannot fail half way. */
static int grow_for(struct engine *e, struct role *r, uint32_t count)
{
    uint32_t more = count - r->n_slots, cap = r->n_slots;

    if ((uint64_t)e->n_units + (uint64_t)more * r->procs > SPEC_TASKS_MAX)
        return -E2BIG;
    if (ARRAY_FIT(r->slots, cap, count) < 0 ||
        ARRAY_FIT(e->slots, e->cap_slots, e->n_slots + more) < 0 ||
        ARRAY_FIT(e->units, e->cap_units, e->n_units + more * r->procs) < 0)
        return -ENOMEM;
    return 0;
}

/* New containers are born retired: engine_join() makes them part of the job, or takes back those
 * that were scaled away before, which keep their numbers. */
int engine_add_slots(struct engine *e, struct role *r, uint32_t count)
{
    int k;

    if (count > r->n_slots) {
        k = grow_for(e, r, count);
        if (k < 0)
            return k;
    }
    while (r->n_slots < count) {
        struct slot *s = &e->slots[e->n_slots];

        *s = (struct slot){ .role = (uint32_t)(r - e->roles),
                            .index = r->n_slots,
                            .first = e->n_units,
                            .agent = UINT32_MAX,
                            .ask_at = NEVER,
                            .retired = true };
        for (uint32_t i = 0; i < r->procs; i++) {
            unit_init(e, r, s, i);
            e->units[s->first + i].retired = true;
        }
        r->slots[r->n_slots++] = e->n_slots++;
    }
    return 0;
}

void engine_join(struct engine *e, struct role *r, uint32_t count)
{
    for (; r->count < count; r->count++) {
        struct slot *s = &e->slots[r->slots[r->count]];

        slot_join(e, s);
        for (uint32_t i = 0; i < r->procs; i++)
            unit_join(e, &e->units[s->first + i]);
    }
}

/* A role whose end others wait for is not run again with a new generation once it is over. */
static void mark_awaited(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct spec_afters *after = &e->spec->roles[i].after;

        for (size_t k = 0; k < after->n; k++)
            for (uint32_t j = 0; j < e->n_roles; j++)
                if (after->v[k].when == SPEC_AFTER_FINISHED &&
                    str_eq(e->spec->roles[j].name, after->v[k].role))
                    e->roles[j].awaited = true;
    }
}

/* Every role that is not side decides when no role says that it does. */
static void fill_roles(struct engine *e)
{
    bool said = false;

    for (size_t i = 0; i < e->n_roles; i++)
        said = said || e->spec->roles[i].decides == 1;
    for (size_t i = 0; i < e->n_roles; i++) {
        const struct spec_role *spec = &e->spec->roles[i];
        struct role *r = &e->roles[i];

        r->spec = spec;
        r->decides = said ? spec->decides == 1 : spec->side != 1;
        r->side = spec->side == 1 && !r->decides;
        r->procs = spec->procs ? spec->procs : 1;
        r->restart = policy_of_role(e->spec, spec, e->opt.restart);
    }
    mark_awaited(e);
}

static void fill_options(struct engine *e, const struct engine_options *opt)
{
    if (opt)
        e->opt = *opt;
    if (e->opt.backoff_min <= 0)
        e->opt.backoff_min = BACKOFF_MIN_MS;
    if (e->opt.backoff_max <= 0)
        e->opt.backoff_max = BACKOFF_MAX_MS;
    if (e->opt.losses_max == 0)
        e->opt.losses_max = LOSSES_MAX;
    e->seed = e->refused_seed = e->opt.seed;
    e->grace = e->spec->grace;
    e->last_loss = INT64_MIN / 2;
    for (size_t i = 0; i < COUNT_OF(e->at); i++)
        e->at[i] = NEVER;
    failure_done(&e->story);
    buf_init(&e->events, EVENTS_MAX);
    buf_init(&e->too_late, EVENTS_MAX);
    buf_init(&e->live, EVENTS_MAX);
}

int engine_new(const struct spec *spec, const struct engine_options *opt, struct engine **ret,
               struct err *err)
{
    AUTO(engine) struct engine *e = calloc(1, sizeof(*e));
    int k;

    if (!e)
        return err_oom(err);
    e->spec = spec;
    fill_options(e, opt);
    e->roles = calloc(spec->n_roles ? spec->n_roles : 1, sizeof(*e->roles));
    if (!e->roles)
        return err_oom(err);
    e->n_roles = (uint32_t)spec->n_roles;
    fill_roles(e);
    for (uint32_t i = 0; i < e->n_roles; i++) {
        k = engine_add_slots(e, &e->roles[i], spec->roles[i].count);
        if (k == -E2BIG)
            return err_set(err, k, "more than %d tasks", SPEC_TASKS_MAX);
        if (k < 0)
            return err_oom(err);
        engine_join(e, &e->roles[i], spec->roles[i].count);
    }
    if (e->n_undecided == 0)
        return err_set(err, -EINVAL, "the job has no task that decides its success");
    *ret = take(e);
    return 0;
}

struct engine *engine_free(struct engine *e)
{
    if (!e)
        return NULL;
    for (uint32_t i = 0; i < e->n_units; i++) {
        budget_done(&e->units[i].budget);
        free(e->units[i].metrics);
    }
    for (uint32_t i = 0; i < e->n_roles; i++)
        free(e->roles[i].slots);
    free(e->roles);
    free(e->units);
    free(e->slots);
    free(e->heap);
    free(e->queue);
    for (uint32_t i = 0; i < e->n_pending; i++)
        json_decref(e->pending[i]);
    free(e->pending);
    free(e->end_text);
    free(e->refusal);
    free(e->names);
    budget_done(&e->gang);
    budget_done(&e->losses);
    budget_done(&e->files);
    failure_done(&e->story);
    buf_done(&e->events);
    buf_done(&e->too_late);
    buf_done(&e->live);
    free(e);
    return NULL;
}

/* ---- questions ---- */

int engine_unit_of(struct engine *e, uint32_t id, struct unit **ret, struct err *err)
{
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    if (id >= e->n_units)
        return err_set(err, -EINVAL, "there is no task number %u", id);
    *ret = &e->units[id];
    return 0;
}

int engine_slot_of(struct engine *e, uint32_t id, struct slot **ret, struct err *err)
{
    int r = engine_enter(e, err);

    if (r < 0)
        return r;
    if (id >= e->n_slots)
        return err_set(err, -EINVAL, "there is no container number %u", id);
    *ret = &e->slots[id];
    return 0;
}

enum job_state engine_state(const struct engine *e)
{
    return e->state;
}

int engine_set_names(struct engine *e, const char *domain, struct err *err)
{
    char *copy = NULL;

    if (domain && (!*domain || strlen(domain) > NAMES_MAX))
        return err_set(err, -EINVAL, "no task can have a name below '%.20s'", domain);
    if (domain && !(copy = strdup(domain)))
        return err_oom(err);
    free(e->names);
    e->names = copy;
    return 0;
}

const char *engine_names(const struct engine *e)
{
    return e->names;
}

uint32_t engine_generation(const struct engine *e)
{
    return e->generation;
}

uint32_t engine_n_tasks(const struct engine *e)
{
    return e->n_units;
}

uint32_t engine_n_slots(const struct engine *e)
{
    return e->n_slots;
}

unsigned engine_role_count(const struct engine *e, uint32_t role)
{
    return role < e->n_roles ? e->roles[role].count : 0;
}

const struct task *engine_task(const struct engine *e, uint32_t id)
{
    return id < e->n_units ? &e->units[id].t : NULL;
}

bool engine_in_gang(const struct engine *e, uint32_t task)
{
    return task < e->n_units && !e->units[task].retired;
}

uint32_t engine_role_tasks(const struct engine *e, uint32_t role)
{
    return role < e->n_roles ? e->roles[role].n_tasks : 0;
}

const struct task *engine_next_in_gang(const struct engine *e, const struct task *t)
{
    uint32_t i = t ? t->id + 1 : 0;

    while (i < e->n_units && e->units[i].retired)
        i++;
    return engine_task(e, i);
}

void engine_slot(const struct engine *e, uint32_t slot, uint32_t *ret_role, uint32_t *ret_first,
                 uint32_t *ret_n)
{
    const struct slot *s = &e->slots[slot];

    *ret_role = s->role;
    *ret_first = s->first;
    *ret_n = e->roles[s->role].procs;
}

uint32_t engine_slot_agent(const struct engine *e, uint32_t slot)
{
    bool has = slot < e->n_slots && e->slots[slot].state >= SLOT_GRANTED;

    return has ? e->slots[slot].agent : ENGINE_NO_AGENT;
}

uint32_t engine_last_agent(const struct engine *e)
{
    return e->last_agent;
}

bool engine_slot_is_away(const struct engine *e, uint32_t slot)
{
    return slot < e->n_slots && e->slots[slot].away;
}

const char *engine_task_name(const struct engine *e, uint32_t id, char out[ENGINE_NAME_MAX])
{
    const struct task *t = &e->units[id].t;
    const char *role = e->roles[t->role].spec->name;
    char digits[10];
    size_t n = strnlen(role, ENGINE_NAME_MAX - sizeof(digits) - 2), d = 0;
    uint32_t rank = t->rank;

    /* By hand, as it stands in every event line. */
    memcpy(out, role, n);
    out[n++] = ':';
    do
        digits[d++] = (char)('0' + rank % 10);
    while ((rank /= 10) > 0);
    while (d > 0)
        out[n++] = digits[--d];
    out[n] = '\0';
    return out;
}

int engine_find_task(const struct engine *e, const char *name, uint32_t *ret, struct err *err)
{
    const char *colon = strrchr(name, ':');
    int64_t rank;

    if (!colon || str_to_i64(colon + 1, 0, SPEC_TASKS_MAX, &rank) < 0)
        return err_set(err, -EINVAL, "'%s' is not a task name such as worker:0", name);
    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct role *r = &e->roles[i];

        if (strlen(r->spec->name) != (size_t)(colon - name) ||
            strncmp(r->spec->name, name, (size_t)(colon - name)) != 0)
            continue;
        if (rank >= r->n_tasks)
            return err_set(err, -ENOENT, "there is no task '%s': '%s' has %u, from 0", name,
                           r->spec->name, r->n_tasks);
        *ret = e->slots[r->slots[rank / r->procs]].first + (uint32_t)(rank % r->procs);
        return 0;
    }
    return err_set(err, -ENOENT, "there is no role '%.*s'", (int)(colon - name), name);
}

void engine_outcome(const struct engine *e, struct outcome *ret)
{
    const struct failure *f = &e->story;
    bool told = f->set && (e->by_task || !job_has_ended(e->state));

    *ret = (struct outcome){ .state = e->state, .task = UINT32_MAX, .text = e->end_text };
    if (job_has_ended(e->state) || e->state == JOB_FINISHING)
        ret->exit = e->exit;
    if (!told)
        return;
    ret->task = f->task;
    ret->cls = f->cls;
    ret->code = f->code;
    ret->signal = f->signal;
    ret->generation = f->generation;
    ret->attempt = f->attempt;
    ret->when = f->when;
    ret->text = f->text;
    ret->lines = f->lines;
    ret->hint = failure_hint(f->cls, f->code, f->signal);
}

/* ---- results ---- */

void engine_on_saved(struct engine *e, uint32_t agent)
{
    for (uint32_t i = 0; i < e->n_units; i++)
        if (e->units[i].t.agent == agent && task_has_ended(e->units[i].t.state))
            e->units[i].t.results = false;
}

void engine_on_results_left(struct engine *e, uint32_t agent)
{
    for (uint32_t i = 0; i < e->n_units; i++)
        if (e->units[i].t.agent == agent && e->units[i].t.results)
            e->units[i].homeless = true;
}

bool engine_lost_results(const struct engine *e, uint32_t task)
{
    const struct unit *u = &e->units[task];

    return u->t.results && u->t.state == TASK_DONE && u->homeless;
}
