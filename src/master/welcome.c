/* welcome.c - what an agent is told when it has joined: where things are and the environment that
 * all tasks share, which is the master's own: the one the user had. */
#include "master/master_private.h"

#include <string.h>

#define HEARTBEAT_MS 2000
#define LAST_LINES 20
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

/* A Python environment comes first in PATH, as when it is activated. */
static int add_venv(const struct master *m, const char *path, struct strs *env)
{
    int r = strs_take(env, str_printf("VIRTUAL_ENV=%s", m->spec.venv));

    return r < 0 ? r : strs_take(env, str_printf("PATH=%s/bin:%s", m->spec.venv, path));
}

static int collect_env(const struct master *m, struct strs *env)
{
    const char *path = getenv("PATH");
    int r = 0;

    for (char **e = environ; *e && r == 0; e++) {
        if (is_private(*e) ||
            (m->spec.venv && (str_starts(*e, "PATH=") || str_starts(*e, "VIRTUAL_ENV="))))
            continue;
        r = strs_add(env, *e);
    }
    if (r == 0 && m->spec.venv)
        r = add_venv(m, path ? path : "/usr/bin:/bin", env);
    return r;
}

/* With files of its own a task has a directory of its own, as on a cluster. */
static bool own_directories(const struct spec *s)
{
    bool own = s->files.n || s->archives.n;

    for (size_t i = 0; i < s->n_roles; i++)
        own |= s->roles[i].files.n || s->roles[i].archives.n;
    return own;
}

static void add_result(Agent__Result *room, Agent__Result **list, size_t at,
                       const struct spec_file *f)
{
    agent__result__init(&room[at]);
    room[at].from = f->from;
    room[at].to = f->to;
    room[at].always = true;
    list[at] = &room[at];
}

/* Where results go: what the job says, and on YARN all of $YDL_OUT in any case. */
static int collect_results(const struct master *m, Agent__Result **ret_room, Agent__Result ***ret,
                           size_t *ret_n)
{
    const struct spec_files *f = &m->spec.output;
    const struct spec_file rest = { .from = (char *)"", .to = m->out_dir };
    bool all = false;

    if (!m->opt->container)
        return 0;
    *ret_room = calloc(f->n + 1, sizeof(**ret_room));
    *ret = calloc(f->n + 1, sizeof(**ret));
    if (!*ret_room || !*ret)
        return -ENOMEM;
    for (size_t i = 0; i < f->n; i++) {
        add_result(*ret_room, *ret, (*ret_n)++, &f->v[i]);
        all |= !*f->v[i].from;
    }
    if (!all && m->out_dir)
        add_result(*ret_room, *ret, (*ret_n)++, &rest);
    return 0;
}

int outbox_welcome(struct agent_conn *a, struct err *err)
{
    const struct master *m = a->master;
    AUTO_STRS env = { 0 };
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Welcome body = AGENT__WELCOME__INIT;
    Agent__JobFacts facts = AGENT__JOB_FACTS__INIT;

    AUTO_FREE Agent__Result *room = NULL;
    AUTO_FREE Agent__Result **results = NULL;

    if ((!m->opt->container && collect_env(m, &env) < 0) ||
        collect_results(m, &room, &results, &facts.n_results) < 0)
        return err_oom(err);
    facts.results = results;
    facts.job = m->opt->dir->id;
    facts.owner = m->user ? m->user : (char *)"";
    if (m->opt->container) {
        /* The agent's container is where its tasks are, and its environment what they build on. */
        facts.staging = m->opt->container->jobs_uri;
        facts.export_dir = m->opt->container->logs_uri;
        body.lease_ms = LEASE_MS;
    } else {
        facts.log_dir = m->log_dir;
        facts.work_dir = m->work_dir;
        facts.cwd = own_directories(&m->spec) || !m->cwd ? (char *)"" : m->cwd;
    }
    facts.env = env.v;
    facts.n_env = env.n;
    facts.port_low = m->spec.port_low;
    facts.port_high = m->spec.port_high;
    facts.log_limit = m->spec.log_limit;
    facts.lines = LAST_LINES;
    body.heartbeat_ms = HEARTBEAT_MS;
    body.job = &facts;
    msg.body_case = AGENT__TO_AGENT__BODY_WELCOME;
    msg.welcome = &body;
    return channel_send(a->channel, &msg.base, err);
}
