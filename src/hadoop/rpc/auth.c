/* auth.c - chooses among the server's offers by what we hold (a token for this service, a ticket,
 * or nothing) and runs the exchange that auth.h draws. Steps of Kerberos may wait for a KDC and run
 * in the work pool. A failure before the server's first word is the network's; after it, a refusal.
 * What a server offers depends on the port more than on the cluster:
 *
 *     RM for clients, NameNode             TOKEN, and SIMPLE or KERBEROS
 *     RM for masters, NodeManager          TOKEN only, also on a cluster without security
 *
 * So every connection begins with SASL and an application master always speaks DIGEST-MD5. Asking
 * costs one round trip, and nobody has to know the cluster's mode beforehand. See auth.h. */
#include "hadoop/rpc/auth.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/sasl/digest.h"
#include "hadoop/sasl/hint.h"
#include "loop/work.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MESSAGE_MAX (1 * MIB) /* a Kerberos ticket with a large PAC is tens of kilobytes */

struct exchange {
    struct loop *loop;
    struct sock *sock;
    const struct conn_conf *conf;
    int64_t deadline;
    struct buf out, in;
    bool answered; /* the server has said something */
    struct sasl *mech;
    char *principal; /* our own, with Kerberos */
};

/* ---- messages ---- */

static int auth_send_message(struct exchange *x, const Ipc__RpcSasl *m, struct err *err)
{
    int r = frame_add_sasl(&x->out, m);

    if (r < 0)
        return err_code(err, r, "sign in");
    r = sock_write(x->sock, x->out.data, x->out.len, x->deadline);
    buf_reset(&x->out);
    return r < 0 ? err_code(err, r, "sign in") : 0;
}

/* A server that closes before its first word is dying, or full: that is the network's failure.
 * Later, it may be a refusal: some have no text, because the server fails while it writes them.
 * Seen: for a token identifier that it cannot parse, the RM has no message, throws a
 * NullPointerException while it writes the refusal, and closes. */
static int read_failed(const struct exchange *x, int r, struct err *err)
{
    bool closed = r == -ENODATA || r == -ECONNRESET;

    if (closed && !x->answered)
        return err_set(err, -ECONNRESET, "the server closed the connection before it answered");
    if (closed) {
        err_set(err, -EKEYREJECTED, "authentication refused: the server closed the connection");
        err_hint(err, "the token or ticket may belong to another cluster, or a program other than "
                      "a Hadoop server listens there");
        return -EKEYREJECTED;
    }
    if (r == -ETIMEDOUT) {
        err_set(err, r, "the server accepts connections but says nothing");
        err_hint(err, "it may be paused or overloaded, or another program listens there");
        return r;
    }
    return err_code(err, r, "sign in");
}

/* Read to the byte: what follows the last SASL frame belongs to the connection's reader, which may
 * have to unwrap it. */
static int auth_read_frame(struct exchange *x, struct err *err)
{
    uint8_t *room;
    int64_t size;
    int r;

    buf_reset(&x->in);
    r = buf_room(&x->in, 4, &room);
    if (r == 0)
        r = sock_read_full(x->sock, room, 4, x->deadline);
    if (r < 0)
        return read_failed(x, r, err);
    x->in.len = 4;
    size = frame_size(x->in.data, 4, err);
    if (size < 0)
        return (int)size;
    r = buf_room(&x->in, (size_t)size - 4, &room);
    if (r < 0)
        return err_set(err, -EPROTO, "the server does not speak Hadoop's RPC protocol");
    r = sock_read_full(x->sock, room, (size_t)size - 4, x->deadline);
    if (r < 0)
        return read_failed(x, r, err);
    x->in.len += (size_t)size - 4;
    x->answered = true;
    return 0;
}

/* A refusal comes as an error frame in place of the next message. Its class counts as anywhere
 * else: a standby NameNode, which cannot look a token up, says StandbyException here, and the
 * service goes on to the next address. */
static int auth_read_message(struct exchange *x, Ipc__RpcSasl **ret, struct err *err)
{
    AUTO_FRAME_ANSWER a = { 0 };
    int r = auth_read_frame(x, err);

    if (r < 0)
        return r;
    r = frame_parse(x->in.data, x->in.len, &a, err);
    if (r < 0)
        return r;
    if (a.header->status != IPC__RPC_STATUS__STATUS_SUCCESS) {
        r = rpc_exception_err(a.header->exception_class, a.header->error_message, err);
        sasl_remote_hint(err, a.header->error_message);
        return r < 0 ? r : -EREMOTEIO; /* whatever it is, there is no message */
    }
    return frame_parse_sasl(&a, ret, err);
}

/* ---- choosing ---- */

enum way { WAY_TOKEN, WAY_KERBEROS, WAY_SIMPLE, WAYS_ };

static const char *const way_names[WAYS_] = { "TOKEN", "KERBEROS", "SIMPLE" };

/* A client that is configured for Kerberos must not be talked out of it by a server, or by somebody
 * in between who offers SIMPLE only. */
static bool simple_allowed(const struct rpc_identity *who)
{
    return !who->secure || who->fallback;
}

/* With a token in hand SIMPLE is not taken: the caller wants to be the token's owner. */
static bool can(const struct exchange *x, enum way way)
{
    const struct rpc_identity *who = x->conf->identity;

    switch (way) {
    case WAY_TOKEN:
        return x->conf->token != NULL;
    case WAY_KERBEROS:
        return who->secure && who->kerberos;
    default:
        return simple_allowed(who) && !x->conf->token;
    }
}

static int nothing_fits(const struct exchange *x, const Ipc__RpcSasl *offers, struct err *err)
{
    const struct rpc_identity *who = x->conf->identity;
    char list[120] = "";

    for (size_t i = 0; i < offers->n_auths; i++) {
        size_t n = strlen(list);

        snprintf(list + n, sizeof(list) - n, "%s%.20s", i ? " or " : "", offers->auths[i]->method);
    }
    err_set(err, -EACCES, "the server wants %s, and this client has %s", list,
            x->conf->token ? "a token it does not accept"
            : who->secure  ? "no Kerberos here"
                           : "neither");
    if (!who->secure && !x->conf->token)
        err_hint(err, "the cluster uses Kerberos, but hadoop.security.authentication in "
                      "core-site.xml here is not 'kerberos'");
    return -EACCES;
}

/* The server's first offer that we can take up. The server's order counts, as with Java's client:
 * it lists TOKEN before KERBEROS, which spares the KDC. */
static int auth_choose(const struct exchange *x, const Ipc__RpcSasl *offers,
                       const Ipc__SaslAuth **ret, enum way *ret_way, struct err *err)
{
    for (size_t i = 0; i < offers->n_auths; i++)
        for (int way = 0; way < WAYS_; way++)
            if (str_eq(offers->auths[i]->method, way_names[way]) && can(x, way)) {
                *ret = offers->auths[i];
                *ret_way = way;
                return 0;
            }
    return nothing_fits(x, offers, err);
}

/* ---- mechanisms ---- */

static unsigned qops(const struct exchange *x)
{
    return x->conf->identity->qops ? x->conf->identity->qops : SASL_QOP_ANY;
}

static int new_token_mech(struct exchange *x, const Ipc__SaslAuth *offer, struct err *err)
{
    const struct token *t = x->conf->token;
    struct sasl_digest_conf conf = {
        .protocol = offer->protocol ? offer->protocol : "",
        .server_id = offer->server_id ? offer->server_id : "",
        .qops = qops(x),
    };
    struct sasl_digest_token secret = { t->id, t->id_len, t->password, t->password_len };

    if (!str_eq(offer->mechanism, "DIGEST-MD5"))
        return err_set(err, -EOPNOTSUPP,
                       "the server authenticates tokens with '%.40s', not DIGEST-MD5",
                       offer->mechanism);
    return sasl_digest_new_token(&conf, &secret, &x->mech, err);
}

/* "10.0.0.1" or "fe80::1", not "1and1.example". */
static bool auth_is_number(const char *host, size_t n)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (n >= sizeof(text))
        return false;
    memcpy(text, host, n);
    text[n] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

/* The realm is not in the offer, and the host is compared only where the configuration has a name:
 * behind a number the server's canonical name is not known to us. */
bool auth_principal_fits(const char *principal, const char *service, const char *host)
{
    const char *slash = strchr(principal, '/'), *at = strrchr(principal, '@');
    size_t service_len = slash ? (size_t)(slash - principal) : strcspn(principal, "@");
    size_t host_len;

    if (strlen(service) != service_len || memcmp(service, principal, service_len) != 0)
        return false;
    if (!slash)
        return true;
    host_len = at && at > slash ? (size_t)(at - slash - 1) : strlen(slash + 1);
    if (auth_is_number(slash + 1, host_len))
        return true;
    return strlen(host) == host_len && strncasecmp(host, slash + 1, host_len) == 0;
}

/* A rogue server could name a principal of its own: the configuration's word counts. */
static int check_principal(const struct exchange *x, const char *service, const char *host,
                           struct err *err)
{
    const struct rpc_address *a = x->conf->address;
    AUTO_FREE char *have = str_printf("%s/%s", service, host);
    AUTO_FREE char *with_realm = str_printf("%s/%s@*", service, host);

    if (!have || !with_realm)
        return err_oom(err);
    if (a->pattern && *a->pattern) {
        if (fnmatch(a->pattern, have, 0) == 0 || fnmatch(a->pattern, with_realm, 0) == 0)
            return 0;
    } else if (!a->principal || !*a->principal ||
               auth_principal_fits(a->principal, service, host)) {
        return 0;
    }
    err_set(err, -EACCES, "the server says that it is '%.120s', the configuration says '%s'", have,
            a->pattern && *a->pattern ? a->pattern : a->principal);
    err_hint(err, "check the server's principal in the configuration, or its address");
    return -EACCES;
}

struct kerberos_start {
    struct exchange *x;
    const char *service, *host;
    struct err *err;
};

static int start_kerberos(void *arg)
{
    struct kerberos_start *k = arg;
    const struct rpc_identity *who = k->x->conf->identity;

    return who->kerberos->start(who, k->service, k->host, &k->x->mech, &k->x->principal, k->err);
}

static int new_kerberos_mech(struct exchange *x, const Ipc__SaslAuth *offer, struct err *err)
{
    struct kerberos_start k = {
        .x = x,
        .service = offer->protocol ? offer->protocol : "",
        .host = offer->server_id ? offer->server_id : "",
        .err = err,
    };
    int r = check_principal(x, k.service, k.host, err);

    return r < 0 ? r : work_run(x->loop, start_kerberos, &k);
}

/* A step of Kerberos may ask the KDC, so every step is made where it may block. */
struct step {
    struct sasl *mech;
    const uint8_t *in;
    size_t n;
    struct buf *out;
    struct err *err;
};

static int auth_run_step(void *arg)
{
    struct step *s = arg;

    return sasl_step(s->mech, s->in, s->n, s->out, s->err);
}

static int auth_step(struct exchange *x, enum way way, const ProtobufCBinaryData *in,
                     struct buf *token, struct err *err)
{
    struct step s = { x->mech, in ? in->data : NULL, in ? in->len : 0, token, err };

    buf_reset(token);
    return way == WAY_KERBEROS ? work_run(x->loop, auth_run_step, &s) : auth_run_step(&s);
}

/* ---- the exchange ---- */

/* The offer again, with the same fields present, but without its challenge. The server looks for
 * the echo in its own list with equals(): a field that is present and empty (the protocol of TOKEN,
 * the mechanism of SIMPLE) must stay present. */
static Ipc__SaslAuth echo_of(const Ipc__SaslAuth *offer)
{
    Ipc__SaslAuth a = *offer;

    a.has_challenge = 0;
    a.base.n_unknown_fields = 0;
    return a;
}

/* INITIATE repeats the offer that was chosen, so that the server knows which one it was; RESPONSE
 * has the token alone. */
static int send_token(struct exchange *x, const Ipc__SaslAuth *first, const struct buf *token,
                      struct err *err)
{
    Ipc__RpcSasl m = IPC__RPC_SASL__INIT;
    Ipc__SaslAuth echo, *auths[1] = { &echo };

    m.state = first ? IPC__SASL_STATE__SASL_INITIATE : IPC__SASL_STATE__SASL_RESPONSE;
    if (first) {
        echo = echo_of(first);
        m.auths = auths;
        m.n_auths = 1;
    }
    if (token) {
        m.has_token = 1; /* present also when it is empty: the server counts tokens */
        m.token = (ProtobufCBinaryData){ token->len, token->data };
    }
    return auth_send_message(x, &m, err);
}

/* SUCCESS alone proves nothing: with DIGEST-MD5 its token has the server's own proof, and with
 * Kerberos the context must stand by now. Without that somebody else could be answering. */
static int auth_finish(struct exchange *x, enum way way, const Ipc__RpcSasl *m, struct buf *token,
                       struct err *err)
{
    int r = 0;

    if (!sasl_done(x->mech))
        r = auth_step(x, way, m->has_token ? &m->token : NULL, token, err);
    if (r == 0 && !sasl_done(x->mech))
        r = err_set(err, -EACCES, "the server ends the exchange before it proved who it is");
    return r;
}

/* Every token of ours answers one of the server's, so the exchange ends at the server's word only;
 * its length is bounded by the deadline of each read. */
static int converse(struct exchange *x, enum way way, const Ipc__SaslAuth *offer, struct err *err)
{
    const ProtobufCBinaryData *challenge = offer->has_challenge ? &offer->challenge : NULL;
    AUTO_BUF token = { .max = MESSAGE_MAX };
    int r = auth_step(x, way, challenge, &token, err);

    if (r == 0)
        r = send_token(x, offer, &token, err);
    while (r == 0) {
        Ipc__RpcSasl *m = NULL;
        bool end;

        r = auth_read_message(x, &m, err);
        if (r != 0)
            return r;
        end = m->state == IPC__SASL_STATE__SASL_SUCCESS;
        if (end)
            r = auth_finish(x, way, m, &token, err);
        else if (m->state != IPC__SASL_STATE__SASL_CHALLENGE)
            r = err_set(err, -EPROTO, "the server sent an unexpected message");
        else
            r = auth_step(x, way, m->has_token ? &m->token : NULL, &token, err);
        ipc__rpc_sasl__free_unpacked(m, NULL);
        if (end || r < 0)
            return r;
        r = send_token(x, NULL, &token, err);
    }
    return r;
}

/* The user for the connection context. With Kerberos it is the full principal, because the server
 * compares it with the ticket's name as text: "alice" would be "alice@REALM" impersonating
 * somebody. */
static int name_user(struct exchange *x, enum way way, struct auth_result *ret, struct err *err)
{
    const struct rpc_identity *who = x->conf->identity;
    const char *user = way == WAY_KERBEROS && !who->real_user ? x->principal : who->user;

    if (way == WAY_TOKEN)
        return 0; /* the token says it; any other name would be refused */
    ret->effective_user = strdup(user ? user : "");
    ret->real_user = way == WAY_SIMPLE ? who->real_user : NULL;
    return ret->effective_user ? 0 : err_oom(err);
}

static int take_up(struct exchange *x, const Ipc__RpcSasl *offers, struct auth_result *ret,
                   struct err *err)
{
    const Ipc__SaslAuth *offer = NULL;
    enum way way = WAY_SIMPLE;
    int r = auth_choose(x, offers, &offer, &way, err);

    if (r < 0)
        return r;
    /* Nothing comes back to an INITIATE with SIMPLE: the connection context follows at once. */
    if (way == WAY_SIMPLE) {
        r = send_token(x, offer, NULL, err);
        return r < 0 ? r : name_user(x, way, ret, err);
    }
    r = way == WAY_TOKEN ? new_token_mech(x, offer, err) : new_kerberos_mech(x, offer, err);
    if (r == 0)
        r = converse(x, way, offer, err);
    if (r == 0)
        r = name_user(x, way, ret, err);
    /* The mechanism lives on as the connection's layer: it has the keys and the sequence
     * numbers. */
    if (r == 0 && sasl_qop(x->mech) != SASL_AUTH)
        ret->layer = take(x->mech);
    return r;
}

static int simple_only(struct exchange *x, struct auth_result *ret, struct err *err)
{
    if (simple_allowed(x->conf->identity))
        return name_user(x, WAY_SIMPLE, ret, err);
    err_set(err, -EACCES,
            "the server asks for no authentication, but the configuration says "
            "kerberos");
    err_hint(err, "set ipc.client.fallback-to-simple-auth-allowed to true to talk to it "
                  "nevertheless");
    return -EACCES;
}

static int auth_negotiate(struct exchange *x, struct auth_result *ret, struct err *err)
{
    Ipc__RpcSasl hello = IPC__RPC_SASL__INIT, *offers = NULL;
    int r = frame_add_hello(&x->out);

    if (r < 0)
        return err_code(err, r, "sign in");
    hello.state = IPC__SASL_STATE__SASL_NEGOTIATE;
    r = auth_send_message(x, &hello, err);
    if (r == 0)
        r = auth_read_message(x, &offers, err);
    if (r != 0)
        return r;
    if (offers->state == IPC__SASL_STATE__SASL_SUCCESS)
        r = simple_only(x, ret, err);
    else if (offers->state == IPC__SASL_STATE__SASL_NEGOTIATE)
        r = take_up(x, offers, ret, err);
    else
        r = err_set(err, -EPROTO, "the server sent an unexpected message");
    ipc__rpc_sasl__free_unpacked(offers, NULL);
    return r;
}

int auth_sign_in(struct loop *l, struct sock *s, const struct conn_conf *conf, int64_t deadline,
                 struct auth_result *ret, struct err *err)
{
    struct exchange x = { .loop = l, .sock = s, .conf = conf, .deadline = deadline };
    int r;

    buf_init(&x.out, MESSAGE_MAX);
    buf_init(&x.in, MESSAGE_MAX);
    r = auth_negotiate(&x, ret, err);
    buf_done(&x.out);
    buf_done(&x.in);
    sasl_free(x.mech);
    free(x.principal);
    if (r < 0)
        auth_result_done(ret);
    return r;
}

void auth_result_done(struct auth_result *r)
{
    r->layer = sasl_free(r->layer);
    free(r->effective_user);
    r->effective_user = NULL;
}
