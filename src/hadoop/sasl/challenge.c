/* challenge.c - reads the server's side of DIGEST-MD5: a comma-separated list of name=value, with
 * or without quotes (RFC 2831). next_directive() cuts the list into names and values; a table says
 * what each name does. Unknown names are ignored, as the RFC wants it; those that are known and do
 * not fit end the exchange, because a list that can be read in two ways is an attack or a bug. From
 * a JDK 17 server comes
 *
 *     realm="default",nonce="<40 characters>",qop="auth",charset=utf-8,algorithm=md5-sess
 *
 * and, where auth-conf is allowed, cipher="3des,rc4,des,rc4-56,rc4-40". It names no maxbuf, which
 * means 65536. See challenge.h. */
#include "hadoop/sasl/challenge.h"
#include "base/buf.h"
#include "hadoop/sasl/cipher.h"
#include "hadoop/sasl/sasl.h"

#include <string.h>
#include <strings.h>

#define MAXBUF_DEFAULT 65536
#define MAXBUF_MIN 17 /* a token with nothing in it is 16 bytes */
#define MAXBUF_MAX 0xffffff

/* One name=value. The value is unescaped, without NUL inside. */
struct directive {
    const char *name;
    size_t name_len;
    struct buf value;
};

static void auto_directive_(struct directive *d)
{
    buf_done(&d->value);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_control(uint8_t c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* RFC 2616's token: what may stand without quotes. */
static bool challenge_is_word(uint8_t c)
{
    return c > 0x20 && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static void skip_space(struct view *v)
{
    while (v->n && is_space(*v->p))
        view_u8(v);
}

/* Empty elements of the list are legal: ",,realm=x,". */
static void skip_commas(struct view *v)
{
    while (v->n && (is_space(*v->p) || *v->p == ','))
        view_u8(v);
}

static const char *challenge_word(struct view *v, size_t *ret_len)
{
    const char *start = (const char *)v->p;
    size_t n = 0;

    while (v->n && challenge_is_word(*v->p)) {
        view_u8(v);
        n++;
    }
    *ret_len = n;
    return start;
}

/* The rest of a quoted string, after its first quote. */
static int challenge_quoted(struct view *v, struct buf *out, struct err *err)
{
    for (;;) {
        uint8_t c = view_u8(v);

        if (c == '"')
            return 0;
        if (c == '\\')
            c = view_u8(v);
        if (v->bad)
            return err_set(err, -EPROTO, "a quoted value does not end");
        if (is_control(c))
            return err_set(err, -EPROTO, "a value has a control character (%u)", c);
        if (buf_add_u8(out, c) < 0)
            return err_oom(err);
    }
}

static int challenge_value(struct view *v, struct buf *out, struct err *err)
{
    const char *text;
    size_t n;

    if (v->n && *v->p == '"') {
        view_u8(v);
        return challenge_quoted(v, out, err);
    }
    text = challenge_word(v, &n);
    if (n == 0)
        return err_set(err, -EPROTO, "a name has no value");
    return buf_add(out, text, n) < 0 ? err_oom(err) : 0;
}

/* 1 with the next directive in `d`, 0 at the end, or a negative errno. `d->value` is the caller's
 * and used again. */
static int next_directive(struct view *v, struct directive *d, struct err *err)
{
    int r;

    skip_commas(v);
    if (v->n == 0)
        return 0;
    d->name = challenge_word(v, &d->name_len);
    skip_space(v);
    if (d->name_len == 0 || v->n == 0 || *v->p != '=')
        return err_set(err, -EPROTO, "it is not a list of name=value");
    view_u8(v);
    skip_space(v);
    buf_reset(&d->value);
    r = challenge_value(v, &d->value, err);
    if (r < 0)
        return r;
    skip_space(v);
    if (v->n && *v->p != ',')
        return err_set(err, -EPROTO, "there is no comma after '%.*s'", (int)d->name_len, d->name);
    if (!buf_text(&d->value))
        return err_oom(err);
    return 1;
}

static bool challenge_named(const struct directive *d, const char *name)
{
    return strlen(name) == d->name_len && strncasecmp(name, d->name, d->name_len) == 0;
}

/* Runs `set` for each word of a list like "auth,auth-int". */
static void challenge_each(const char *list,
                           void (*set)(struct challenge *c, const char *s, size_t n),
                           struct challenge *c)
{
    static const char separators[] = ", \t\r\n";

    for (const char *s = list + strspn(list, separators); *s; s += strspn(s, separators)) {
        size_t n = strcspn(s, separators);

        set(c, s, n);
        s += n;
    }
}

static int challenge_keep(char **where, const char *text, struct err *err)
{
    *where = strdup(text);
    return *where ? 0 : err_oom(err);
}

static int set_realm(struct challenge *c, const char *text, struct err *err)
{
    return c->realm ? 0 : challenge_keep(&c->realm, text, err);
}

static int set_nonce(struct challenge *c, const char *text, struct err *err)
{
    if (!*text)
        return err_set(err, -EPROTO, "the nonce is empty");
    return challenge_keep(&c->nonce, text, err);
}

static void add_qop(struct challenge *c, const char *s, size_t n)
{
    for (enum sasl_qop q = SASL_AUTH; q <= SASL_CONF; q++)
        if (strlen(sasl_qop_name(q)) == n && strncasecmp(sasl_qop_name(q), s, n) == 0)
            c->qops |= SASL_QOP_BIT(q);
}

static int set_qop(struct challenge *c, const char *text, struct err *err)
{
    challenge_each(text, add_qop, c);
    if (!c->qops)
        return err_set(err, -EPERM, "no protection in qop '%.60s' is known", text);
    return 0;
}

static void add_cipher(struct challenge *c, const char *s, size_t n)
{
    int kind = cipher_find(s, n);

    if (kind >= 0)
        c->ciphers |= CIPHER_BIT(kind);
}

static int set_cipher(struct challenge *c, const char *text, struct err *err)
{
    (void)err;
    challenge_each(text, add_cipher, c);
    return 0;
}

static int set_charset(struct challenge *c, const char *text, struct err *err)
{
    c->utf8 = strcasecmp(text, "utf-8") == 0;
    return c->utf8 ? 0 : err_set(err, -EPROTO, "unknown charset '%.60s'", text);
}

static int set_algorithm(struct challenge *c, const char *text, struct err *err)
{
    (void)c;
    if (strcasecmp(text, "md5-sess") != 0)
        return err_set(err, -EOPNOTSUPP, "unknown algorithm '%.60s'", text);
    return 0;
}

static int set_maxbuf(struct challenge *c, const char *text, struct err *err)
{
    uint32_t v = 0;

    for (const char *s = text; *s; s++) {
        if (*s < '0' || *s > '9' || v > MAXBUF_MAX)
            return err_set(err, -EPROTO, "maxbuf '%.20s' is not a size", text);
        v = v * 10 + (uint32_t)(*s - '0');
    }
    if (v < MAXBUF_MIN || v > MAXBUF_MAX)
        return err_set(err, -EPROTO, "maxbuf '%.20s' is out of range", text);
    c->maxbuf = v;
    return 0;
}

static int set_stale(struct challenge *c, const char *text, struct err *err)
{
    (void)c;
    (void)text;
    (void)err;
    return 0; /* about a nonce used before; we never use one twice */
}

enum { NAME_REALM, NAME_NONCE, NAME_ALGORITHM, NAME_OTHERS_ };

static const struct name {
    const char *name;
    int (*set)(struct challenge *c, const char *text, struct err *err);
} names[] = {
    /* clang-format off */
    [NAME_REALM]     = { "realm",     set_realm },
    [NAME_NONCE]     = { "nonce",     set_nonce },
    [NAME_ALGORITHM] = { "algorithm", set_algorithm },
    [NAME_OTHERS_]   = { "qop",       set_qop },
                       { "cipher",    set_cipher },
                       { "charset",   set_charset },
                       { "maxbuf",    set_maxbuf },
                       { "stale",     set_stale },
    /* clang-format on */
};

/* Puts one directive into the challenge. `seen` has a bit for each row of the table. */
static int challenge_apply(struct challenge *c, const struct directive *d, unsigned *seen,
                           struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!challenge_named(d, names[i].name))
            continue;
        /* Realms may be offered several times, to choose from; the first one is taken. */
        if (i != NAME_REALM && *seen & 1u << i)
            return err_set(err, -EPROTO, "%s comes twice", names[i].name);
        *seen |= 1u << i;
        return names[i].set(c, (const char *)d->value.data, err);
    }
    return 0;
}

static int challenge_do_parse(struct view *v, struct challenge *c, struct err *err)
{
    AUTO(directive) struct directive d = { 0 };
    unsigned seen = 0;
    int r;

    buf_init(&d.value, CHALLENGE_MAX);
    while ((r = next_directive(v, &d, err)) > 0) {
        r = challenge_apply(c, &d, &seen, err);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    if (!(seen & 1u << NAME_NONCE))
        return err_set(err, -EPROTO, "it has no nonce");
    if (!(seen & 1u << NAME_ALGORITHM))
        return err_set(err, -EPROTO, "it has no algorithm");
    if (!c->qops)
        c->qops = SASL_QOP_BIT(SASL_AUTH);
    return 0;
}

int challenge_parse(const void *p, size_t n, struct challenge *ret, struct err *err)
{
    AUTO_CHALLENGE c = { .maxbuf = MAXBUF_DEFAULT };
    struct view v = view_of(p, n);
    int r;

    if (n > CHALLENGE_MAX)
        return err_set(err, -EPROTO, "DIGEST-MD5: a challenge of %zu bytes is too long", n);
    r = challenge_do_parse(&v, &c, err);
    if (r < 0)
        return err_wrap(err, r, "DIGEST-MD5: the server's challenge");
    *ret = c;
    c = (struct challenge){ 0 };
    return 0;
}

void challenge_done(struct challenge *c)
{
    free(c->realm);
    free(c->nonce);
    *c = (struct challenge){ 0 };
}

static int parse_rspauth(struct view *v, char ret[MD5_TEXT], struct err *err)
{
    AUTO(directive) struct directive d = { 0 };
    bool found = false;
    int r;

    buf_init(&d.value, CHALLENGE_MAX);
    while ((r = next_directive(v, &d, err)) > 0) {
        if (!challenge_named(&d, "rspauth"))
            continue;
        if (found || d.value.len != MD5_TEXT - 1)
            return err_set(err, -EPROTO, "rspauth is not one digest");
        memcpy(ret, d.value.data, d.value.len + 1); /* with the NUL that buf_text() put there */
        found = true;
    }
    if (r == 0 && !found)
        return err_set(err, -EPROTO, "it has no rspauth");
    return r;
}

int challenge_rspauth(const void *p, size_t n, char ret[MD5_TEXT], struct err *err)
{
    struct view v = view_of(p, n);
    int r;

    if (n > CHALLENGE_MAX)
        return err_set(err, -EPROTO, "DIGEST-MD5: a last token of %zu bytes is too long", n);
    r = parse_rspauth(&v, ret, err);
    return r < 0 ? err_wrap(err, r, "DIGEST-MD5: the server's last token") : 0;
}
