/* block.c - see block.h and ident.h.
 *
 * Two forms, told apart by the first byte. Above 0 it is the tag of a message. Otherwise it is the
 * first byte of a VLong:
 *
 *     VLong expires, VInt key, string user, string pool, VLong block, VInt n { Text mode }
 *     VInt n { Text storage type }, VInt n { string storage id }, bytes secret
 *
 * where the second line came with later releases, one part after the other: it may end after any
 * of them. */
#include "hadoop/token/block.h"
#include "base/str.h"
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/token/writable.h"

#include <string.h>

struct fields {
    struct view user, pool, secret;
    int64_t expires, block;
    int32_t key_id;
};

/* A list of texts that we do not look at. Each takes a byte at least, so a count cannot make us
 * turn longer than there are bytes. */
static void skip_list(struct view *v, struct view (*one)(struct view *))
{
    for (int32_t n = writable_vint(v); n > 0 && !v->bad; n--)
        (void)one(v);
}

static int read_writable(struct view v, struct fields *f)
{
    f->expires = writable_vlong(&v);
    f->key_id = writable_vint(&v);
    f->user = writable_string(&v);
    f->pool = writable_string(&v);
    f->block = writable_vlong(&v);
    skip_list(&v, writable_text);
    if (v.bad)
        return -EBADMSG;
    if (v.n > 0)
        skip_list(&v, writable_text);
    if (v.n > 0)
        skip_list(&v, writable_string);
    if (v.n > 0)
        f->secret = writable_bytes(&v);
    return v.bad ? -EBADMSG : 0;
}

static int dup_secret(struct view secret, struct block_secret *ret)
{
    if (secret.n == 0)
        return 0;
    ret->secret = malloc(secret.n);
    if (!ret->secret)
        return -ENOMEM;
    memcpy(ret->secret, secret.p, secret.n);
    ret->secret_len = secret.n;
    return 0;
}

/* Both forms into both results; `secret` may be NULL. */
static int block_read_ident(struct view v, struct ident *ident, struct block_secret *secret)
{
    Hdfs__BlockTokenSecret *m = NULL;
    struct fields f = { 0 };
    int r = 0;

    if (v.n > 0 && (int8_t)*v.p > 0) {
        m = hdfs__block_token_secret__unpack(NULL, v.n, v.p);
        if (!m)
            return -EBADMSG;
        f.expires = (int64_t)m->expiry;
        f.key_id = (int32_t)m->key_id;
        f.block = (int64_t)m->block_id;
        f.user = view_of(m->user, m->user ? strlen(m->user) : 0);
        f.pool = view_of(m->block_pool_id, m->block_pool_id ? strlen(m->block_pool_id) : 0);
        f.secret = view_of(m->handshake_secret.data, m->handshake_secret.len);
    } else {
        r = read_writable(v, &f);
    }
    ident->expires = f.expires;
    ident->key_id = f.key_id;
    ident->block = f.block;
    if (r == 0)
        r = writable_dup(f.user, &ident->owner);
    if (r == 0)
        r = writable_dup(f.pool, &ident->pool);
    if (r == 0 && secret)
        r = dup_secret(f.secret, secret);
    if (m && m->handshake_secret.data)
        explicit_bzero(m->handshake_secret.data, m->handshake_secret.len);
    if (m)
        hdfs__block_token_secret__free_unpacked(m, NULL);
    return r;
}

int block_parse(struct view v, struct ident *ret)
{
    return block_read_ident(v, ret, NULL);
}

void block_secret_done(struct block_secret *s)
{
    if (s->secret)
        explicit_bzero(s->secret, s->secret_len);
    free(s->secret);
    free(s->pool);
    *s = (struct block_secret){ 0 };
}

int ident_block_secret(const void *p, size_t n, struct block_secret *ret, struct err *err)
{
    AUTO_IDENT i = { 0 };
    struct block_secret found = { 0 };
    int r;

    *ret = found;
    if (n == 0)
        return 0;
    r = block_read_ident(view_of(p, n), &i, &found);
    if (r < 0) {
        block_secret_done(&found);
        return r == -EBADMSG ? err_set(err, r, "an identifier of %zu bytes that cannot be read", n)
                             : err_oom(err);
    }
    found.pool = take(i.pool);
    found.expires = i.expires;
    *ret = found;
    return 0;
}
