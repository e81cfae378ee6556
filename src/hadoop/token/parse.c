/* parse.c - reading a credentials file; see credentials.h.
 *
 *     "HDTS"  version 0   VInt n { Text alias, bytes id, bytes password, Text kind, Text service }
 *                         VInt n { Text alias, bytes secret }
 *             version 1   varint length, hadoop.Credentials
 *
 * Trailing bytes are ignored, as Hadoop does. */
#include "base/log.h"
#include "base/str.h"
#include "hadoop/token/credentials.h"
#include "hadoop/token/set.h"
#include "hadoop/token/writable.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct parse {
    struct view v;
    const uint8_t *start;
    size_t n;
    const char *name; /* "credentials file 'x'" */
    struct credentials *out;
    struct err *err;
};

static int truncated(const struct parse *p)
{
    return err_set(p->err, -EBADMSG, "%s is truncated at byte %zu", p->name, p->n);
}

static int credentials_damaged(const struct parse *p, const char *what)
{
    if (p->v.bad)
        return truncated(p);
    return err_set(p->err, -EBADMSG, "%s is damaged at byte %zu: %s", p->name,
                   (size_t)(p->v.p - p->start), what);
}

static int add_error(const struct parse *p, int r)
{
    return r == -E2BIG ? credentials_damaged(p, "too many entries") : r < 0 ? err_oom(p->err) : 0;
}

/* ---- version 0 ---- */

static int credentials_read_bytes(struct parse *p, uint8_t **ret, size_t *ret_n)
{
    struct view b;
    int32_t n = writable_vint(&p->v);

    if (n < 0 || p->v.bad)
        return credentials_damaged(p, "a length below zero");
    b = view_sub(&p->v, (size_t)n);
    if (b.bad)
        return truncated(p);
    *ret = malloc(b.n ? b.n : 1);
    if (!*ret)
        return err_oom(p->err);
    memcpy(*ret, b.p, b.n);
    *ret_n = b.n;
    return 0;
}

static int credentials_read_text(struct parse *p, char **ret)
{
    int32_t n = writable_vint(&p->v);
    struct view t;
    int r;

    if (n < 0 || p->v.bad)
        return credentials_damaged(p, "a length below zero");
    t = view_sub(&p->v, (size_t)n);
    if (t.bad)
        return truncated(p);
    r = writable_dup(t, ret);
    return r == -EBADMSG ? credentials_damaged(p, "a NUL in a name") : r < 0 ? err_oom(p->err) : 0;
}

/* Bounded before anything is allocated: a damaged file may claim billions of entries. */
static int read_count(struct parse *p, int32_t *ret)
{
    *ret = writable_vint(&p->v);
    if (p->v.bad || *ret < 0 || *ret > SET_MAX)
        return credentials_damaged(p, "a number of entries that cannot be");
    return 0;
}

static int read_token(struct parse *p)
{
    struct entry e = { 0 };
    struct token *t = &e.token;
    int r;

    r = credentials_read_text(p, &e.alias);
    if (r == 0)
        r = credentials_read_bytes(p, &t->id, &t->id_len);
    if (r == 0)
        r = credentials_read_bytes(p, &t->password, &t->password_len);
    if (r == 0)
        r = credentials_read_text(p, &t->kind);
    if (r == 0)
        r = credentials_read_text(p, &t->service);
    if (r == 0)
        return add_error(p, set_take_token(p->out, &e));
    entry_done(&e);
    return r;
}

static int read_secret(struct parse *p)
{
    struct secret s = { 0 };
    int r;

    r = credentials_read_text(p, &s.alias);
    if (r == 0)
        r = credentials_read_bytes(p, &s.p, &s.n);
    if (r == 0)
        return add_error(p, set_take_secret(p->out, &s));
    secret_done(&s);
    return r;
}

static int read_version_0(struct parse *p)
{
    int32_t n;
    int r;

    r = read_count(p, &n);
    for (int32_t i = 0; r == 0 && i < n; i++)
        r = read_token(p);
    if (r == 0)
        r = read_count(p, &n);
    for (int32_t i = 0; r == 0 && i < n; i++)
        r = read_secret(p);
    return r;
}

/* ---- version 1 ---- */

static int credentials_add_token(struct parse *p, const Hadoop__CredentialsKV *kv)
{
    const Hadoop__Token none = HADOOP__TOKEN__INIT;
    struct entry e = { .alias = strdup(kv->alias) };

    if (!e.alias || token_from_pb(&e.token, kv->token ? kv->token : &none) < 0) {
        entry_done(&e);
        return err_oom(p->err);
    }
    return add_error(p, set_take_token(p->out, &e));
}

static int credentials_add_all(struct parse *p, const Hadoop__Credentials *m)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < m->n_tokens; i++)
        r = credentials_add_token(p, m->tokens[i]);
    for (size_t i = 0; r == 0 && i < m->n_secrets; i++)
        r = credentials_add_secret(p->out, m->secrets[i]->alias, m->secrets[i]->secret.data,
                                   m->secrets[i]->secret.len, p->err);
    return r;
}

/* protobuf-c frees without wiping. */
static void free_wiped(Hadoop__Credentials *m)
{
    for (size_t i = 0; i < m->n_tokens; i++)
        if (m->tokens[i]->token && m->tokens[i]->token->password.data)
            explicit_bzero(m->tokens[i]->token->password.data, m->tokens[i]->token->password.len);
    for (size_t i = 0; i < m->n_secrets; i++)
        if (m->secrets[i]->secret.data)
            explicit_bzero(m->secrets[i]->secret.data, m->secrets[i]->secret.len);
    hadoop__credentials__free_unpacked(m, NULL);
}

static int read_version_1(struct parse *p)
{
    uint64_t n = view_varint(&p->v);
    struct view body;
    Hadoop__Credentials *m;
    int r;

    if (p->v.bad || n > p->v.n)
        return truncated(p);
    body = p->v;
    m = hadoop__credentials__unpack(NULL, (size_t)n, body.p);
    if (!m)
        return credentials_damaged(p, "not a list of tokens");
    r = credentials_add_all(p, m);
    free_wiped(m);
    return r;
}

/* ---- both ---- */

static const char magic[4] = "HDTS";

/* A short file that begins like one is truncated; another beginning is another kind of file. */
static int credentials_read_head(struct parse *p, int *ret_version)
{
    size_t n = p->n < sizeof(magic) ? p->n : sizeof(magic);

    if (memcmp(p->start, magic, n) != 0)
        return err_set(p->err, -EBADMSG, "%s does not begin with HDTS: it is something else",
                       p->name);
    (void)view_bytes(&p->v, sizeof(magic));
    *ret_version = view_u8(&p->v);
    return p->v.bad ? truncated(p) : 0;
}

static int parse_token(struct parse *p)
{
    int version = 0, r;

    r = credentials_read_head(p, &version);
    if (r < 0)
        return r;
    if (version > 1)
        return err_set(p->err, -EPROTONOSUPPORT, "%s has the unknown version %d", p->name, version);
    return version ? read_version_1(p) : read_version_0(p);
}

static int parse_named(const char *name, const void *data, size_t n, struct credentials **ret,
                       struct err *err)
{
    AUTO_CREDENTIALS *c = NULL;
    struct parse p = { .start = data ? data : "", .n = n, .name = name, .err = err };
    int r;

    r = credentials_new(&c, err);
    if (r < 0)
        return r;
    p.v = view_of(p.start, n);
    p.out = c;
    r = parse_token(&p);
    if (r < 0)
        return r;
    *ret = take(c);
    return 0;
}

int credentials_parse(const void *p, size_t n, struct credentials **ret, struct err *err)
{
    return parse_named("credentials data", p, n, ret, err);
}

/* The whole file at once, so that no copy of a secret is left behind by a growing buffer. */
static int credentials_slurp(const char *path, struct buf *b, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    uint8_t *room;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "cannot read credentials file '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "credentials file '%s' is not a regular file", path);
    if (st.st_size > (off_t)b->max)
        return err_set(err, -E2BIG, "credentials file '%s' is larger than 16 MiB", path);
    if (st.st_mode & 077)
        trace(LOG_TOKEN, "others may read '%s' (mode %03o)", path, (unsigned)st.st_mode & 0777);
    if (buf_room(b, (size_t)st.st_size, &room) < 0)
        return err_oom(err);
    do {
        n = read(fd, b->data + b->len, (size_t)st.st_size - b->len);
        if (n < 0 && errno != EINTR)
            return err_sys(err, "cannot read credentials file '%s'", path);
        b->len += n > 0 ? (size_t)n : 0;
    } while (n != 0 && b->len < (size_t)st.st_size);
    return 0;
}

int credentials_load(const char *path, struct credentials **ret, struct err *err)
{
    AUTO_FREE char *name = str_printf("credentials file '%s'", path);
    struct buf b;
    int r;

    if (!name)
        return err_oom(err);
    buf_init(&b, CREDENTIALS_MAX);
    r = credentials_slurp(path, &b, err);
    if (r == 0)
        r = parse_named(name, b.data, b.len, ret, err);
    buf_wipe(&b);
    if (r == 0)
        trace(LOG_TOKEN, "%s: %zu tokens", name, credentials_count(*ret));
    return r;
}
