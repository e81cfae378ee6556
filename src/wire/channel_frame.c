/* channel_frame.c - the length is checked against the ceiling before anything is allocated.
 * protobuf-c gives NULL for both bad bytes and lack of memory, so its allocator notes which it was.
 *
 *     length, 4 bytes, big endian | that many bytes of protobuf
 *
 * See channel_frame.h. */
#include "wire/channel_frame.h"

int channel_pack(const ProtobufCMessage *m, size_t max, struct buf *out, struct err *err)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *room;
    int r;

    if (n > max || n > UINT32_MAX)
        return err_set(err, -E2BIG, "a message %s of %zu bytes, at most %zu", m->descriptor->name,
                       n, max);
    r = buf_room(out, CHANNEL_HEAD + n, &room);
    if (r == -E2BIG)
        return err_set(err, -ENOBUFS, "the other side reads too slowly: %zu bytes wait for it",
                       out->len);
    if (r < 0)
        return err_oom(err);
    (void)buf_add_be32(out, (uint32_t)n); /* there is room */
    protobuf_c_message_pack(m, room + CHANNEL_HEAD);
    out->len += n;
    return 0;
}

ssize_t channel_length(const void *p, size_t n, size_t max, struct err *err)
{
    struct view v = view_of(p, n);
    uint32_t length = view_be32(&v);

    if (v.bad)
        return -EAGAIN;
    if (length > max)
        return err_set(err, -E2BIG, "a message of %u bytes, at most %zu", length, max);
    return (ssize_t)length;
}

/* protobuf-c does not say why there is no message; its allocator can. */
static void *alloc_or_tell(void *failed, size_t n)
{
    void *p = malloc(n ? n : 1);

    if (!p)
        *(bool *)failed = true;
    return p;
}

static void channel_release(void *failed, void *p)
{
    (void)failed;
    free(p);
}

int channel_unpack(const ProtobufCMessageDescriptor *d, const void *p, size_t n,
                   ProtobufCMessage **ret, struct err *err)
{
    bool failed = false;
    ProtobufCAllocator a = { .alloc = alloc_or_tell,
                             .free = channel_release,
                             .allocator_data = &failed };
    ProtobufCMessage *m = protobuf_c_message_unpack(d, &a, n, p);

    if (!m && failed)
        return err_oom(err);
    if (!m)
        return err_set(err, -EBADMSG, "%zu bytes that are not a valid message %s", n, d->name);
    *ret = m;
    return 0;
}
