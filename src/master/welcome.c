/* welcome.c - what an agent is told when it has joined: where things are and the environment that
 * all tasks share, which is the master's own: the one the user had. */
#include "base/path.h"
#include "job/protocol.h"
#include "master/master_private.h"

#include <string.h>

#define HEARTBEAT_MS 2000
#define LAST_LINES 20
#define CUT_LEAST 10000           /* ms, also where YARN waits less */
#define LEASE_MS (15 * 60 * 1000) /* what YARN may need to bring a new master */

/* Ours, and none of a task's business. */
static bool is_private(const char *entry)
{
    static const char *const names[] = { "YDL_TRACE=", "YDL_LOG=", "YDL_PLAN=", "YDL_ON=" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_starts(entry, names[i]))
            return true;
    return false;
}

static int collect_env(struct strs *env)
{
    int r = 0;

    for (char **e = environ; *e && r == 0; e++)
        r = is_private(*e) ? 0 : strs_add(env, *e);
    return r;
}

/* Somewhat sooner than YARN gives up a node that it does not hear, and starts what ran there
 * elsewhere. */
static uint32_t cut_ms(const struct master_container *c)
{
    int64_t ms = 0;

    if (!c->session || conf_ms(session_conf(c->session),
                               "yarn.nm.liveness-monitor.expiry-interval-ms", &ms, NULL) < 0)
        return 0;
    return ms / 5 * 4 > CUT_LEAST ? (uint32_t)(ms / 5 * 4 < UINT32_MAX ? ms / 5 * 4 : 0)
                                  : CUT_LEAST;
}

/* With files of its own a task has a directory of its own, as on a cluster. */
static bool own_directories(const struct spec *s)
{
    bool own = s->files.n || s->archives.n;

    for (size_t i = 0; i < s->n_roles; i++)
        own |= s->roles[i].files.n || s->roles[i].archives.n;
    return own;
}

/* ---- results ---- */

/* What agents are told to copy; the strings that are not the job's own are in `made`. */
struct results {
    Agent__Result *room, **list;
    size_t n;
    struct strs made;
};

static void results_done(struct results *r)
{
    free(r->room);
    free(r->list);
    strs_done(&r->made);
}

static void add_result(struct results *r, const char *from, const char *to)
{
    Agent__Result *one = &r->room[r->n];

    agent__result__init(one);
    one->from = (char *)from;
    one->to = (char *)to;
    one->always = true;
    r->list[r->n++] = one;
}

/* On this machine all of $YDL_OUT that goes to a directory here is made there. */
static bool welcome_stays(const struct spec_file *f)
{
    return !*f->from && !spec_is_remote(f->to);
}

bool results_wanted(const struct master *m)
{
    bool wanted = m->opt->container != NULL;

    for (size_t i = 0; i < m->spec.output.n; i++)
        wanted = wanted || !welcome_stays(&m->spec.output.v[i]) || i > 0;
    return wanted;
}

const char *results_waiting(const struct master *m, const char *to)
{
    const struct spec_files *f = &m->spec.output;
    bool waits = false;

    for (size_t i = 0; i < f->n; i++) {
        if (welcome_stays(&f->v[i]))
            return NULL;
        waits = waits || (!*f->v[i].from && (!to || str_eq(f->v[i].to, to)));
    }
    return waits && !m->opt->container ? m->out_dir : NULL;
}

/* Where results go: what the job says, and all of $YDL_OUT in any case. */
static void collect_on_yarn(const struct master *m, struct results *r)
{
    const struct spec_files *f = &m->spec.output;
    bool all = false;

    for (size_t i = 0; i < f->n; i++) {
        add_result(r, f->v[i].from, f->v[i].to);
        all |= !*f->v[i].from;
    }
    if (!all && m->out_dir)
        add_result(r, "", m->out_dir);
}

/* A path below `dir` that lives as long as `r`; NULL when out of memory. */
static const char *below(struct results *r, const char *dir, const char *name)
{
    return strs_take(&r->made, path_join(dir, name)) < 0 ? NULL : r->made.v[r->made.n - 1];
}

/* Tasks share $YDL_OUT, and a directory to run in, unless the job brings files of its own. */
static int collect_here(const struct master *m, struct results *r)
{
    const char *cwd = m->cwd ? m->cwd : "/";

    for (size_t i = 0; i < m->spec.output.n; i++) {
        const struct spec_file *f = &m->spec.output.v[i];
        const char *from = f->from, *to = f->to;

        if (!*from)
            from = m->out_dir;
        else if (!own_directories(&m->spec))
            from = below(r, cwd, from);
        if (!spec_is_remote(to))
            to = below(r, cwd, to);
        if (!from || !to)
            return -ENOMEM;
        if (!str_eq(from, to))
            add_result(r, from, to);
    }
    return 0;
}

static int collect_results(const struct master *m, struct results *r)
{
    size_t n = m->spec.output.n + 1;

    if (!results_wanted(m))
        return 0;
    r->room = calloc(n, sizeof(*r->room));
    r->list = calloc(n, sizeof(*r->list));
    if (!r->room || !r->list)
        return -ENOMEM;
    if (!m->opt->container)
        return collect_here(m, r);
    collect_on_yarn(m, r);
    return 0;
}

/* ---- all of it ---- */

static int send_welcome(struct agent_conn *a, const struct strs *env, const struct results *results,
                        struct err *err)
{
    const struct master *m = a->master;
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Welcome body = AGENT__WELCOME__INIT;
    Agent__JobFacts facts = AGENT__JOB_FACTS__INIT;

    body.version = (uint32_t)protocol_number(PROTOCOL_AGENT);
    facts.results = results->list;
    facts.n_results = results->n;
    facts.job = m->opt->dir->id;
    facts.owner = m->user ? m->user : (char *)"";
    facts.venv = m->spec.venv ? m->spec.venv : (char *)"";
    facts.hadoop = m->spec.hadoop;
    if (m->opt->container) {
        /* The agent's container is where its tasks are, and its environment what they build on. */
        facts.staging = m->opt->container->jobs_uri;
        facts.export_dir = m->opt->container->logs_uri;
        body.lease_ms = LEASE_MS;
        body.cut_ms = cut_ms(m->opt->container);
        body.attempt = (uint32_t)m->opt->container->attempt;
    } else {
        facts.log_dir = m->log_dir;
        facts.work_dir = m->work_dir;
        facts.cwd = own_directories(&m->spec) || !m->cwd ? (char *)"" : m->cwd;
    }
    facts.env = env->v;
    facts.n_env = env->n;
    facts.port_low = m->spec.port_low;
    facts.port_high = m->spec.port_high;
    facts.log_limit = m->spec.log_limit;
    facts.log_piece = m->spec.log_rotate;
    facts.log_keep = m->spec.log_keep;
    facts.lines = LAST_LINES;
    body.heartbeat_ms = HEARTBEAT_MS;
    body.job = &facts;
    msg.body_case = AGENT__TO_AGENT__BODY_WELCOME;
    msg.welcome = &body;
    return channel_send(a->channel, &msg.base, err);
}

int outbox_welcome(struct agent_conn *a, struct err *err)
{
    const struct master *m = a->master;
    struct results results = { 0 };
    AUTO_STRS env = { 0 };
    int r = m->opt->container ? 0 : collect_env(&env);

    if (r == 0)
        r = collect_results(m, &results);
    r = r < 0 ? err_oom(err) : send_welcome(a, &env, &results, err);
    results_done(&results);
    return r;
}
