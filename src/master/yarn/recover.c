/* recover.c - a master that takes over: the log of those before it, read back.
 *
 *     BASE/logs/APP/events-1.jsonl, events-1.1.jsonl, events-2.jsonl … ──► journal, engine
 *     its agents' containers ──► platform, slots
 *
 * The agents come by themselves: they look for us. */
#include "master/yarn/recover.h"
#include "base/log.h"
#include "job/agent_log.h"
#include "job/engine/state.h"
#include "job/protocol.h"
#include "job/segment.h"
#include "master/yarn/log_segments.h"
#include "master/yarn/missing_output.h"

#include <stdio.h>
#include <string.h>

#define BATCH (256 * KIB) /* of the log at a time */

#define NUMBERS_UNWRITTEN 4096 /* that the last master may have given out and not written down */

struct recovery {
    struct agent_log agents;
    bool any;
    bool begun; /* a record was read that happened: a summary has nothing to say any more */
    struct master *m;
    struct segment_seen seen;
    struct buf batch; /* lines on their way into our journal */
    struct err *err;
};

/* ---- agents ---- */

/* The containers of those that a slot has are there to be taken over. */
static int keep_agent(struct recovery *x, const json_t *v)
{
    const char *state = json_string_value(json_object_get(v, "state"));
    const char *node = json_string_value(json_object_get(v, "node"));
    const struct engine *e = x->m->engine;

    for (uint32_t i = 0; agent_log_is_long(&x->agents) && i < engine_n_slots(e); i++) {
        struct logged_agent *k = agent_log_find(&x->agents, engine_slot_agent(e, i));

        if (k)
            k->used = true;
    }
    if (agent_log_is_long(&x->agents))
        agent_log_forget(&x->agents);
    if (!str_eq(state, "up") && outputs_restore(x->m, v, node) < 0)
        return -ENOMEM;
    return agent_log_add(&x->agents, v);
}

void recover_done(struct master *m)
{
    struct recovery *x = take(yarn_of(m)->recovery);

    if (x)
        agent_log_done(&x->agents);
    free(x);
}

/* May a record tell something that the engine does not care for? Most do not, and are many. */
static bool says_more(const char *line, size_t n)
{
    static const char *const words[] = { "\"agent\",",    "\"avoid\"",  "\"lift\"", "\"unsaved\"",
                                         "\"published\"", "\"leaves\"", "\"stays\"" };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (memmem(line, n, words[i], strlen(words[i])))
            return true;
    return false;
}

static const char *recover_text_of(const json_t *v)
{
    const char *text = json_string_value(json_object_get(v, "text"));

    return text ? text : "";
}

/* Besides the engine this is read back: agents with what they owe, nodes that are avoided or leave,
 * what was published, and that results could not be saved. says_more() looks for a few words before
 * the line is parsed a second time: most records have none of them. */
static int restore_line(struct recovery *x, const char *line, size_t n, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *event, *what;
    int r = 0;

    if (!says_more(line, n) || json_parse("the events log", line, n, &v, NULL) < 0)
        return 0;
    event = json_string_value(json_object_get(v, "event"));
    what = json_string_value(json_object_get(v, "what"));
    if (str_eq(event, "agent") || (str_eq(event, "summary") && str_eq(what, "agent")))
        r = keep_agent(x, v);
    else if (str_eq(event, "note") || (str_eq(event, "summary") && str_eq(what, "avoid")))
        r = node_faults_restore(x->m, v);
    if (r == 0 && (str_eq(event, "note") || (str_eq(event, "summary") && str_eq(what, "leaves"))))
        r = leaving_restore(x->m, v);
    if (str_eq(event, "note"))
        publish_restore(x->m, v);
    if (str_eq(event, "note") && json_is_true(json_object_get(v, "unsaved")) && !x->m->save.unsaved)
        x->m->save.unsaved = str_printf("%s", recover_text_of(v));
    return r < 0 ? err_oom(err) : 0;
}

/* Hands a batch to our journal, and the loop to others. */
static int flush_batch(struct recovery *x)
{
    if (x->batch.len > 0)
        journal_append(&x->m->journal, x->batch.data, x->batch.len);
    buf_reset(&x->batch);
    return fiber_yield(x->m->loop);
}

/* A summary counts only at the beginning: behind records that happened it says what they said
 * already. A line that was cut short by the death of its writer is skipped, as its segment goes on
 * in the next one. What is read goes into our journal too, so that readers see one log. */
static int recover_on_line(void *arg, const char *line, size_t n)
{
    struct recovery *x = arg;
    bool summary = segment_is_summary(line, n);
    int r;

    if (n == 0 || segment_seen_before(&x->seen, line, n) || (summary && x->begun))
        return 0;
    r = protocol_check_line(PROTOCOL_EVENTS, line, n, x->err);
    if (r < 0)
        return r;
    x->begun = x->begun || !summary;
    r = engine_restore(x->m->engine, line, n, x->err);
    if (r == -EINVAL) {
        log_warn(LOG_MASTER, "a record of the log is cut short, ignoring: %s", x->err->text);
        err_clear(x->err);
        return 0;
    }
    if (r == 0)
        r = restore_line(x, line, n, x->err);
    if (r == 0 && (buf_add(&x->batch, line, n) < 0 || buf_add(&x->batch, "\n", 1) < 0))
        r = err_oom(x->err);
    x->any = true;
    return r == 0 && x->batch.len >= BATCH ? flush_batch(x) : r;
}

int recover_read(struct master *m, struct err *err)
{
    const struct parts events = {
        .dir = yarn_of(m)->container->logs,
        .head = "events",
        .tail = "jsonl",
    };
    struct recovery *x;
    int r;

    if (yarn_of(m)->container->attempt <= 1)
        return 0;
    x = yarn_of(m)->recovery = calloc(1, sizeof(*x));
    if (!x)
        return err_oom(err);
    x->m = m;
    x->err = err;
    buf_init(&x->batch, BATCH + FS_LINE_MAX + 1);
    r = parts_lines(m, &events, recover_on_line, x, err);
    if (r == 0)
        r = flush_batch(x);
    buf_done(&x->batch);
    yarn_of(m)->recovered = m->journal.size; /* that is in HDFS already */
    return r < 0 || !x->any ? r : kvlog_restore(m, err);
}

/* ---- taking over ---- */

/* It may not come back to say itself what it has. */
static void expect_output(struct master *m, const struct agent_conn *a, const struct task *t)
{
    bool ran = t->state == TASK_RUNNING || task_has_ended(t->state);

    if (!ran && t->attempt == 0)
        return;
    outputs_started(m, a, t->id, ran ? t->attempt : t->attempt - 1);
    hub_task_ran(m, t->id);
}

/* The agent is expected under its old number, its slot is set, and the platform knows its
 * container, as if we had been granted it. Until it is here `adopted` gives it the time to find us.
 */
static int recover_adopt(struct master *m, uint32_t slot, uint32_t agent,
                         const struct logged_agent *k, struct err *err)
{
    uint32_t role, first, n;
    struct agent_conn *a;
    int r = agents_expect(m, agent, err);

    engine_slot(m->engine, slot, &role, &first, &n);
    if (r == 0)
        r = drive_set_slot(m, slot, agent, err);
    if (r == 0)
        r = yarn_adopt(m->platform, slot, &m->spec.roles[role], agent, k->container, err);
    if (r < 0)
        return r;
    a = agents_get(m, agent);
    (void)snprintf(a->node, sizeof(a->node), "%s", k->node);
    (void)snprintf(a->host, sizeof(a->host), "%s", k->host);
    (void)agents_container(a);
    a->adopted = true;
    for (uint32_t i = first; i < first + n; i++)
        expect_output(m, a, engine_task(m->engine, i));
    return 0;
}

static int adopt_all(struct master *m, struct recovery *x, struct err *err)
{
    bool ended = job_has_ended(engine_state(m->engine));
    int r = 0;

    for (uint32_t i = 0; i < engine_n_slots(m->engine) && r == 0; i++) {
        uint32_t agent = engine_slot_agent(m->engine, i);
        const struct logged_agent *k = agent_log_find(&x->agents, agent);

        if (!engine_slot_is_away(m->engine, i) || (k && k->saved && ended))
            continue;
        if (k && *k->container && !k->lost && !k->saved)
            r = recover_adopt(m, i, agent, k, err);
        else /* granted, but its agent never came: YARN knows it, we do not */
            r = engine_on_lost(m->engine, i, FAIL_NODE, "its master was lost before it had begun",
                               master_now(m), err);
    }
    return r;
}

/* It saves what its tasks left, and its master is gone that would have heard of it: the end of its
 * container says how that went. */
static int recover_adopt_leaver(struct master *m, const struct logged_agent *k, struct err *err)
{
    struct agent_conn *a;
    int r = agents_expect(m, k->number, err);

    if (r == 0)
        r = yarn_adopt_leaver(m->platform, k->number, k->container, err);
    if (r < 0)
        return r;
    a = agents_get(m, k->number);
    (void)snprintf(a->node, sizeof(a->node), "%s", k->node);
    (void)snprintf(a->host, sizeof(a->host), "%s", k->host);
    a->container = strdup(k->container);
    a->adopted = a->leaving = true;
    return a->container ? 0 : err_oom(err);
}

static int adopt_leavers(struct master *m, const struct recovery *x, struct err *err)
{
    int r = 0;

    for (uint32_t i = 0; i < x->agents.n && r == 0; i++) {
        const struct logged_agent *k = &x->agents.v[i];

        if (k->leaving && *k->container && !agents_get(m, k->number))
            r = recover_adopt_leaver(m, k, err);
    }
    return r;
}

const struct agent_log *recover_agents(const struct master *m)
{
    return &yarn_of(m)->recovery->agents;
}

/* The numbers of new agents begin far behind the last known one: the master before may have given
 * out some and died before it wrote them down, and two agents must never have the same. */
int recover_job(struct master *m, struct err *err)
{
    struct recovery *x = yarn_of(m)->recovery;
    bool any = x && x->any;
    int r = 0;

    if (any) {
        log_info(LOG_MASTER, "attempt %d takes the job over", yarn_of(m)->container->attempt);
        r = engine_resume(m->engine, master_now(m), err);
        yarn_count_from(m->platform, engine_last_agent(m->engine) + NUMBERS_UNWRITTEN);
        node_faults_resume(m);
        if (r == 0)
            r = adopt_all(m, x, err);
        if (r == 0)
            r = adopt_leavers(m, x, err);
        if (r == 0 && (engine_generation(m->engine) > 0 || engine_state(m->engine) == JOB_RUNNING))
            r = form_resume(m, err);
    } else if (x)
        yarn_count_from(m->platform,
                        (uint32_t)(yarn_of(m)->container->attempt - 1) * NUMBERS_UNWRITTEN);
    recover_done(m);
    return r < 0 ? r : any;
}
