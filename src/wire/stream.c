/* stream.c - moves bytes between the socket and its reader or writer, through TLS if there is one.
 * See stream.h.
 *
 * With TLS the reader never writes. What reading makes necessary to send (an answer to a change of
 * keys) stays with OpenSSL until somebody writes, so two fibers never write to the socket. */
#include "wire/stream.h"
#include "wire/tls.h"

#include <string.h>

struct stream {
    struct sock *sock; /* NULL once closed */
    struct tls *tls;   /* NULL: plain */
    int refs;          /* the owner's, and every call that is inside */
    int broken;        /* what the first failed write said */
    bool writing;
};

static void stream_unref(struct stream *s)
{
    if (--s->refs > 0)
        return;
    tls_free(s->tls);
    free(s);
}

/* NULL when out of memory; `sock` is closed then. */
static struct stream *stream_over(struct sock *sock)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s) {
        sock_close(sock);
        return NULL;
    }
    s->sock = sock;
    s->refs = 1;
    return s;
}

int stream_plain(struct sock *sock, struct stream **ret, struct err *err)
{
    struct stream *s = stream_over(sock);

    if (!s)
        return err_oom(err);
    *ret = s;
    return 0;
}

struct sock *stream_sock(struct stream *s)
{
    return s->sock;
}

/* What can go out at once. Only while nobody else is in the middle of a write. */
static void send_without_waiting(struct stream *s)
{
    uint8_t out[512];
    size_t n = tls_take(s->tls, out, sizeof(out));

    if (n > 0)
        (void)send(sock_fd(s->sock), out, n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The goodbye tells the other side that nothing was cut off. In the middle of somebody's write, or
 * after a failed one, it would land inside a record. */
struct stream *stream_close(struct stream *s)
{
    if (!s)
        return NULL;
    if (s->tls && !s->writing && !s->broken) {
        tls_goodbye(s->tls);
        send_without_waiting(s);
    }
    s->sock = sock_close(s->sock);
    stream_unref(s);
    return NULL;
}

/* ---- the handshake ---- */

/* Nothing large lies on the stack: a fiber that once did keeps those pages for its life. */
static int send_pending(struct stream *s, int64_t deadline)
{
    size_t n;
    int r = 0;

    while (r == 0 && (n = tls_pending(s->tls)) > 0) {
        size_t cap = n < TLS_WIRE_MAX ? n : TLS_WIRE_MAX;
        AUTO_FREE uint8_t *out = malloc(cap);

        if (!out)
            return -ENOMEM;
        n = tls_take(s->tls, out, cap);
        r = sock_write(s->sock, out, n, deadline);
        if (!s->sock)
            return -ECONNABORTED;
    }
    return r;
}

/* What is there of the other side's bytes, for TLS; -EAGAIN. */
static int receive_now(struct stream *s)
{
    AUTO_FREE uint8_t *in = malloc(TLS_WIRE_MAX);
    ssize_t n = in ? sock_read_now(s->sock, in, TLS_WIRE_MAX) : -ENOMEM;

    if (n == 0)
        return -ECONNRESET; /* without a goodbye, so it may have been cut off */
    return n < 0 ? (int)n : tls_put(s->tls, in, (size_t)n);
}

/* The same, waiting for them. */
static int receive(struct stream *s, int64_t deadline)
{
    int r;

    while ((r = receive_now(s)) == -EAGAIN) {
        r = sock_wait_readable(s->sock, deadline);
        if (!s->sock)
            return -ECONNABORTED;
        if (r < 0)
            return r;
    }
    return r;
}

/* What OpenSSL wants to say goes out before anything is read, also after its last word: the
 * client's Finished is written in the same step that ends the handshake. */
static int stream_shake_hands(struct stream *s, int64_t deadline, struct err *err)
{
    for (;;) {
        int done = tls_shake(s->tls, err), r;

        if (done < 0) {
            send_without_waiting(s); /* the other side is told, if it still listens */
            return done;
        }
        r = send_pending(s, deadline);
        if (r == 0 && done)
            return 0;
        if (r == 0)
            r = receive(s, deadline);
        if (r < 0)
            return err_code(err, r, "TLS handshake");
    }
}

/* `sock` is taken over, also on failure. `t` is used in the handshake only; OpenSSL keeps what it
 * needs of it for longer by a reference of its own. */
int stream_tls_start(struct stream_tls *t, struct sock *sock, int64_t deadline, struct stream **ret,
                     struct err *err)
{
    AUTO_STREAM *s = stream_over(sock);
    int r;

    if (!s)
        return err_oom(err);
    r = tls_new(t, &s->tls, err);
    if (r < 0)
        return r;
    r = stream_shake_hands(s, deadline, err);
    if (r < 0) {
        s->broken = r; /* no goodbye in the middle of it */
        return r;
    }
    *ret = take(s);
    return 0;
}

static int start_alone(struct sock *sock, const struct stream_key *k, bool server, int64_t deadline,
                       struct stream **ret, struct err *err)
{
    AUTO(stream_tls) struct stream_tls *t = NULL;
    int r = stream_tls_new(k, server, &t, err);

    if (r < 0) {
        sock_close(sock);
        return r;
    }
    return stream_tls_start(t, sock, deadline, ret, err);
}

int stream_tls_client(struct sock *sock, const struct stream_key *k, int64_t deadline,
                      struct stream **ret, struct err *err)
{
    return start_alone(sock, k, false, deadline, ret, err);
}

int stream_tls_server(struct sock *sock, const struct stream_key *k, int64_t deadline,
                      struct stream **ret, struct err *err)
{
    return start_alone(sock, k, true, deadline, ret, err);
}

/* ---- reading ---- */

static ssize_t read_tls(struct stream *s, void *p, size_t n, int64_t deadline)
{
    for (;;) {
        ssize_t got = tls_decrypt(s->tls, p, n);
        int r;

        if (got != -EAGAIN)
            return got;
        r = receive(s, deadline);
        if (r < 0)
            return r;
    }
}

ssize_t stream_read(struct stream *s, void *p, size_t n, int64_t deadline)
{
    ssize_t got;

    if (!s->sock)
        return -ECONNABORTED;
    s->refs++;
    got = s->tls ? read_tls(s, p, n, deadline) : sock_read(s->sock, p, n, deadline);
    stream_unref(s);
    return got;
}

/* TLS may have bytes that were decrypted already, of which the socket knows nothing. */
int stream_wait(struct stream *s, int64_t deadline)
{
    int r;

    if (!s->sock)
        return -ECONNABORTED;
    if (s->tls)
        return 0;
    s->refs++;
    r = sock_wait_readable(s->sock, deadline);
    stream_unref(s);
    return r;
}

/* ---- writing ---- */

static void stream_step(struct iovec **iov, int *count, size_t n)
{
    if (n > 0) /* an empty piece may have no address */
        (*iov)->iov_base = (char *)(*iov)->iov_base + n;
    (*iov)->iov_len -= n;
    if ((*iov)->iov_len == 0) {
        (*iov)++;
        (*count)--;
    }
}

/* Fills `out` from the front of the vector, which moves on: small pieces share a record. */
static size_t stream_gather(struct iovec **iov, int *count, uint8_t *out, size_t cap)
{
    size_t len = 0;

    while (*count > 0 && len < cap) {
        size_t n = (*iov)->iov_len < cap - len ? (*iov)->iov_len : cap - len;

        if (n > 0)
            memcpy(out + len, (*iov)->iov_base, n);
        len += n;
        stream_step(iov, count, n);
    }
    return len;
}

/* One record: of a piece that is large enough, or the last, from where it lies. 0: nothing left. */
static int encrypt_some(struct stream *s, struct iovec **iov, int *count)
{
    AUTO_FREE uint8_t *plain = NULL;
    size_t n, total = 0;
    int r;

    while (*count > 0 && (*iov)->iov_len == 0)
        stream_step(iov, count, 0);
    if (*count == 0)
        return 0;
    if (*count == 1 || (*iov)->iov_len >= TLS_PLAIN_MAX) {
        n = (*iov)->iov_len < TLS_PLAIN_MAX ? (*iov)->iov_len : TLS_PLAIN_MAX;
        r = tls_encrypt(s->tls, (*iov)->iov_base, n);
        stream_step(iov, count, n);
        return r < 0 ? r : 1;
    }
    for (int i = 0; i < *count && total < TLS_PLAIN_MAX; i++)
        total += (*iov)[i].iov_len;
    total = total < TLS_PLAIN_MAX ? total : TLS_PLAIN_MAX;
    plain = malloc(total);
    if (!plain)
        return -ENOMEM;
    r = tls_encrypt(s->tls, plain, stream_gather(iov, count, plain, total));
    return r < 0 ? r : 1;
}

/* One record at a time is encrypted and sent: a large message never exists twice as a whole. */
static int write_tls(struct stream *s, struct iovec *iov, int count, int64_t deadline)
{
    int r;

    while ((r = encrypt_some(s, &iov, &count)) > 0) {
        r = send_pending(s, deadline);
        if (r < 0)
            return r;
    }
    return r;
}

int stream_writev(struct stream *s, struct iovec *iov, int count, int64_t deadline)
{
    int r;

    if (!s->sock)
        return -ECONNABORTED;
    if (s->broken)
        return s->broken;
    s->refs++;
    s->writing = true;
    r = s->tls ? write_tls(s, iov, count, deadline) : sock_writev(s->sock, iov, count, deadline);
    s->writing = false;
    if (r < 0)
        s->broken = r;
    stream_unref(s);
    return r;
}

int stream_write(struct stream *s, const void *p, size_t n, int64_t deadline)
{
    struct iovec iov = { .iov_base = (void *)p, .iov_len = n };

    return stream_writev(s, &iov, 1, deadline);
}
