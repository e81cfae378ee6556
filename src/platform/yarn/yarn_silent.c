/* yarn_silent.c - containers whose agents do not answer any more: each is known to be gone, or to
 * be cut off, before its slot counts as lost. See yarn_platform_private.h.
 *
 *     agent_gone() ──► the ResourceManager takes the container back, and its node is asked:
 *        the NodeManager answers ──► it stops the container ──► and says that it has ended ──► lost
 *        it cannot be reached, while the ResourceManager answers us ───────────────────────► lost
 *        neither of it for some seconds ────────────────────────────────────────────────► lost
 *
 * A replacement starts as soon as the slot is lost, and two tasks of one rank must not run at once.
 * A node that nobody reaches is cut off or dead: its agent has stopped its tasks before
 * (src/agent/link/fence.h). On one whose NodeManager has ended nobody else could end the container.
 * When the ResourceManager does not answer either it is we who may be cut off, and the tasks run
 * on. What the ResourceManager says of a container that it has taken back is no news of its
 * processes.
 */
#include "base/log.h"
#include "loop/sock.h"
#include "platform/yarn/yarn_platform_private.h"

#include <string.h>

#define CONNECT_MS 1300 /* a lost packet is sent again after 1 s */
#define CALL_MS 2000
#define PAUSE_MS 200
#define GONE_MS 5000   /* for a NodeManager that is there, to end the container */
#define ALONE_MS 30000 /* for anybody to answer us */
#define FRESH_MS 4000  /* so old an answer of the ResourceManager counts: less than a silence */

struct silent_call {
    struct yarn_platform *p;
    uint32_t slot;
    struct yarn_container_id id;
    char *host, *why;
    int32_t port;
    int64_t began;
    bool stopped; /* the NodeManager has been told */
};

static void silent_free(struct silent_call *c)
{
    free(c->host);
    free(c->why);
    free(c);
}

bool yarn_silent_is_over(enum yarn_silent_news news, int64_t waited, bool rm_answers)
{
    if (news == YARN_SILENT_ENDED || (news == YARN_SILENT_UNREACHED && rm_answers))
        return true;
    return waited >= (news == YARN_SILENT_UNREACHED ? ALONE_MS : GONE_MS);
}

/* The slot may have been given back meanwhile, and have another container by now. */
void yarn_silent_told(struct yarn_platform *p, uint32_t slot, struct yarn_container_id id,
                      const char *why)
{
    struct yarn_seat *s = yarn_seat_at(p, slot);

    if (!s || s->state != SEAT_SILENT || yarn_container_id_cmp(s->container, id) != 0)
        return;
    yarn_seat_empty(p, s);
    cond_wake_all(&p->changed);
    if (!p->closing)
        p->base.on.on_lost(p->base.on.user, slot, FAIL_NODE, why);
}

/* ---- what its node says ---- */

static enum yarn_silent_news ask_node(struct silent_call *c)
{
    struct yarn_platform *p = c->p;
    struct nm_item item = { .id = c->id };
    const struct nm_at at = { .host = c->host,
                              .port = c->port,
                              .deadline = loop_in(p->loop, CALL_MS) };
    struct err err = ERR_INIT;
    int r = 0;

    if (!c->stopped)
        r = nm_stop(p->nodes, &at, &item, 1, &err);
    c->stopped = c->stopped || r == 0;
    if (r == 0)
        r = nm_look(p->nodes, &at, &item, 1, &err);
    if (r < 0)
        trace(LOG_PLATFORM, "stop a silent container on %s: %s", c->host, err.text);
    return r == 0 && item.ended ? YARN_SILENT_ENDED : YARN_SILENT_THERE;
}

/* A call to a node that is cut off would take long, on a connection that is there: so it is dialled
 * first. */
static enum yarn_silent_news look_once(struct silent_call *c)
{
    AUTO_SOCK *s = NULL;
    struct err err = ERR_INIT;
    int r = sock_connect(c->p->loop, c->host, c->port, loop_in(c->p->loop, CONNECT_MS), &s, &err);

    if (r == 0)
        return ask_node(c);
    trace(LOG_PLATFORM, "a silent container: %s", err.text);
    return YARN_SILENT_UNREACHED;
}

static void run_silent(void *arg)
{
    struct silent_call *c = arg;
    struct yarn_platform *p = c->p;
    bool over = false;

    while (!over && !p->closing) {
        bool rm_answers = loop_now(p->loop) - am_answered(p->am) < FRESH_MS;
        enum yarn_silent_news news;

        am_hurry(p->am);
        news = look_once(c);
        over = yarn_silent_is_over(news, loop_now(p->loop) - c->began, rm_answers) ||
               fiber_sleep(p->loop, PAUSE_MS) < 0;
    }
    yarn_silent_told(p, c->slot, c->id, c->why);
    p->starting--;
    cond_wake_all(&p->changed);
    silent_free(c);
}

/* `starting` counts these fibers too, so that the platform is not freed under them. */
bool yarn_silent_begin(struct yarn_platform *p, uint32_t slot, const char *why)
{
    struct yarn_seat *s = yarn_seat_at(p, slot);
    struct silent_call *c = s->host ? calloc(1, sizeof(*c)) : NULL;

    if (!c)
        return false;
    *c = (struct silent_call){ .p = p,
                               .slot = slot,
                               .id = s->container,
                               .host = strdup(s->host),
                               .why = strdup(why),
                               .port = s->port,
                               .began = loop_now(p->loop) };
    if (!c->host || !c->why || fiber_start(p->loop, run_silent, c, NULL, NULL) < 0) {
        silent_free(c);
        return false;
    }
    p->starting++;
    s->state = SEAT_SILENT;
    (void)amrm_release(am_rm(p->am), s->container, NULL);
    return true;
}
