/* tokens_end.c - what becomes of tokens that a job got while it ran; see master_tokens.h.
 *
 * Those of the submit are cancelled by the ResourceManager, some time after the application's end
 * and when no NodeManager says any more that it collects logs with them. It knows nothing of newer
 * ones, and has no call to be told of them. So the master cancels them as its last act, except
 * those that others may need after it:
 *
 *     a NodeManager      collects the application's logs, when we are gone, with the credentials of
 *                        the first container that it started
 *     other programs     may use a token that was not got for this job. The job's own, from the
 *                        keytab or the client, name the job's user as renewer (see
 *                        launch/submit_tokens.h)
 *
 * What an earlier master got is not known here, unless the client brings it once more; whether that
 * master gave it to a NodeManager is not known then either. All that stays expires by itself after
 * dfs.namenode.delegation.token.renew-interval, a day, as nobody renews it. */
#include "base/log.h"
#include "hadoop/token/ident.h"
#include "master/yarn/master_tokens.h"
#include "master/yarn/master_yarn_private.h"

#include <string.h>

#define CLOCKS_MS 300000 /* clocks differ by no more, or Kerberos would not work */

static bool is_same(const struct token *a, const struct token *b)
{
    return a->id_len == b->id_len && (a->id_len == 0 || memcmp(a->id, b->id, a->id_len) == 0);
}

static bool tokens_is_known(const struct master_container *c, const struct token *t)
{
    const struct credentials *own = session_credentials(c->session);

    for (size_t i = 0; i < credentials_count(own); i++)
        if (is_same(credentials_at(own, i, NULL), t))
            return true;
    for (size_t i = 0; i < c->got.n; i++)
        if (is_same(&c->got.v[i].token, t))
            return true;
    return false;
}

static struct token_got take_oldest(struct tokens_got *g)
{
    struct token_got first = g->v[0];

    memmove(&g->v[0], &g->v[1], (g->n - 1) * sizeof(g->v[0]));
    g->v[--g->n] = (struct token_got){ 0 };
    return first;
}

/* Only tokens got for this job are remembered. `sent` is a guess for those issued before we began:
 * the master before us may have given them to a NodeManager, and so they are left to expire. */
void tokens_remember(struct master_container *c, const struct token *t)
{
    struct tokens_got *g = &c->got;
    AUTO_IDENT id = { 0 };

    if (tokens_is_known(c, t) || ident_parse(t->kind, t->id, t->id_len, &id, NULL) < 0 ||
        id.type != IDENT_DELEGATION || !str_eq(id.renewer, session_user(c->session)))
        return;
    if (g->n == TOKENS_GOT) { /* it expires, and most likely has */
        struct token_got first = take_oldest(g);

        token_done(&first.token);
    }
    if (token_copy(&g->v[g->n].token, t) == 0)
        g->v[g->n++].sent = c->attempt > 1 && id.issued < c->began + CLOCKS_MS;
}

void tokens_were_sent(struct master_container *c)
{
    const struct credentials *own = session_credentials(c->session);

    for (size_t i = 0; i < credentials_count(own); i++)
        for (size_t k = 0; k < c->got.n; k++)
            if (is_same(credentials_at(own, i, NULL), &c->got.v[k].token))
                c->got.v[k].sent = true;
}

/* Name services that only agents have used so far. */
static void open_outputs(struct master *m)
{
    for (size_t i = 0; i < m->spec.output.n; i++) {
        AUTO_FREE char *path = NULL;
        struct fs *fs = NULL;

        if (spec_is_remote(m->spec.output.v[i].to))
            (void)fs_find(yarn_of(m)->container->set, m->spec.output.v[i].to, FS_ON_CLUSTER, &fs,
                          &path, NULL);
    }
}

void tokens_cancel(struct master *m)
{
    struct master_container *c = yarn_of(m)->container;
    size_t cancelled = 0, left = 0, failed = 0;
    int r = 0;

    if (m->platform && yarn_has_launched(m->platform))
        tokens_were_sent(c);
    open_outputs(m);
    while (c->got.n > 0 && r != -ECANCELED) {        /* the one that we sign in with is the last */
        struct token_got one = take_oldest(&c->got); /* others may come while we wait */
        struct err err = ERR_INIT;

        r = one.sent ? 0 : fs_set_cancel_token(c->set, &one.token, &err);
        if (r < 0) /* most likely it has expired */
            trace(LOG_MASTER, "%s", err.text);
        left += one.sent;
        failed += r < 0;
        cancelled += r == 0 && !one.sent;
        token_done(&one.token);
    }
    log_info(LOG_MASTER, "%zu newer tokens cancelled, %zu left to NodeManagers, %zu not cancelled",
             cancelled, left, failed + c->got.n);
}

void tokens_done(struct master_container *c)
{
    for (size_t i = 0; i < c->got.n; i++)
        token_done(&c->got.v[i].token);
    c->got.n = 0;
}
