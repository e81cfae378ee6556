/* usage.c - what tasks use, as their agents say it while somebody wants to know. Nothing of it is
 * kept for long: a number that is old says less than none. */
#include "master/master_private.h"

#define ASK_MS 5000   /* agents go on for so long after the last question */
#define FRESH_MS 4000 /* what is older is not told */
#define WAIT_MS 1000  /* for the first numbers */

struct usage {
    uint64_t memory;
    int32_t cpu;  /* thousandths of a processor; -1: not known yet */
    int64_t when; /* loop's clock; 0: never */
};

int usage_set(struct master *m, const Agent__TaskUsage *u)
{
    uint32_t n = engine_n_tasks(m->engine);
    struct usage *v = m->usage.v;

    if (n > m->usage.n) {
        v = realloc(m->usage.v, n * sizeof(*v));
        if (!v)
            return -ENOMEM;
        for (uint32_t i = m->usage.n; i < n; i++)
            v[i] = (struct usage){ .cpu = -1 };
        m->usage.v = v;
        m->usage.n = n;
    }
    if (u->task >= n)
        return 0;
    v[u->task] = (struct usage){ u->memory, u->cpu, loop_now(m->loop) };
    cond_wake_all(&m->usage.measured);
    return 0;
}

void usage_done(struct master *m)
{
    free(m->usage.v);
    m->usage.v = NULL;
    m->usage.n = 0;
}

static void usage_ask(struct master *m)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Measure body = AGENT__MEASURE__INIT;

    body.ms = ASK_MS;
    msg.body_case = AGENT__TO_AGENT__BODY_MEASURE;
    msg.measure = &body;
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i] && m->agents.v[i]->channel)
            outbox_send(m->agents.v[i], &msg);
}

static const struct usage *fresh(const struct master *m, uint32_t task)
{
    const struct usage *u = task < m->usage.n ? &m->usage.v[task] : NULL;

    return u && u->when && loop_now(m->loop) - u->when < FRESH_MS ? u : NULL;
}

/* Does a task run of which nothing is known, though its agent is there? */
static bool usage_lacks(const struct master *m)
{
    const struct task *t = NULL;

    while ((t = engine_next_in_gang(m->engine, t))) {
        const struct usage *u = fresh(m, t->id);
        const struct agent_conn *a = agents_get(m, t->agent);

        if (t->state == TASK_RUNNING && (!u || u->cpu < 0) && a && a->channel)
            return true;
    }
    return false;
}

/* Agents measure only while they are asked to, for ASK_MS after each question. The first question
 * of a `top` waits a moment for numbers; the next ones find those of a second ago. */
int usage_wait(struct master *m, struct err *err)
{
    int64_t deadline = loop_in(m->loop, WAIT_MS);
    int r = 0;

    usage_ask(m);
    while (r == 0 && usage_lacks(m) && !m->ended)
        r = cond_wait(m->loop, &m->usage.measured, deadline);
    return r == 0 || r == -ETIMEDOUT ? 0 : err_set(err, r, "interrupted");
}

static int add_one(struct master *m, json_t *task)
{
    const char *name = json_string_value(json_object_get(task, "task"));
    const struct usage *u = NULL;
    uint32_t id = 0;

    if (name && engine_find_task(m->engine, name, &id, NULL) == 0 &&
        engine_task(m->engine, id)->state == TASK_RUNNING)
        u = fresh(m, id);
    if (!u)
        return 0;
    if (u->cpu >= 0 && json_object_set_new(task, "cpu", json_real(u->cpu / 1000.0)) < 0)
        return -ENOMEM;
    return json_object_set_new(task, "memory", json_integer((json_int_t)u->memory));
}

int usage_add(struct master *m, json_t *status, struct err *err)
{
    json_t *tasks = json_object_get(status, "tasks"), *task;
    size_t i;

    json_array_foreach(tasks, i, task)
    {
        if (add_one(m, task) < 0)
            return err_oom(err);
    }
    return 0;
}
