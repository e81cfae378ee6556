/* rival.c - a master whom the ResourceManager does not answer may have been given up, and another
 * one started, while its agents still hear it. master.json names the newest: who finds another
 * there decides nothing more, and leaves. Otherwise it would take the agents that have gone to the
 * other one for lost, and end those that have not. */
#include "master/rival.h"
#include "base/log.h"
#include "base/path.h"

#define LOOK_MS 2000  /* between two looks; an agent that is gone counts as lost much later */
#define ALONE_MS 8000 /* without an answer; no ResourceManager gives us up sooner */
#define FILE_MAX_ (8 * KIB)

/* The attempt that master.json names; 0: nobody knows. */
static int newest(struct master *m)
{
    struct container *c = m->opt->container;
    AUTO_FREE char *path = path_join(c->jobs, "master.json");
    AUTO_BUF text = { .max = FILE_MAX_ };
    AUTO_JSON *v = NULL;
    int attempt = 0;

    if (!path || container_load(c, path, &text, NULL) < 0 || text.len == 0 ||
        json_parse(path, text.data, text.len, &v, NULL) < 0)
        return 0;
    return json_unpack(v, "{s:i}", "attempt", &attempt) == 0 ? attempt : 0;
}

bool rival_has_job(struct master *m)
{
    const struct platform_ops *ops = m->platform ? m->platform->ops : NULL;

    return ops && ops->silence && ops->silence(m->platform) >= ALONE_MS &&
           newest(m) > m->opt->container->attempt;
}

void rival_watch(struct master *m)
{
    while (fiber_sleep(m->loop, LOOK_MS) == 0 && !m->ended && !m->over) {
        if (!rival_has_job(m) || m->ended) /* it may have ended while we looked */
            continue;
        log_warn(LOG_MASTER, "the ResourceManager does not answer, and another master has the job");
        m->over = true;
        master_wake(m);
    }
}
