/* dn_stream.c - one buffer for reading, in which whole packets are parsed in place. Bytes go out
 * plain, in SASL pieces below 64 KiB, or through AES in counter mode, and callers see no
 * difference. See dn_stream.h. */
#include "hadoop/hdfs/dn_stream.h"
#include "base/str.h"
#include "hadoop/hdfs/packet.h"
#include "loop/sock.h"

#include <endian.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/socket.h>

/* The most that ever lies in the buffer: a whole packet, and what was read along with it. */
#define BUFFER_MAX (PACKET_MAX + MIB)
#define TOKEN_MAX (PACKET_MAX + 64 * KIB)
/* Plain bytes in one wrapped piece, so that a piece stays below the 64 KiB that SASL peers
 * promise each other. */
#define PIECE (60 * KIB)

struct dn_stream {
    struct loop *loop;
    struct sock *sock;
    struct dn_stream_limits limits;
    char *name;
    struct buf in; /* received and readable, from `at` on */
    size_t at;
    struct buf raw, out; /* a wrapped piece as received; a piece to be sent */
    struct sasl *sasl;
    EVP_CIPHER_CTX *encrypt, *decrypt;
};

static struct dn_stream *stream_new(struct loop *l, char *name,
                                    const struct dn_stream_limits *limits)
{
    struct dn_stream *s = name ? calloc(1, sizeof(*s)) : NULL;

    if (!s) {
        free(name);
        return NULL;
    }
    s->loop = l;
    s->limits = *limits;
    s->name = name;
    buf_init(&s->in, BUFFER_MAX);
    buf_init(&s->raw, TOKEN_MAX);
    buf_init(&s->out, TOKEN_MAX);
    return s;
}

int dn_stream_connect(struct loop *l, const char *host, int port,
                      const struct dn_stream_limits *limits, struct dn_stream **ret,
                      struct err *err)
{
    AUTO_DN_STREAM *s = stream_new(l, str_printf("DataNode %s:%d", host, port), limits);
    int r;

    if (!s)
        return err_oom(err);
    r = sock_connect(l, host, port, loop_in(l, limits->connect_ms), &s->sock, err);
    if (r < 0)
        return err_wrap(err, r, "DataNode");
    *ret = take(s);
    return 0;
}

int dn_stream_from_fd(struct loop *l, int fd, const char *name,
                      const struct dn_stream_limits *limits, struct dn_stream **ret,
                      struct err *err)
{
    AUTO_DN_STREAM *s = stream_new(l, strdup(name), limits);
    int r;

    if (!s) {
        close(fd);
        return err_oom(err);
    }
    r = sock_from_fd(l, fd, &s->sock, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

struct dn_stream *dn_stream_close(struct dn_stream *s)
{
    if (!s)
        return NULL;
    s->sock = sock_close(s->sock);
    s->sasl = sasl_free(s->sasl);
    EVP_CIPHER_CTX_free(s->encrypt);
    EVP_CIPHER_CTX_free(s->decrypt);
    buf_done(&s->in);
    buf_done(&s->raw);
    buf_done(&s->out);
    free(s->name);
    free(s);
    return NULL;
}

/* ---- reading ---- */

static int dn_stream_broken(const struct dn_stream *s, int r, struct err *err)
{
    if (r == -ENODATA)
        return err_set(err, r, "%s closed the connection", s->name);
    if (r == -ETIMEDOUT)
        return err_set(err, r, "%s was silent for %lld s", s->name,
                       (long long)s->limits.read_ms / 1000);
    return err_code(err, r, "%s", s->name);
}

/* Room for `n` more bytes behind the unread ones, which move to the front first. */
static int dn_stream_make_room(struct dn_stream *s, size_t n, uint8_t **ret)
{
    if (s->at > 0) {
        buf_eat(&s->in, s->at);
        s->at = 0;
    }
    return buf_room(&s->in, n, ret);
}

/* What the socket has, into the buffer; at least `n` bytes of room are made for it. With AES the
 * bytes are decrypted where they lie, as soon as they arrive: the key stream goes on without regard
 * to packets, so nothing may be read past it or twice. */
static int fill_plain(struct dn_stream *s, size_t n, struct err *err)
{
    size_t want = n > s->limits.buffer ? n : s->limits.buffer;
    uint8_t *room;
    ssize_t got;
    int r, done;

    /* Moving the rest to the front costs a copy: only when the end of the buffer is near. */
    if (s->in.cap - s->in.len < n || s->at == s->in.len) {
        r = dn_stream_make_room(s, s->in.cap - (s->in.len - s->at) < n || !s->in.cap ? want : n,
                                &room);
        if (r < 0)
            return err_code(err, r, "%s: a packet", s->name);
    }
    room = s->in.data + s->in.len;
    got = sock_read(s->sock, room, s->in.cap - s->in.len, loop_in(s->loop, s->limits.read_ms));
    if (got <= 0)
        return dn_stream_broken(s, got < 0 ? (int)got : -ENODATA, err);
    if (s->decrypt && EVP_DecryptUpdate(s->decrypt, room, &done, room, (int)got) != 1)
        return err_set(err, -EIO, "%s: cannot decrypt", s->name);
    s->in.len += (size_t)got;
    return 0;
}

/* One wrapped piece:
 *
 *     int32 length, big-endian | SASL token of that many bytes
 *
 * A token can only be checked as a whole, so it is read completely before anything is unwrapped. */
static int fill_wrapped(struct dn_stream *s, struct err *err)
{
    uint32_t n;
    uint8_t *room;
    int r;

    r = sock_read_full(s->sock, &n, sizeof(n), loop_in(s->loop, s->limits.read_ms));
    if (r < 0)
        return dn_stream_broken(s, r, err);
    n = be32toh(n);
    if (n > TOKEN_MAX)
        return err_set(err, -EPROTO, "%s: a protected message of %u bytes", s->name, n);
    buf_reset(&s->raw);
    r = buf_room(&s->raw, n, &room);
    if (r < 0)
        return err_oom(err);
    r = sock_read_full(s->sock, room, n, loop_in(s->loop, s->limits.read_ms));
    if (r < 0)
        return dn_stream_broken(s, r, err);
    r = dn_stream_make_room(s, n, &room);
    if (r < 0)
        return err_code(err, r, "%s: a protected message", s->name);
    r = sasl_unwrap(s->sasl, s->raw.data, n, &s->in, err);
    return r < 0 ? err_wrap(err, r, "%s", s->name) : 0;
}

/* `n` comes from the other side (a length in a header), so it is bounded before memory is taken. */
int dn_stream_need(struct dn_stream *s, size_t n, struct err *err)
{
    if (n > PACKET_MAX + 64 * KIB)
        return err_set(err, -E2BIG, "%s: a message of %zu bytes", s->name, n);
    while (s->in.len - s->at < n) {
        int r = s->sasl ? fill_wrapped(s, err) : fill_plain(s, n - (s->in.len - s->at), err);

        if (r < 0)
            return r;
    }
    return 0;
}

const uint8_t *dn_stream_bytes(const struct dn_stream *s, size_t *ret_n)
{
    *ret_n = s->in.len - s->at;
    return s->in.data + s->at;
}

void dn_stream_eat(struct dn_stream *s, size_t n)
{
    s->at += n;
    if (s->at == s->in.len)
        s->at = s->in.len = 0; /* nothing is left to move */
}

/* A varint length and a protobuf message. The varint has 1 to 10 bytes, so it is tried with one
 * byte more each time; a buffer that holds ten and still does not parse is garbage. */
int dn_stream_message(struct dn_stream *s, size_t max, struct view *ret, struct err *err)
{
    for (size_t have = 1;; have++) {
        const uint8_t *p;
        struct view v;
        uint64_t size;
        int r = dn_stream_need(s, have, err);

        if (r < 0)
            return r;
        p = dn_stream_bytes(s, &have);
        v = view_of(p, have);
        size = view_varint(&v);
        if (v.bad && have < 10)
            continue;
        if (v.bad || size > max)
            return err_set(err, -EPROTO, "%s sent an invalid HDFS message", s->name);
        have -= v.n;
        r = dn_stream_need(s, have + size, err);
        if (r < 0)
            return r;
        p = dn_stream_bytes(s, &(size_t){ 0 });
        *ret = view_of(p + have, size);
        s->at += have + size; /* not dn_stream_eat(): the bytes must stay where they are */
        return 0;
    }
}

/* ---- writing ---- */

static int stuck(const struct dn_stream *s, int r, struct err *err)
{
    if (r == -ETIMEDOUT)
        return err_set(err, r, "%s took nothing for %lld s", s->name,
                       (long long)s->limits.write_ms / 1000);
    return err_code(err, r, "%s", s->name);
}

static int flush_out(struct dn_stream *s, struct err *err)
{
    int r = sock_write(s->sock, s->out.data, s->out.len, loop_in(s->loop, s->limits.write_ms));

    return r < 0 ? stuck(s, r, err) : 0;
}

static int write_wrapped(struct dn_stream *s, const uint8_t *p, size_t n, struct err *err)
{
    while (n > 0) {
        size_t part = n < PIECE ? n : PIECE;
        uint32_t size = 0;
        int r;

        buf_reset(&s->out);
        r = buf_add(&s->out, &size, sizeof(size));
        if (r < 0)
            return err_oom(err);
        r = sasl_wrap(s->sasl, p, part, &s->out, err);
        if (r < 0)
            return err_wrap(err, r, "%s", s->name);
        size = htobe32((uint32_t)(s->out.len - sizeof(size)));
        memcpy(s->out.data, &size, sizeof(size));
        r = flush_out(s, err);
        if (r < 0)
            return r;
        p += part;
        n -= part;
    }
    return 0;
}

/* CTR mode keeps the length and needs no padding, so packets keep their framing and only the bytes
 * change. The caller's memory stays as it is: a packet may have to be sent again. */
static int write_encrypted(struct dn_stream *s, const struct iovec *iov, int count, struct err *err)
{
    buf_reset(&s->out);
    for (int i = 0; i < count; i++) {
        uint8_t *room;
        int done, r = buf_room(&s->out, iov[i].iov_len, &room);

        if (r < 0)
            return err_code(err, r, "%s: a packet", s->name);
        if (EVP_EncryptUpdate(s->encrypt, room, &done, iov[i].iov_base, (int)iov[i].iov_len) != 1)
            return err_set(err, -EIO, "%s: cannot encrypt", s->name);
        s->out.len += iov[i].iov_len;
    }
    return flush_out(s, err);
}

int dn_stream_write(struct dn_stream *s, struct iovec *iov, int count, struct err *err)
{
    int r = 0;

    if (s->encrypt)
        return write_encrypted(s, iov, count, err);
    if (!s->sasl) {
        r = sock_writev(s->sock, iov, count, loop_in(s->loop, s->limits.write_ms));
        return r < 0 ? stuck(s, r, err) : 0;
    }
    for (int i = 0; i < count && r == 0; i++)
        r = write_wrapped(s, iov[i].iov_base, iov[i].iov_len, err);
    return r;
}

int dn_stream_send(struct dn_stream *s, const void *p, size_t n, struct err *err)
{
    struct iovec iov = { .iov_base = (void *)p, .iov_len = n };

    return dn_stream_write(s, &iov, 1, err);
}

/* ---- protection ---- */

void dn_stream_wrap(struct dn_stream *s, struct sasl *sasl)
{
    s->sasl = sasl;
}

static int start_cipher(EVP_CIPHER_CTX **ret, const uint8_t *key, size_t key_len, const uint8_t *iv,
                        bool encrypting)
{
    const EVP_CIPHER *cipher = key_len == 16   ? EVP_aes_128_ctr()
                               : key_len == 24 ? EVP_aes_192_ctr()
                               : key_len == 32 ? EVP_aes_256_ctr()
                                               : NULL;

    if (!cipher)
        return -EPROTO;
    *ret = EVP_CIPHER_CTX_new();
    if (!*ret)
        return -ENOMEM;
    return EVP_CipherInit_ex(*ret, cipher, NULL, key, iv, encrypting) == 1 ? 0 : -EIO;
}

int dn_stream_encrypt(struct dn_stream *s, const struct dn_stream_keys *keys, struct err *err)
{
    int r = start_cipher(&s->encrypt, keys->out_key, keys->key_len, keys->out_iv, true);

    if (r == 0)
        r = start_cipher(&s->decrypt, keys->in_key, keys->key_len, keys->in_iv, false);
    return r < 0 ? err_code(err, r, "%s: AES with a key of %zu bytes", s->name, keys->key_len) : 0;
}

/* ---- the rest ---- */

/* A connection that is idle has nothing to read. Readable means that the DataNode closed it (EOF),
 * or sent something out of turn; neither can be used again. */
bool dn_stream_quiet(const struct dn_stream *s)
{
    char c;

    if (s->in.len != s->at)
        return false;
    return recv(sock_fd(s->sock), &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

void dn_stream_set_limits(struct dn_stream *s, const struct dn_stream_limits *limits)
{
    s->limits = *limits;
}

const char *dn_stream_name(const struct dn_stream *s)
{
    return s->name;
}
