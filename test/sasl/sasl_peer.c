/* sasl_peer.c - drives the SASL library against a peer for test_sasl_jdk.py.
 *
 *     sasl_peer exchange port=N mech=digest qops=auth-conf ciphers=rc4 sizes=5,1000 …
 *     sasl_peer identity [principal=P] [keytab=F]
 *
 * The peer is SaslPeer.java, which says what its frames look like. Prints facts as name=value and
 * ends with 0; on failure prints "error=ERRNO", "text=…" and "hint=…" and ends with 1. */
#include "base/str.h"
#include "hadoop/sasl/digest.h"
#include "hadoop/sasl/gss.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LIMIT (16 * MIB)

struct peer {
    char **args;
    int fd;
    struct sasl *sasl;
    struct buf in, out, message;
    int rounds;
};

/* The value of the argument `name`, or `other`. */
static const char *arg(const struct peer *p, const char *name, const char *other)
{
    for (char **a = p->args; *a; a++)
        if (str_starts(*a, name) && (*a)[strlen(name)] == '=')
            return *a + strlen(name) + 1;
    return other;
}

static unsigned qops_of(const char *list)
{
    AUTO_STRS words = { 0 };
    unsigned qops = 0;

    (void)strs_split(&words, list, ",");
    for (enum sasl_qop q = SASL_AUTH; q <= SASL_CONF; q++)
        if (strs_has(&words, sasl_qop_name(q)))
            qops |= SASL_QOP_BIT(q);
    return qops;
}

static int dial(struct peer *p, struct err *err)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval patience = { .tv_sec = 30 };
    int64_t port;

    if (str_to_i64(arg(p, "port", ""), 1, 65535, &port) < 0)
        return err_set(err, -EINVAL, "port=N is missing");
    to.sin_port = htons((uint16_t)port);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return err_sys(err, "connect");
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return 0;
}

static int put(struct peer *p, const void *bytes, size_t n, struct err *err)
{
    AUTO_BUF frame = { .max = LIMIT };
    ssize_t sent = 0;

    if (buf_add_be32(&frame, (uint32_t)n) < 0 || buf_add(&frame, bytes, n) < 0)
        return err_oom(err);
    for (size_t at = 0; at < frame.len; at += (size_t)sent) {
        sent = send(p->fd, frame.data + at, frame.len - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return err_sys(err, "send");
    }
    return 0;
}

static int get_bytes(struct peer *p, size_t n, struct err *err)
{
    uint8_t *room;

    buf_reset(&p->in);
    if (buf_room(&p->in, n, &room) < 0)
        return err_oom(err);
    if (n && recv(p->fd, room, n, MSG_WAITALL) != (ssize_t)n)
        return err_set(err, -EIO, "the peer has gone");
    p->in.len = n;
    return 0;
}

/* Reads a frame into p->in; its letter is the result. */
static int get(struct peer *p, struct err *err)
{
    struct view v;
    uint32_t n;
    int r = get_bytes(p, 5, err);

    if (r < 0)
        return r;
    v = view_of(p->in.data, 5);
    n = view_be32(&v);
    r = view_u8(&v);
    if (get_bytes(p, n - 1, err) < 0)
        return err ? err->code : -EIO;
    if (r == 'E')
        return err_set(err, -EREMOTEIO, "peer: %s", buf_text(&p->in));
    return r;
}

static int make_digest(struct peer *p, struct err *err)
{
    const struct sasl_digest_conf conf = {
        .username = arg(p, "user", "CgwIARIAGAE="),
        .password = arg(p, "password", "c2VjcmV0"),
        .protocol = arg(p, "protocol", ""),
        .server_id = arg(p, "server", "default"),
        .qops = qops_of(arg(p, "qops", "auth,auth-int,auth-conf")),
        .ciphers = arg(p, "ciphers", NULL),
    };

    return sasl_digest_new(&conf, &p->sasl, err);
}

static int make_gss(struct peer *p, struct err *err)
{
    const struct sasl_gss_conf conf = {
        .service = arg(p, "service", "rm"),
        .host = arg(p, "host", "localhost"),
        .realm = arg(p, "realm", NULL),
        .qops = qops_of(arg(p, "qops", "auth,auth-int,auth-conf")),
        .who = { arg(p, "principal", NULL), arg(p, "keytab", NULL) },
    };

    return sasl_gss_new(&conf, &p->sasl, err);
}

/* Tells the peer what to be. */
static int ask(struct peer *p, bool gss, struct err *err)
{
    AUTO_FREE char *wish = str_printf(
        "mechanism=%s\nprotocol=%s\nserver=%s\nqop=%s\npassword=%s\nfirst=%s\nfault=%s",
        gss ? "GSSAPI" : "DIGEST-MD5", gss ? "rm" : arg(p, "protocol", ""),
        gss ? "localhost" : arg(p, "server", "default"),
        arg(p, "peer-qops", "auth,auth-int,auth-conf"), arg(p, "peer-password", "c2VjcmV0"),
        gss ? "client" : arg(p, "first", "server"), arg(p, "fault", "none"));

    return wish ? put(p, wish, strlen(wish), err) : err_oom(err);
}

/* One token from us for what is in p->in. */
static int step(struct peer *p, struct err *err)
{
    p->rounds++;
    buf_reset(&p->out);
    return sasl_step(p->sasl, p->in.data, p->in.len, &p->out, err);
}

static int log_in(struct peer *p, bool client_first, struct err *err)
{
    int kind = 'C', r;

    if (!client_first)
        kind = get(p, err);
    while (kind == 'C') {
        r = step(p, err);
        if (r == 0)
            r = put(p, p->out.data, p->out.len, err);
        if (r < 0)
            return r;
        kind = get(p, err);
    }
    if (kind < 0)
        return kind;
    if (p->in.len) { /* success with a last token */
        r = step(p, err);
        if (r < 0)
            return r;
    }
    if (!sasl_done(p->sasl))
        return err_set(err, -EPROTO, "the peer is done and we are not");
    printf("qop=%s\nrounds=%d\n", sasl_qop_name(sasl_qop(p->sasl)), p->rounds);
    return 0;
}

/* Sends `n` bytes and compares what comes back. */
static int echo(struct peer *p, size_t n, struct err *err)
{
    bool plain = sasl_qop(p->sasl) == SASL_AUTH;
    AUTO_FREE uint8_t *bytes = malloc(n + 1);
    int r;

    if (!bytes)
        return err_oom(err);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    buf_reset(&p->out);
    r = plain ? buf_add(&p->out, bytes, n) : sasl_wrap(p->sasl, bytes, n, &p->out, err);
    if (r == 0)
        r = put(p, p->out.data, p->out.len, err);
    if (r == 0)
        r = get(p, err);
    if (r < 0)
        return r;
    buf_reset(&p->message);
    r = plain ? buf_add(&p->message, p->in.data, p->in.len)
              : sasl_unwrap(p->sasl, p->in.data, p->in.len, &p->message, err);
    if (r < 0)
        return r;
    if (p->message.len != n + 5 || memcmp(p->message.data, "echo:", 5) != 0 ||
        memcmp(p->message.data + 5, bytes, n) != 0)
        return err_set(err, -EIO, "the echo of %zu bytes differs", n);
    printf("echo=%zu\n", n);
    return 0;
}

static int exchange(struct peer *p, struct err *err)
{
    bool gss = str_eq(arg(p, "mech", "digest"), "gss");
    AUTO_STRS sizes = { 0 };
    int r = gss ? make_gss(p, err) : make_digest(p, err);

    if (r == 0)
        r = dial(p, err);
    if (r == 0)
        r = ask(p, gss, err);
    if (r == 0)
        r = log_in(p, gss || str_eq(arg(p, "first", "server"), "client"), err);
    (void)strs_split(&sizes, arg(p, "sizes", "5,1000,70000,200000"), ",");
    for (size_t i = 0; r == 0 && i < sizes.n; i++) {
        int64_t n = 0;

        (void)str_to_i64(sizes.v[i], 0, LIMIT / 2, &n);
        r = echo(p, (size_t)n, err);
    }
    return r;
}

static int identity(const struct peer *p, struct err *err)
{
    const struct gss_who who = { arg(p, "principal", NULL), arg(p, "keytab", NULL) };
    AUTO_FREE char *principal = NULL;
    int64_t seconds = 0;
    int r = gss_identity(&who, &principal, &seconds, err);

    if (r == 0)
        printf("principal=%s\nseconds=%lld\n", principal, (long long)seconds);
    return r;
}

int main(int argc, char **argv)
{
    struct peer p = { .args = argv + (argc > 1 ? 2 : 1), .fd = -1 };
    struct err err = ERR_INIT;
    int r;

    buf_init(&p.in, LIMIT);
    buf_init(&p.out, LIMIT);
    buf_init(&p.message, LIMIT);
    if (argc > 1 && str_eq(argv[1], "identity"))
        r = identity(&p, &err);
    else
        r = exchange(&p, &err);
    if (r < 0)
        printf("error=%d\ntext=%s\nhint=%s\n", -r, err.text, err.hint);
    sasl_free(p.sasl);
    buf_done(&p.in);
    buf_done(&p.out);
    buf_done(&p.message);
    if (p.fd >= 0)
        close(p.fd);
    return r < 0;
}
