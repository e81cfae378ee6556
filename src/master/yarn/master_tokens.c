/* master_tokens.c - newer tokens for a job that outlives those it was submitted with. Whoever has
 * the job's key may bring them: an attached client, mostly; or its own keytab does
 * (keytab_watch.c). */
#include "master/yarn/master_tokens.h"
#include "base/log.h"
#include "hadoop/token/ident.h"
#include "master/yarn/master_yarn_private.h"

#include <string.h>

#define FILE_MAX_ MIB

/* Everybody else's tokens stay as they are: the ResourceManager alone gives us ours.
 * They replace older ones of the same alias in the session itself, so every later call uses them.
 */
static int master_tokens_keep(struct master_container *c, const struct credentials *newer,
                              size_t *ret_n, struct err *err)
{
    struct credentials *own = session_credentials(c->session);
    int r = 0;

    for (size_t i = 0; i < credentials_count(newer) && r == 0; i++) {
        const char *alias = NULL;
        const struct token *t = credentials_at(newer, i, &alias);

        if (!str_eq(t->kind, KIND_HDFS))
            continue;
        tokens_remember(c, t);
        r = credentials_add(own, alias, t, err);
        *ret_n += r == 0;
    }
    if (r == 0 && *ret_n == 0)
        r = err_set(err, -EINVAL, "there is no token of HDFS in it");
    c->newer_tokens |= r == 0;
    return r;
}

/* What agents may have, as bytes. */
static int for_agents(const struct master *m, struct buf *ret, struct err *err)
{
    AUTO_CREDENTIALS *theirs = NULL;
    int r = yarn_boot_strip(session_credentials(yarn_of(m)->container->session), &theirs, err);

    return r < 0 ? r : credentials_write(theirs, ret, err);
}

static void tokens_send_to(struct agent_conn *a, const struct buf *bytes)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Tokens body = AGENT__TOKENS__INIT;

    body.credentials = (ProtobufCBinaryData){ bytes->len, bytes->data };
    msg.body_case = AGENT__TO_AGENT__BODY_TOKENS;
    msg.tokens = &body;
    outbox_send(a, &msg);
}

static void tokens_wipe(struct buf *b)
{
    if (b->data)
        explicit_bzero(b->data, b->len);
}

static int tokens_tell_all(struct master *m, struct err *err)
{
    AUTO_BUF bytes = { .max = FILE_MAX_ };
    int r = for_agents(m, &bytes, err);

    for (uint32_t i = 0; r == 0 && i < m->agents.n; i++)
        if (m->agents.v[i] && m->agents.v[i]->channel && !m->agents.v[i]->lost)
            tokens_send_to(m->agents.v[i], &bytes);
    tokens_wipe(&bytes);
    return r;
}

void tokens_tell(struct agent_conn *a)
{
    AUTO_BUF bytes = { .max = FILE_MAX_ };
    struct err err = ERR_INIT;

    if (!yarn_of(a->master)->container->newer_tokens)
        return;
    if (for_agents(a->master, &bytes, &err) < 0)
        master_fault(a->master, &err);
    else
        tokens_send_to(a, &bytes);
    tokens_wipe(&bytes);
}

int tokens_keep(struct master_container *c, const struct credentials *newer, size_t *ret_n,
                struct err *err)
{
    int r = master_tokens_keep(c, newer, ret_n, err);

    return r < 0 ? r : fs_set_take_tokens(c->set, err);
}

/* For containers to come, for ourselves, and for those that are there. No container is started
 * between the first look and yarn_set_tokens(): nothing waits there. */
int tokens_use(struct master *m, const struct credentials *newer, size_t *ret_n, struct err *err)
{
    struct master_container *c = yarn_of(m)->container;
    int r;

    if (m->platform && yarn_has_launched(m->platform))
        tokens_were_sent(c);
    r = master_tokens_keep(c, newer, ret_n, err);
    if (r == 0 && m->platform)
        r = yarn_set_tokens(m->platform, err);
    if (r == 0)
        r = fs_set_take_tokens(c->set, err);
    return r < 0 ? r : tokens_tell_all(m, err);
}

int tokens_read(struct http_call *call, struct credentials **ret, struct err *err)
{
    AUTO_BUF body = { .max = FILE_MAX_ };
    int r = http_body_all(call, &body, err);

    if (r == 0)
        r = credentials_parse(body.data ? body.data : (uint8_t *)"", body.len, ret, err);
    tokens_wipe(&body);
    if (r == -EBADMSG)
        r = err->code = -EINVAL; /* the client's mistake, not ours */
    return r;
}

/* Whoever may use the API may bring tokens: both need the job's key. */
int tokens_put(struct master *m, struct http_call *c, struct err *err)
{
    AUTO_CREDENTIALS *newer = NULL;
    AUTO_JSON *v = NULL;
    size_t n = 0;
    int r = tokens_read(c, &newer, err);

    if (r == 0)
        r = tokens_use(m, newer, &n, err);
    if (r == 0)
        r = json_make(&v, err, "{s:I}", "tokens", (json_int_t)n);
    if (r == 0)
        log_info(LOG_MASTER, "%zu newer tokens have come", n);
    return r < 0 ? r : http_reply_json(c, 200, v, err);
}
