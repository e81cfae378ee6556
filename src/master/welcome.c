/* welcome.c - what an agent is told when it has joined: where things are, the environment that all
 * tasks share, and which results it has to copy in the end. */
#include "master/welcome.h"
#include "job/protocol.h"
#include "master/master_private.h"

#define HEARTBEAT_MS 2000
#define LAST_LINES 20

/* ---- results ---- */

static void results_done(struct results *r)
{
    free(r->room);
    free(r->list);
    strs_done(&r->made);
}

void results_add(struct results *r, const char *from, const char *to)
{
    Agent__Result *one = &r->room[r->n];

    agent__result__init(one);
    one->from = (char *)from;
    one->to = (char *)to;
    one->always = true;
    r->list[r->n++] = one;
}

/* One row more than the spec has outputs: a platform may add $YDL_OUT itself. */
static int collect_results(const struct master *m, struct results *r)
{
    size_t n = m->spec.output.n + 1;

    if (!m->ops->results_wanted(m))
        return 0;
    r->room = calloc(n, sizeof(*r->room));
    r->list = calloc(n, sizeof(*r->list));
    return r->room && r->list ? m->ops->results(m, r) : -ENOMEM;
}

/* ---- all of it ---- */

/* Everything is borrowed until channel_send() has packed it; nothing of the message is kept. */
static int send_welcome(struct agent_conn *a, const struct results *results, struct strs *env,
                        struct err *err)
{
    const struct master *m = a->master;
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Welcome body = AGENT__WELCOME__INIT;
    Agent__JobFacts facts = AGENT__JOB_FACTS__INIT;

    body.version = (uint32_t)protocol_number(PROTOCOL_AGENT);
    body.acks_saved = true;
    facts.results = results->list;
    facts.n_results = results->n;
    facts.job = m->opt->dir->id;
    facts.owner = m->facts.user ? m->facts.user : (char *)"";
    facts.venv = m->spec.venv ? m->spec.venv : (char *)"";
    facts.hadoop = m->spec.hadoop;
    if (m->ops->welcome(m, env, &body, &facts) < 0)
        return err_oom(err);
    facts.env = env->v;
    facts.n_env = env->n;
    facts.port_low = m->spec.port_low;
    facts.port_high = m->spec.port_high;
    facts.log_limit = m->spec.log_limit;
    facts.log_piece = m->spec.log_rotate;
    facts.log_keep = m->spec.log_keep;
    facts.lines = LAST_LINES;
    body.heartbeat_ms = HEARTBEAT_MS;
    body.silence_ms = AGENTS_SILENCE_MS;
    body.job = &facts;
    msg.body_case = AGENT__TO_AGENT__BODY_WELCOME;
    msg.welcome = &body;
    return channel_send(a->channel, &msg.base, err);
}

int outbox_welcome(struct agent_conn *a, struct err *err)
{
    struct results results = { 0 };
    AUTO_STRS env = { 0 };
    int r = collect_results(a->master, &results);

    r = r < 0 ? err_oom(err) : send_welcome(a, &results, &env, err);
    results_done(&results);
    return r;
}
