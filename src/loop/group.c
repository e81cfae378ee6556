/* group.c - fibers that are waited for together: the first failure cancels the rest, and nobody
 * returns before all have ended, because they use memory of the one who waits. See fiber.h. */
#include "base/auto.h"
#include "loop/fiber.h"

struct group_member {
    struct group *group;
    struct group_member *prev, *next;
    int (*fn)(void *arg, struct err *err);
    void *arg;
    struct fiber *fiber;
};

void group_init(struct group *g, struct loop *l, size_t limit)
{
    *g = (struct group){ .loop = l, .limit = limit };
}

void group_cancel(struct group *g)
{
    for (struct group_member *m = g->members; m; m = m->next)
        fiber_cancel(m->fiber);
}

static void group_leave(struct group_member *m)
{
    struct group *g = m->group;

    if (m->prev)
        m->prev->next = m->next;
    else
        g->members = m->next;
    if (m->next)
        m->next->prev = m->prev;
    g->running--;
    free(m);
    cond_wake_all(&g->changed);
}

/* Only the first failure is kept. Those that fail because they were cancelled for it come later and
 * change nothing. */
static void run_member(void *arg)
{
    struct group_member *m = arg;
    struct group *g = m->group;
    struct err err = ERR_INIT;
    int r = m->fn(m->arg, &err);

    if (r < 0 && g->result == 0) {
        g->result = r;
        g->err = err;
        group_leave(m); /* first, so that it does not cancel itself */
        group_cancel(g);
        return;
    }
    group_leave(m);
}

static int group_wait_for_room(struct group *g, struct err *err)
{
    while (g->result == 0 && g->limit && g->running >= g->limit) {
        int r = cond_wait(g->loop, &g->changed, LOOP_NEVER);

        if (r < 0)
            return err_set(err, r, "interrupted");
    }
    if (g->result < 0 && err)
        *err = g->err;
    return g->result;
}

/* With a limit this waits for room, and so does whoever adds: a list of a million files needs no
 * million fibers. A group that has failed takes nobody any more. */
int group_go(struct group *g, int (*fn)(void *arg, struct err *err), void *arg, struct err *err)
{
    AUTO_FREE struct group_member *m = NULL;
    int r = group_wait_for_room(g, err);

    if (r < 0)
        return r;
    m = calloc(1, sizeof(*m));
    if (!m)
        return err_oom(err);
    *m = (struct group_member){ .group = g, .fn = fn, .arg = arg };
    r = fiber_start(g->loop, run_member, m, &m->fiber, err);
    if (r < 0)
        return r;
    m->next = g->members;
    if (g->members)
        g->members->prev = m;
    g->members = m;
    g->running++;
    (void)take(m);
    return 0;
}

int group_wait(struct group *g, struct err *err)
{
    bool cancelled = false;

    while (g->running > 0) {
        int r = cond_wait(g->loop, &g->changed, LOOP_NEVER);

        if (r < 0 && !cancelled) {
            /* We are cancelled: so are they, and then they are waited for all the same. */
            cancelled = true;
            group_cancel(g);
            fiber_shield(g->loop, true);
        }
    }
    if (cancelled) {
        fiber_shield(g->loop, false);
        if (g->result == 0)
            return err_set(err, -ECANCELED, "interrupted");
    }
    if (g->result < 0 && err)
        *err = g->err;
    return g->result;
}

int group_all(struct loop *l, int (*const *fns)(void *arg, struct err *err), size_t n, void *arg,
              struct err *err)
{
    struct group g;
    int r = 0, waited;

    group_init(&g, l, 0);
    for (size_t i = 0; i < n && r == 0; i++)
        r = group_go(&g, fns[i], arg, err);
    if (r < 0)
        group_cancel(&g);
    waited = group_wait(&g, r < 0 ? NULL : err);
    return r < 0 ? r : waited;
}
