/* grpc_frame.c - see grpc_frame.h. Memory grows with what has come, not with what a prefix says.
 *
 *     compressed, 1 | length, 4 BE | message
 *
 * One such message makes a call's body. DATA frames cut it anywhere, also inside the five bytes. */
#include "wire/grpc/grpc_frame.h"

#include <string.h>

void grpc_frame_init(struct grpc_frame *f, size_t max)
{
    *f = (struct grpc_frame){ 0 };
    buf_init(&f->body, max);
}

void grpc_frame_done(struct grpc_frame *f)
{
    buf_done(&f->body);
}

static int grpc_frame_open(struct grpc_frame *f, struct err *err)
{
    struct view v = view_of(f->prefix, GRPC_PREFIX);
    uint8_t compressed = view_u8(&v);

    f->length = view_be32(&v);
    if (compressed)
        return err_set(err, -EPROTO,
                       "the message is marked as compressed, and grpc-encoding names "
                       "no compression");
    if (f->length > f->body.max)
        return err_set(err, -E2BIG, "the message has %zu bytes, at most %zu are accepted",
                       f->length, f->body.max);
    return 0;
}

int grpc_frame_feed(struct grpc_frame *f, const uint8_t *p, size_t n, struct err *err)
{
    size_t some = GRPC_PREFIX - f->n_prefix;
    int r = 0;

    if (some > 0 && n > 0) {
        some = some < n ? some : n;
        memcpy(f->prefix + f->n_prefix, p, some);
        f->n_prefix += some;
        p += some;
        n -= some;
        if (f->n_prefix == GRPC_PREFIX)
            r = grpc_frame_open(f, err);
    }
    if (r < 0 || n == 0)
        return r;
    if (n > f->length - f->body.len)
        return err_set(err, -EPROTO, "there is more than one message, and this method takes one");
    return buf_add(&f->body, p, n) < 0 ? err_oom(err) : 0;
}

bool grpc_frame_complete(const struct grpc_frame *f)
{
    return f->n_prefix == GRPC_PREFIX && f->body.len == f->length;
}

void grpc_frame_prefix(uint8_t prefix[GRPC_PREFIX], size_t n)
{
    prefix[0] = 0;
    for (int i = 0; i < GRPC_PREFIX - 1; i++)
        prefix[1 + i] = (uint8_t)(n >> (8 * (GRPC_PREFIX - 2 - i)));
}
