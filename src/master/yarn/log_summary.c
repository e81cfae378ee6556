/* log_summary.c - now and then a segment of the events log in HDFS begins with everything that the
 * log said before, so that a new master reads from there and not the whole past.
 *
 *     events-1.jsonl    8 MB of records
 *     events-1.1.jsonl  a summary, 8 MB of records
 *     events-1.2.jsonl  a summary, the records since          ◄ a new master reads this
 *
 * A gang of a thousand writes 0.6 MB each time it starts again, for weeks if need be. The segments
 * before the last one stay where they are: people read them. */
#include "base/log.h"
#include "master/yarn/missing_output.h"

#define EVERY (8 * MIB)   /* of records, at least … */
#define EVERY_SUMMARIES 8 /* … and as much as so many summaries */
#define TEXT_MAX (256 * MIB)

struct own_lines {
    struct master *m;
    struct buf *out;
    int r;
};

static void begin_own(struct own_lines *x, const char *what, struct event *ret)
{
    event_begin_live(ret, x->out, master_now(x->m), EVENT_SUMMARY);
    event_str(ret, "what", what);
}

static void end_own(struct own_lines *x, struct event *e)
{
    if (event_end(e) < 0)
        x->r = -ENOMEM;
}

/* As agents_tell() says it. */
static void put_agent(struct own_lines *x, struct agent_conn *a)
{
    bool up = !a->saved && !a->leaving;
    struct event e;

    begin_own(x, "agent", &e);
    event_int(&e, "agent", a->number);
    event_str(&e, "state", a->saved ? "saved" : a->leaving ? "leaving" : "up");
    event_str(&e, "node", a->node);
    event_str(&e, "host", a->host);
    if (platform_has_containers(x->m->platform))
        event_str(&e, "container", agents_container(a));
    if (!up)
        outputs_put(x->m, a->number, &e);
    end_own(x, &e);
}

/* Of those that are gone only what they did not save. */
static void put_owed(void *arg, uint32_t agent, const char *node)
{
    struct own_lines *x = arg;
    const struct agent_conn *a = agents_get(x->m, agent);
    struct event e;

    if (a && !a->lost)
        return;
    begin_own(x, "agent", &e);
    event_int(&e, "agent", agent);
    event_str(&e, "state", "lost");
    event_str(&e, "node", node);
    outputs_put(x->m, agent, &e);
    end_own(x, &e);
}

static void put_avoided(void *arg, const char *node)
{
    struct own_lines *x = arg;
    struct event e;

    begin_own(x, "avoid", &e);
    event_str(&e, "avoid", node);
    end_own(x, &e);
}

static void put_leaving(void *arg, const char *node, int64_t until)
{
    struct own_lines *x = arg;
    struct event e;

    begin_own(x, "leaves", &e);
    event_str(&e, "leaves", node);
    if (until)
        event_int(&e, "until", until);
    end_own(x, &e);
}

/* What the engine does not know, and recover.c wants. */
static int put_own(struct master *m, struct buf *out)
{
    struct own_lines x = { .m = m, .out = out };

    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i] && !m->agents.v[i]->lost && m->agents.v[i]->node[0])
            put_agent(&x, m->agents.v[i]);
    outputs_each(m, put_owed, &x);
    if (m->avoid)
        blacklist_each(m->avoid, put_avoided, &x);
    leaving_each(m, put_leaving, &x);
    return x.r;
}

static int make_summary(struct master *m, struct buf *out)
{
    const struct engine_facts facts = master_facts(m);
    int r = engine_summary(m->engine, &facts, master_now(m), out);

    if (r == 0)
        r = put_own(m, out);
    return r < 0 ? r : engine_summary_end(out, master_now(m));
}

/* One at a time: the next one when this is in HDFS. A job that ends has no need of one, and of
 * results that could not be saved only the log tells. */
static bool is_time(const struct master *m)
{
    const struct summary *s = &yarn_of(m)->summary;
    uint64_t every = s->every ? s->every : EVERY;

    return yarn_of(m)->mirror && s->text.len == 0 && !m->save.unsaved &&
           engine_state(m->engine) < JOB_FINISHING &&
           m->journal.size - s->at >= every + EVERY_SUMMARIES * (uint64_t)s->len;
}

/* Called when journal and engine agree (tell_events()), so the summary is of exactly the first `at`
 * bytes. Its text waits in memory for the mirror, which begins the next segment with it. */
void summary_look(struct master *m)
{
    struct summary *s = &yarn_of(m)->summary;

    if (!is_time(m))
        return;
    buf_init(&s->text, TEXT_MAX);
    s->at = m->journal.size;
    if (make_summary(m, &s->text) < 0) {
        log_warn(LOG_MASTER, "no memory for a summary of the events log, ignoring");
        buf_done(&s->text);
    }
    s->len = s->text.len;
}

void summary_done(struct summary *s)
{
    buf_done(&s->text);
}
