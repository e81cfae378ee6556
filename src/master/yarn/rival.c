/* rival.c - a master whom the ResourceManager does not answer may have been given up, and another
 * one started, while its agents still hear it. master.json names the newest: who finds another
 * there decides nothing more, and leaves. Otherwise it would take the agents that have gone to the
 * other one for lost, and end those that have not. */
#include "master/yarn/rival.h"
#include "base/log.h"
#include "base/path.h"

#define LOOK_MS 1000  /* between two looks; an agent that is gone counts as lost much later */
#define ALONE_MS 8000 /* without an answer; no ResourceManager gives us up sooner */
#define WAIT_MS 60000 /* for either to say who has the job, before its end is told without them */
#define FILE_MAX_ (8 * KIB)

/* The attempt that master.json names; 0: nobody knows. */
static int newest(struct master *m)
{
    struct master_container *c = yarn_of(m)->container;
    AUTO_FREE char *path = path_join(c->jobs, "master.json");
    AUTO_BUF text = { .max = FILE_MAX_ };
    AUTO_JSON *v = NULL;
    int attempt = 0;

    if (!path || master_container_load(c, path, &text, NULL) < 0 || text.len == 0 ||
        json_parse(path, text.data, text.len, &v, NULL) < 0)
        return 0;
    return json_unpack(v, "{s:i}", "attempt", &attempt) == 0 ? attempt : 0;
}

static bool is_alone(const struct master *m)
{
    return platform_silence(m->platform) >= ALONE_MS;
}

bool rival_has_job(struct master *m)
{
    return is_alone(m) && newest(m) > yarn_of(m)->container->attempt;
}

/* Looks once, and notes what was found. A file that is not there says nothing: another master may
 * have ended the job and removed it. */
static bool finds_rival(struct master *m)
{
    int64_t began = loop_now(m->loop);
    int attempt = newest(m);

    if (attempt > 0 && attempt <= yarn_of(m)->container->attempt) {
        yarn_of(m)->no_rival_at = began;
        master_wake(m);
    }
    return attempt > yarn_of(m)->container->attempt;
}

void rival_watch(struct master *m)
{
    while (fiber_sleep(m->loop, LOOK_MS) == 0 && !m->ended && !m->over) {
        if (!is_alone(m) || !finds_rival(m) || m->ended) /* it may have ended while we looked */
            continue;
        log_warn(LOG_MASTER, "the ResourceManager does not answer, and another master has the job");
        m->over = true;
        master_wake(m);
    }
}

/* Only for a master that the ResourceManager does not answer. It waits until the ResourceManager
 * answers, or a look that began after this call finds our own attempt in master.json, or another's
 * (`over`), or WAIT_MS have passed. */
int rival_wait(struct master *m)
{
    int64_t since = loop_now(m->loop), until = loop_in(m->loop, WAIT_MS);
    int r = 0;

    while (r == 0 && !m->over && is_alone(m) && yarn_of(m)->no_rival_at < since &&
           loop_now(m->loop) < until) {
        r = cond_wait(m->loop, &m->work, loop_in(m->loop, LOOK_MS));
        if (r == -ETIMEDOUT)
            r = 0;
    }
    return r;
}
