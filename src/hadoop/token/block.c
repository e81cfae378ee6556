/* block.c - the secret inside a block token's identifier. See ident.h.
 *
 * Two forms, told apart by the first byte. Above 0 it is the tag of a message. Otherwise it is the
 * first byte of a VLong:
 *
 *     VLong expires, VInt key, string user, string pool, VLong block, VInt n { Text mode }
 *     VInt n { Text storage type }, VInt n { string storage id }, bytes secret
 *
 * where the second line came with later releases, one part after the other: it may end after any
 * of them. */
#include "base/buf.h"
#include "hadoop/datatransfer.pb-c.h"
#include "hadoop/token/ident.h"
#include "hadoop/token/writable.h"

#include <string.h>

/* A list of texts that we do not look at. Each takes a byte at least, so a count cannot make us
 * turn longer than there are bytes. */
static void skip_list(struct view *v, struct view (*one)(struct view *))
{
    for (int32_t n = writable_vint(v); n > 0 && !v->bad; n--)
        (void)one(v);
}

static int read_writable(struct view v, struct view *pool, struct view *secret)
{
    (void)writable_vlong(&v);
    (void)writable_vint(&v);
    (void)writable_string(&v);
    *pool = writable_string(&v);
    (void)writable_vlong(&v);
    skip_list(&v, writable_text);
    if (v.bad)
        return -EBADMSG;
    if (v.n > 0)
        skip_list(&v, writable_text);
    if (v.n > 0)
        skip_list(&v, writable_string);
    if (v.n > 0)
        *secret = writable_bytes(&v);
    return v.bad ? -EBADMSG : 0;
}

static int block_fill(struct view pool, struct view secret, struct block_secret *ret)
{
    int r = writable_dup(pool, &ret->pool);

    if (r < 0 || secret.n == 0)
        return r;
    ret->secret = malloc(secret.n);
    if (!ret->secret)
        return -ENOMEM;
    memcpy(ret->secret, secret.p, secret.n);
    ret->secret_len = secret.n;
    return 0;
}

static int block_read_ident(struct view v, struct block_secret *ret)
{
    struct view pool = { 0 }, secret = { 0 };
    Hdfs__BlockTokenSecret *m;
    int r;

    if ((int8_t)*v.p <= 0) {
        r = read_writable(v, &pool, &secret);
        return r < 0 ? r : block_fill(pool, secret, ret);
    }
    m = hdfs__block_token_secret__unpack(NULL, v.n, v.p);
    if (!m)
        return -EBADMSG;
    pool = view_of(m->block_pool_id, m->block_pool_id ? strlen(m->block_pool_id) : 0);
    secret = view_of(m->handshake_secret.data, m->handshake_secret.len);
    r = block_fill(pool, secret, ret);
    if (m->handshake_secret.data)
        explicit_bzero(m->handshake_secret.data, m->handshake_secret.len);
    hdfs__block_token_secret__free_unpacked(m, NULL);
    return r;
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
    int r;

    *ret = (struct block_secret){ 0 };
    if (n == 0)
        return 0;
    r = block_read_ident(view_of(p, n), ret);
    if (r == 0)
        return 0;
    block_secret_done(ret);
    return r == -EBADMSG ? err_set(err, r, "an identifier of %zu bytes that cannot be read", n)
                         : err_oom(err);
}
