/* yarn_welcome.c - what an agent in a container of YARN is told: its container is where its tasks
 * are, and the container's environment what they build on. */
#include "master/yarn/yarn_welcome.h"
#include "master/welcome.h"
#include "master/yarn/master_yarn_private.h"

#define CUT_LEAST 10000           /* ms, also where YARN waits less */
#define LEASE_MS (15 * 60 * 1000) /* what YARN may need to bring a new master */

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

/* No environment and no directories: a container has its own. `attempt` tells an agent which of two
 * masters is the newer one. */
int yarn_welcome(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                 Agent__JobFacts *facts)
{
    const struct master_container *c = yarn_of(m)->container;

    (void)env;
    facts->staging = c->jobs_uri;
    facts->export_dir = c->logs_uri;
    welcome->lease_ms = LEASE_MS;
    welcome->cut_ms = cut_ms(c);
    welcome->attempt = (uint32_t)c->attempt;
    return 0;
}

/* ---- results ---- */

bool yarn_results_wanted(const struct master *m)
{
    (void)m;
    return true;
}

/* They wait in containers, which are gone then. */
const char *yarn_results_waiting(const struct master *m, const char *to)
{
    (void)m;
    (void)to;
    return NULL;
}

/* Where results go: what the job says, and all of $YDL_OUT in any case. */
int yarn_results(const struct master *m, struct results *r)
{
    const struct spec_files *f = &m->spec.output;
    bool all = false;

    for (size_t i = 0; i < f->n; i++) {
        results_add(r, f->v[i].from, f->v[i].to);
        all |= !*f->v[i].from;
    }
    if (!all && m->facts.out_dir)
        results_add(r, "", m->facts.out_dir);
    return 0;
}
