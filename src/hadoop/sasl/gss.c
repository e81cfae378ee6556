/* gss.c - a state machine of two parts: the library's own rounds until the context stands, then
 * one exchange of four bytes, under a MAC, that chooses the protection and the largest message.
 * See gss.h. */
#include "hadoop/sasl/gss.h"
#include "base/str.h"
#include "hadoop/sasl/gss_api.h"
#include "hadoop/sasl/gss_cred.h"
#include "hadoop/sasl/mechanism.h"

#include <string.h>

#define MAX_TOKEN (64 * KIB) /* of the exchange; tickets with group lists reach some 48 KB */
#define MAX_RECEIVE 65536    /* what we announce; larger messages are taken all the same */
#define LAYER_OFFER 4        /* bytes: a set of protections, and a size */

struct gss {
    struct sasl base;
    struct gss_api api;
    unsigned qops;
    char *server; /* for messages: "rm@host", "rm/host@REALM" */
    gss_name_t target;
    gss_cred_id_t cred;
    gss_ctx_id_t context;
    OM_uint32 flags;  /* the properties of the established context */
    bool established; /* next comes the choice of protection */
};

static struct gss *gss_of(struct sasl *s)
{
    return (struct gss *)s;
}

/* Copies one of the library's buffers to the end of `out` and releases it. */
static int gss_add_token(struct gss *g, gss_buffer_t token, struct buf *out, struct err *err)
{
    int r = buf_add(out, token->value, token->length);
    OM_uint32 minor;

    if (r == -ENOMEM)
        err_oom(err);
    else if (r < 0)
        err_set(err, r, "a protected message of %zu bytes is over the limit of %zu", token->length,
                out->max);
    g->api.gss_release_buffer(&minor, token);
    return r;
}

/* A context without these is no use: the choice of protection itself travels under a MAC. */
static int check_flags(const struct gss *g, struct err *err)
{
    if (!(g->flags & GSS_C_MUTUAL_FLAG))
        return err_set(err, -EACCES, "Kerberos: '%s' did not prove who it is", g->server);
    if (!(g->flags & GSS_C_INTEG_FLAG))
        return err_set(err, -EPERM, "Kerberos: '%s' cannot protect messages", g->server);
    return 0;
}

/* The library keeps its state in g->context, which it makes in the first call and which every later
 * call has to be given again. */
static int establish(struct gss *g, const void *in, size_t n, struct buf *out, struct err *err)
{
    /* Sequence numbers, so that gss_unwrap() tells of messages that came twice or in another order.
     * Encryption is asked for only when it may be chosen later: not every key can do it. */
    OM_uint32 wanted = GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_SEQUENCE_FLAG;
    gss_buffer_desc input = { n, (void *)(uintptr_t)in };
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    struct gss_result result;
    OM_uint32 minor;
    int r;

    if (g->qops & SASL_QOP_BIT(SASL_CONF))
        wanted |= GSS_C_CONF_FLAG;
    result.major = g->api.gss_init_sec_context(
        &result.minor, g->cred, &g->context, g->target, gss_api_krb5(), wanted, 0,
        GSS_C_NO_CHANNEL_BINDINGS, n ? &input : GSS_C_NO_BUFFER, NULL, &output, &g->flags, NULL);
    if (GSS_ERROR(result.major)) {
        g->api.gss_release_buffer(&minor, &output);
        return gss_api_fail(&g->api, result, err, "log in to '%s'", g->server);
    }
    r = gss_add_token(g, &output, out, err);
    if (r < 0 || result.major & GSS_S_CONTINUE_NEEDED)
        return r;
    g->established = true;
    return check_flags(g, err);
}

/* The server's offer, four bytes under a MAC. */
static int read_offer(struct gss *g, const void *in, size_t n, uint8_t ret[LAYER_OFFER],
                      struct err *err)
{
    gss_buffer_desc input = { n, (void *)(uintptr_t)in };
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    struct gss_result result;
    OM_uint32 minor;
    int r = 0;

    result.major = g->api.gss_unwrap(&result.minor, g->context, &input, &output, NULL, NULL);
    if (result.major != GSS_S_COMPLETE) {
        r = -EBADMSG; /* whatever the cause: these bytes came from the other side */
        gss_api_fail(&g->api, result, err, "the protections that '%s' offers", g->server);
        if (err)
            err->code = r;
    } else if (output.length != LAYER_OFFER) {
        r = err_set(err, -EPROTO, "Kerberos: '%s' offers protections in %zu bytes instead of 4",
                    g->server, output.length);
    } else {
        memcpy(ret, output.value, LAYER_OFFER);
    }
    g->api.gss_release_buffer(&minor, &output);
    return r;
}

/* The offer's bits are those of SASL_QOP_BIT. */
static int gss_choose(struct gss *g, unsigned offered, struct err *err)
{
    unsigned both = g->qops & offered;

    if (!(g->flags & GSS_C_CONF_FLAG))
        both &= ~SASL_QOP_BIT(SASL_CONF);
    for (int q = SASL_CONF; q >= SASL_AUTH; q--)
        if (both & SASL_QOP_BIT(q)) {
            g->base.qop = (enum sasl_qop)q;
            return 0;
        }
    err_set(err, -EPERM, "Kerberos: '%s' and this client have no protection level in common",
            g->server);
    err_hint(err, "compare hadoop.rpc.protection here with the server's");
    return -EPERM;
}

/*   server ──► gss_wrap( protections offered | largest message, 3 bytes )
 *   client ──► gss_wrap( the one chosen      | largest message, 3 bytes )
 * RFC 4752. Both travel under a MAC, so nobody in between can take the stronger ones off the
 * list. */
static int gss_negotiate(struct gss *g, const void *in, size_t n, struct buf *out, struct err *err)
{
    uint8_t offer[LAYER_OFFER] = { 0 }, choice[LAYER_OFFER] = { 0 };
    gss_buffer_desc input = { sizeof(choice), choice };
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    struct gss_result result;
    int r = read_offer(g, in, n, offer, err);

    if (r == 0)
        r = gss_choose(g, offer[0], err);
    if (r < 0)
        return r;
    choice[0] = (uint8_t)SASL_QOP_BIT(g->base.qop);
    if (g->base.qop != SASL_AUTH)
        choice[1] = MAX_RECEIVE >> 16; /* without protection the size has to be 0 */
    result.major =
        g->api.gss_wrap(&result.minor, g->context, 0, GSS_C_QOP_DEFAULT, &input, NULL, &output);
    if (GSS_ERROR(result.major))
        return gss_api_fail(&g->api, result, err, "choose a protection with '%s'", g->server);
    r = gss_add_token(g, &output, out, err);
    g->base.done = r == 0;
    return r;
}

/* Which part of the exchange a token belongs to cannot be seen from the token: it follows from what
 * was established before.
 *
 *     no context ──► first token ──► … ──► established ──► the server's offer ──► done
 *                      establish()               gss_negotiate()
 *
 * How many rounds the first part has is the library's business: with mutual authentication our last
 * token of it is empty. It is sent nevertheless, because the server answers it with its offer. */
static int gss_step(struct sasl *s, const void *in, size_t n, struct buf *out, struct err *err)
{
    struct gss *g = gss_of(s);

    if (n > MAX_TOKEN)
        return err_set(err, -EPROTO, "Kerberos: '%s' sent a token of %zu bytes", g->server, n);
    if (g->established)
        return gss_negotiate(g, in, n, out, err);
    if (!n && g->context != GSS_C_NO_CONTEXT)
        return err_set(err, -EPROTO, "Kerberos: '%s' sent an empty token", g->server);
    return establish(g, in, n, out, err);
}

static int gss_layer_wrap(struct sasl *s, const void *in, size_t n, struct buf *out,
                          struct err *err)
{
    struct gss *g = gss_of(s);
    gss_buffer_desc input = { n, (void *)(uintptr_t)in };
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    struct gss_result result;
    int encrypted = 0;

    result.major = g->api.gss_wrap(&result.minor, g->context, s->qop == SASL_CONF,
                                   GSS_C_QOP_DEFAULT, &input, &encrypted, &output);
    if (GSS_ERROR(result.major))
        return gss_api_fail(&g->api, result, err, "protect a message");
    if (s->qop == SASL_CONF && !encrypted) {
        OM_uint32 minor;

        g->api.gss_release_buffer(&minor, &output);
        return err_set(err, -EPERM, "Kerberos: a message to '%s' was not encrypted", g->server);
    }
    return gss_add_token(g, &output, out, err);
}

/* Anything but a plain GSS_S_COMPLETE is a failure: the bits beside the error say that a message
 * is old, came twice, or left a gap. */
static int gss_layer_unwrap(struct sasl *s, const void *in, size_t n, struct buf *out,
                            struct err *err)
{
    struct gss *g = gss_of(s);
    gss_buffer_desc input = { n, (void *)(uintptr_t)in };
    gss_buffer_desc output = GSS_C_EMPTY_BUFFER;
    struct gss_result result;
    int encrypted = 0;
    OM_uint32 minor;
    int r = -EBADMSG;

    result.major = g->api.gss_unwrap(&result.minor, g->context, &input, &output, &encrypted, NULL);
    if (GSS_ERROR(result.major))
        err_set(err, r, "Kerberos: a protected message from '%s' was damaged or forged", g->server);
    else if (result.major != GSS_S_COMPLETE)
        err_set(err, r, "Kerberos: a protected message from '%s' came twice or out of order",
                g->server);
    else if (s->qop == SASL_CONF && !encrypted)
        err_set(err, r, "Kerberos: a message from '%s' was not encrypted", g->server);
    else
        return gss_add_token(g, &output, out, err);
    g->api.gss_release_buffer(&minor, &output);
    return r;
}

static void gss_free(struct sasl *s)
{
    struct gss *g = gss_of(s);
    OM_uint32 minor;

    /* The library overwrites its own keys. */
    g->api.gss_delete_sec_context(&minor, &g->context, GSS_C_NO_BUFFER);
    g->api.gss_release_cred(&minor, &g->cred);
    g->api.gss_release_name(&minor, &g->target);
    free(g->server);
    free(g);
}

static const struct sasl_ops gss_ops = {
    .name = "GSSAPI",
    .step = gss_step,
    .wrap = gss_layer_wrap,
    .unwrap = gss_layer_unwrap,
    .free = gss_free,
};

static int set_target(struct gss *g, const struct sasl_gss_conf *conf, struct err *err)
{
    g->server = conf->realm ? str_printf("%s/%s@%s", conf->service, conf->host, conf->realm)
                            : str_printf("%s@%s", conf->service, conf->host);
    if (!g->server)
        return err_oom(err);
    return gss_api_name(&g->api, g->server, conf->realm ? gss_api_principal() : gss_api_host_name(),
                        &g->target, err);
}

int gss_new_with(const struct gss_api *api, const struct sasl_gss_conf *conf, struct sasl **ret,
                 struct err *err)
{
    struct gss *g;
    int r;

    if (!(conf->qops & SASL_QOP_ANY))
        return err_set(err, -EINVAL, "Kerberos: no protection level is allowed, not even none");
    g = calloc(1, sizeof(*g));
    if (!g)
        return err_oom(err);
    AUTO_SASL *s = &g->base;
    s->ops = &gss_ops;
    g->api = *api;
    g->qops = conf->qops & SASL_QOP_ANY;
    r = set_target(g, conf, err);
    if (r == 0)
        r = gss_cred_get(&g->api, &conf->who, &g->cred, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

int sasl_gss_new(const struct sasl_gss_conf *conf, struct sasl **ret, struct err *err)
{
    struct gss_api api;
    int r = gss_api_load(&api, err);

    return r < 0 ? r : gss_new_with(&api, conf, ret, err);
}
