/* keytab_watch.c - newer tokens in time, for a job that has its owner's keytab with it.
 *
 *     submit ──3/4 of the tokens' life──► helper ──► us, agents, containers to come
 *                                           ▲ half of the time they are good │
 *                                           └────────────────────────────────┘
 *
 * Half, so that whoever lost us has tokens that are good for long enough to find our successor. */
#include "base/log.h"
#include "master/yarn/keytab.h"
#include "master/yarn/master_tokens.h"
#include "master/yarn/master_yarn_private.h"

#include <stdio.h>

struct keytab_watch {
    struct master *m;
    struct fiber *fiber;
    int64_t due;       /* loop's clock */
    int64_t span;      /* how long tokens are good; 0: not known yet */
    unsigned failures; /* in a row */
    struct cond ended;
};

static void keytab_watch_plan(struct keytab_watch *w, int64_t ms)
{
    w->span = ms;
    w->due = loop_in(w->m->loop, ms / 2);
}

/* People read of the first failure in a row, and of its end. */
static void tell_failure(struct keytab_watch *w, const struct err *err)
{
    AUTO_FREE char *text = NULL;

    log_warn(LOG_MASTER, "%s", err->text);
    if (w->failures > 1)
        return;
    text = str_printf("%s, on '%s'%s%s; trying again", err->text, yarn_of(w->m)->container->node,
                      *err->hint ? ": " : "", err->hint);
    if (text)
        master_note(w->m, text);
}

static int keytab_watch_step(struct keytab_watch *w, struct err *err)
{
    struct master *m = w->m;
    AUTO_CREDENTIALS *newer = NULL;
    int64_t ms = 0;
    size_t n = 0;
    int r = keytab_get(m->loop, yarn_of(m)->container->keytab, &newer, &ms, err);

    if (r == 0)
        r = tokens_use(m, newer, &n, err);
    if (r < 0)
        return r;
    log_info(LOG_MASTER, "%zu newer tokens, got with the keytab, good for %lld s", n,
             (long long)ms / 1000);
    keytab_watch_plan(w, ms);
    return 0;
}

/* Each failure is in the log; people read the first of a row, and that it is over. The job goes on
 * in any case, as the tokens it has are still good for a while. */
static void keytab_watch_loop(void *arg)
{
    struct keytab_watch *w = arg;
    struct loop *l = w->m->loop;
    int r = 0;

    while (r != -ECANCELED) {
        struct err err = ERR_INIT;
        int64_t left = w->due - loop_now(l);

        r = left > 0 ? fiber_sleep(l, left) : 0;
        if (r == 0)
            r = keytab_watch_step(w, &err);
        if (r == -ECANCELED)
            break;
        if (r == 0 && w->failures > 0)
            master_note(w->m, "newer tokens have been got with the job's keytab after all");
        w->failures = r < 0 ? w->failures + 1 : 0;
        if (r < 0) {
            tell_failure(w, &err);
            w->due = loop_in(l, keytab_pause(w->failures, w->span));
        }
    }
    w->fiber = NULL;
    cond_wake_all(&w->ended);
}

/* The tokens of the submit are due by the wall clock of their issuer. A master that had to get its
 * own at the start (tokens_wait.c) knows how long those are good, and plans by that. */
int keytab_watch_start(struct master *m, struct err *err)
{
    struct master_container *c = yarn_of(m)->container;
    struct keytab_watch *w;
    int64_t at;
    int r;

    if (!c->keytab)
        return 0;
    at = keytab_due(session_credentials(c->session));
    if (at == INT64_MAX)
        return 0;
    w = calloc(1, sizeof(*w));
    if (!w)
        return err_oom(err);
    w->m = m;
    at -= loop_wall();
    w->due = loop_in(m->loop, at > 0 ? at : 0);
    if (c->tokens_ms > 0)
        keytab_watch_plan(w, c->tokens_ms);
    r = fiber_start(m->loop, keytab_watch_loop, w, &w->fiber, err);
    if (r < 0)
        free(w);
    else
        yarn_of(m)->keytab_watch = w;
    return r;
}

void keytab_watch_stop(struct master *m)
{
    struct keytab_watch *w = take(yarn_of(m)->keytab_watch);

    if (!w)
        return;
    fiber_cancel(w->fiber);
    while (w->fiber)
        (void)cond_wait(m->loop, &w->ended, LOOP_NEVER);
    free(w);
}
