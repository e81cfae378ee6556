/* save.c - writes a credentials file, always in version 0, which every release of Hadoop reads; the
 * layout is drawn in parse.c. See credentials.h. */
#include "base/path.h"
#include "hadoop/token/credentials.h"
#include "hadoop/token/set.h"
#include "hadoop/token/writable.h"

#include <string.h>

#define LENGTHS_MAX ((size_t)25) /* bytes of the lengths in one token, five each */

/* A size that is enough, so that the buffer grows once and leaves no copy of a secret behind. */
static size_t credentials_size_of(const struct credentials *c)
{
    size_t n = 16;

    for (size_t i = 0; i < c->n_tokens; i++) {
        const struct token *t = &c->tokens[i].token;

        n += LENGTHS_MAX + strlen(c->tokens[i].alias) + t->id_len + t->password_len +
             strlen(t->kind) + strlen(t->service);
    }
    for (size_t i = 0; i < c->n_secrets; i++)
        n += LENGTHS_MAX + strlen(c->secrets[i].alias) + c->secrets[i].n;
    return n;
}

static int save_add_token(struct buf *b, const struct entry *e)
{
    int r = writable_add_text(b, e->alias);

    if (r == 0)
        r = writable_add_bytes(b, e->token.id, e->token.id_len);
    if (r == 0)
        r = writable_add_bytes(b, e->token.password, e->token.password_len);
    if (r == 0)
        r = writable_add_text(b, e->token.kind);
    if (r == 0)
        r = writable_add_text(b, e->token.service);
    return r;
}

static int add_secret(struct buf *b, const struct secret *s)
{
    int r = writable_add_text(b, s->alias);

    return r < 0 ? r : writable_add_bytes(b, s->p, s->n);
}

int credentials_write(const struct credentials *c, struct buf *out, struct err *err)
{
    size_t need = credentials_size_of(c);
    uint8_t *room;
    int r;

    /* Past the ceiling the exact size may still fit: then the writing itself finds out. */
    r = buf_room(out, need < out->max - out->len ? need : out->max - out->len, &room);
    if (r == 0)
        r = buf_add(out, "HDTS", 5); /* its NUL is the version */
    if (r == 0)
        r = writable_add_vlong(out, (int64_t)c->n_tokens);
    for (size_t i = 0; r == 0 && i < c->n_tokens; i++)
        r = save_add_token(out, &c->tokens[i]);
    if (r == 0)
        r = writable_add_vlong(out, (int64_t)c->n_secrets);
    for (size_t i = 0; r == 0 && i < c->n_secrets; i++)
        r = add_secret(out, &c->secrets[i]);
    if (r == -E2BIG)
        return err_set(err, r, "credentials are larger than %zu bytes", out->max);
    return r < 0 ? err_oom(err) : 0;
}

/* Without a flush: tokens are worth nothing after a power failure, and an agent may not stand
 * still. */
int credentials_save(const struct credentials *c, const char *path, struct err *err)
{
    struct buf b;
    int r;

    buf_init(&b, CREDENTIALS_MAX);
    r = credentials_write(c, &b, err);
    if (r == 0) {
        r = path_write_unflushed(path, b.data, b.len, 0600, err);
        if (r < 0)
            err_wrap(err, r, "cannot create credentials file '%s'", path);
    }
    buf_wipe(&b);
    return r;
}
