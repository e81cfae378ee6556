/* engine_summary_read.c - a summary, read back into a new engine; see engine_summary.c. Its
 * contents are hostile like the rest of the log: numbers have bounds, and resume repairs what
 * cannot be.
 */
#include "job/engine/restore_private.h"
#include "job/engine/summary_private.h"

#include <string.h>

/* A field that is not there is as in a new engine. */
static void summary_read_field(const struct summary_field *f, const json_t *v, void *of)
{
    void *p = (char *)of + f->at;
    int64_t n = json_int_or(v, f->key, 0);
    bool there = json_is_integer(json_object_get(v, f->key));

    switch (f->kind) {
    case SUMMARY_BOOL:
        *(bool *)p = json_is_true(json_object_get(v, f->key));
        break;
    case SUMMARY_U8:
        *(uint8_t *)p = n < 0 || n > 255 ? 255 : (uint8_t)n;
        break;
    case SUMMARY_U32:
        *(uint32_t *)p = (uint32_t)n;
        break;
    case SUMMARY_COUNT:
        *(uint32_t *)p = n < 0 || n > SUMMARY_COUNT_MAX ? 0 : (uint32_t)n;
        break;
    case SUMMARY_AGENT:
        *(uint32_t *)p = !there || n < 0 || n >= UINT32_MAX ? ENGINE_NO_AGENT : (uint32_t)n;
        break;
    case SUMMARY_INT:
        *(int *)p = n < INT32_MIN || n > INT32_MAX ? 0 : (int)n;
        break;
    case SUMMARY_NUMBER:
        if (there && n <= SUMMARY_NUMBER_MAX && n >= -SUMMARY_NUMBER_MAX)
            *(int64_t *)p = n;
        break;
    }
}

static void read_timers(struct engine *e, struct unit *u, const json_t *v)
{
    for (size_t i = 0; i < COUNT_OF(summary_timers); i++) {
        int64_t at = json_int_or(v, summary_timers[i].key, 0);

        if ((summary_timers[i].kind >= TIMER_JOB_) == (u != NULL) && at > 0 &&
            at <= SUMMARY_NUMBER_MAX)
            timer_set(e, summary_timers[i].kind, u, at);
    }
}

static void summary_read_roles(struct engine *e, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        const char *name = restore_text(v, "name");
        struct role *r = name ? restore_role(e, name, strlen(name)) : NULL;

        if (!r)
            continue;
        r->count = restore_u32(v, "count", r->count);
        r->open = json_is_true(json_object_get(v, "open"));
    }
}

static void summary_read_job(struct engine *e, const json_t *v)
{
    const char *state = restore_text(v, "state"), *names = restore_text(v, "names");
    int64_t next = json_int_or(v, "next", 0), grace = json_int_or(v, "grace", e->grace);

    if (!state || job_state_from(state, &e->state) < 0 || e->state >= JOB_FINISHING)
        e->state = JOB_ASKING; /* nobody writes one of a job that ends */
    e->seq = next > 0 && next <= SUMMARY_NUMBER_MAX ? (uint64_t)next : 0;
    for (size_t i = 0; i < COUNT_OF(summary_engine); i++)
        summary_read_field(&summary_engine[i], v, e);
    if (grace >= 0 && grace <= RESTORE_DELAY_MAX)
        e->grace = grace;
    if (names && engine_set_names(e, names, NULL) == -ENOMEM)
        engine_oom(e);
    read_timers(e, NULL, v);
    summary_read_roles(e, json_object_get(v, "roles"));
}

/* The container of a task that was added since the job began comes into being with it: they stand
 * in the order in which they were made, so that all have the numbers that they had. */
static void make_slot(struct engine *e, const json_t *v)
{
    const char *name = restore_text(v, "task"), *colon = name ? strrchr(name, ':') : NULL;
    struct role *r = colon ? restore_role(e, name, (size_t)(colon - name)) : NULL;
    int64_t rank;

    if (r && str_to_i64(colon + 1, 0, SPEC_TASKS_MAX, &rank) == 0 &&
        rank / r->procs == r->n_slots && engine_add_slots(e, r, r->n_slots + 1) == -ENOMEM)
        engine_oom(e);
}

static void read_slot(struct engine *e, struct slot *s, const json_t *v)
{
    const char *state = restore_text(v, "slot");

    for (int i = 0; state && i < SLOT_STATES_; i++)
        if (str_eq(summary_slots[i], state))
            s->state = (enum slot_state)i;
    s->agent = restore_u32(v, "slot_agent", ENGINE_NO_AGENT);
    if (s->state >= SLOT_GRANTED && s->agent == ENGINE_NO_AGENT)
        s->state = SLOT_IDLE;
    s->leave = json_is_true(json_object_get(v, "leave")) && s->state != SLOT_IDLE;
    s->leaving = json_is_true(json_object_get(v, "leaving")) && s->state != SLOT_IDLE;
    s->moving = json_is_true(json_object_get(v, "moving")) && s->leaving;
    (void)e;
}

static void read_metrics(struct unit *u, const json_t *v)
{
    const json_t *metrics = json_object_get(v, "metrics");

    free(u->metrics);
    u->metrics = json_is_object(metrics) ? json_dumps(metrics, JSON_COMPACT) : NULL;
    if (u->metrics && strlen(u->metrics) > RESTORE_METRICS_MAX)
        free(take(u->metrics));
}

/* A side task whose last container was lost before it could begin. */
static bool is_given_up(const struct engine *e, const struct unit *u)
{
    return u->t.state == TASK_WAITING && role_of(e, u)->side;
}

static void read_task(struct engine *e, const json_t *v)
{
    const char *state = restore_text(v, "state"), *cls = restore_text(v, "class");
    struct unit *u;

    make_slot(e, v);
    u = restore_unit(e, v);
    if (!u || !state || task_state_from(state, &u->t.state) < 0)
        return;
    (void)restore_ports(u, v); /* first: one of the fields says where they are from */
    for (size_t i = 0; i < COUNT_OF(summary_task); i++)
        summary_read_field(&summary_task[i], v, u);
    u->brought = u->brought && u->t.n_ports > 0;
    u->shown = u->reported = u->told;
    u->starting = u->starting && u->t.state == TASK_READY;
    u->t.ready = u->t.ready && u->t.state == TASK_RUNNING;
    u->over = u->over && (task_has_ended(u->t.state) || is_given_up(e, u));
    u->kept = u->kept && u->over;
    u->t.fail = FAIL_NONE;
    if (cls)
        (void)fail_from_key(cls, &u->t.fail);
    read_timers(e, u, v);
    read_metrics(u, v);
    if (restore_text(v, "slot"))
        read_slot(e, &e->slots[u->t.slot], v);
}

static struct budget *budget_named(struct engine *e, const char *name)
{
    struct unit *u = restore_unit_named(e, name);

    if (u)
        return &u->budget;
    if (str_eq(name, "gang"))
        return &e->gang;
    if (str_eq(name, "losses"))
        return &e->losses;
    if (str_eq(name, "files"))
        return &e->files;
    return NULL;
}

static void read_budget(struct engine *e, const json_t *v)
{
    struct budget *b = budget_named(e, restore_text(v, "of"));
    const json_t *list = json_object_get(v, "at");

    for (size_t i = 0; b && i < json_array_size(list); i++)
        if (budget_add(b, json_integer_value(json_array_get(list, i))) < 0)
            engine_oom(e);
}

static void read_story(struct engine *e, const json_t *v)
{
    const struct unit *u = restore_unit(e, v);
    const char *cls = restore_text(v, "class");
    struct failure f;

    restore_facts(v, json_int_or(v, "t", 0), &f);
    if (!u || !cls || fail_from_key(cls, &f.cls) < 0)
        return;
    f.task = u->t.id;
    if (failure_set(&e->story, &f, restore_text(v, "task")) < 0)
        engine_oom(e);
}

/* ---- all of it ---- */

static void count_slots(struct engine *e)
{
    memset(e->in, 0, sizeof(e->in));
    for (uint32_t i = 0; i < e->n_roles; i++) {
        memset(e->roles[i].in, 0, sizeof(e->roles[i].in));
        if (e->roles[i].count > e->roles[i].n_slots)
            e->roles[i].count = e->roles[i].n_slots;
    }
    for (uint32_t i = 0; i < e->n_slots; i++) {
        struct slot *s = &e->slots[i];
        struct role *r = &e->roles[s->role];

        s->retired = s->index >= r->count;
        r->in[s->state] += !s->retired;
        e->in[s->state] += !s->retired;
    }
}

static void count_units(struct engine *e)
{
    memset(e->n, 0, sizeof(e->n));
    e->n_tasks = e->n_live = e->n_kept = e->n_undecided = e->n_down = 0;
    for (uint32_t i = 0; i < e->n_roles; i++) {
        memset(e->roles[i].n, 0, sizeof(e->roles[i].n));
        e->roles[i].n_tasks = e->roles[i].n_ready = e->roles[i].n_over = 0;
    }
    for (uint32_t i = 0; i < e->n_units; i++) {
        struct unit *u = &e->units[i];
        struct role *r = role_of(e, u);

        u->retired = e->slots[u->t.slot].retired;
        e->n_live += unit_live(u);
        e->n_kept += u->kept;
        e->n_down += u->down;
        if (u->retired)
            continue;
        r->n_tasks++;
        e->n_tasks++;
        r->n[u->t.state]++;
        e->n[u->t.state]++;
        r->n_ready += u->t.ready;
        r->n_over += u->over;
        e->n_undecided += r->decides && !u->over;
    }
}

void summary_close(struct engine *e)
{
    if (!e->summing)
        return;
    e->summing = false;
    count_slots(e);
    count_units(e);
    if (e->n_down == 0)
        failure_done(&e->story);
}

static const struct {
    const char *what;
    void (*read)(struct engine *e, const json_t *v);
} records[] = {
    { "task", read_task },
    { "budget", read_budget },
    { "story", read_story },
};

/* Only a new engine has something to learn from it. */
void summary_restore(struct engine *e, const json_t *v)
{
    const char *what = restore_text(v, "what");

    if (str_eq(what, "job") && !e->read && !e->summing) {
        e->summing = true;
        summary_read_job(e, v);
    } else if (str_eq(what, "end")) {
        summary_close(e);
    }
    for (size_t i = 0; e->summing && i < COUNT_OF(records); i++)
        if (str_eq(what, records[i].what))
            records[i].read(e, v);
    e->read = true;
}
