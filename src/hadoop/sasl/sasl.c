/* sasl.c - the order of calls of an exchange, the same for every mechanism. See sasl.h */
#include "hadoop/sasl/mechanism.h"

const char *sasl_qop_name(enum sasl_qop qop)
{
    static const char *const names[] = {
        [SASL_AUTH] = "auth",
        [SASL_INT] = "auth-int",
        [SASL_CONF] = "auth-conf",
    };

    return names[qop];
}

/* Ends one call: a failure leaves nothing in `out` and is final. */
static int sasl_finish(struct sasl *s, int r, struct buf *out, size_t before)
{
    if (r < 0) {
        s->failed = true;
        out->len = before;
    }
    return r;
}

static int failed_before(const struct sasl *s, struct err *err)
{
    return err_set(err, -EPROTO, "%s: used again after a failure", s->ops->name);
}

int sasl_step(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    size_t before = out->len;
    int r;

    if (s->failed)
        return failed_before(s, err);
    if (s->done)
        r = err_set(err, -EPROTO, "%s: the server goes on after the end of the exchange",
                    s->ops->name);
    else
        r = s->ops->step(s, in, n, out, err);
    return sasl_finish(s, r, out, before);
}

bool sasl_done(const struct sasl *s)
{
    return s->done && !s->failed;
}

enum sasl_qop sasl_qop(const struct sasl *s)
{
    return s->qop;
}

/* Whether there is a layer that can protect something. */
static int check_layer(const struct sasl *s, struct err *err)
{
    if (s->failed)
        return failed_before(s, err);
    if (!s->done || s->qop == SASL_AUTH)
        return err_set(err, -EINVAL, "%s: no protection was agreed on", s->ops->name);
    return 0;
}

int sasl_wrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    int r = check_layer(s, err);

    if (r < 0)
        return r;
    size_t before = out->len;
    return sasl_finish(s, s->ops->wrap(s, in, n, out, err), out, before);
}

int sasl_unwrap(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    int r = check_layer(s, err);

    if (r < 0)
        return r;
    size_t before = out->len;
    return sasl_finish(s, s->ops->unwrap(s, in, n, out, err), out, before);
}

struct sasl *sasl_free(struct sasl *s)
{
    if (s)
        s->ops->free(s);
    return NULL;
}
