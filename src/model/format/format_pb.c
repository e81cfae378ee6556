/* format_pb.c - see format_pb.h. A field is a tag (number and wire type) and a value:
 *
 *     tag = number << 3 | wire        0: varint   1: 8 bytes   2: length, bytes   5: 4 bytes
 */
#include "model/format/format_pb.h"

#include <string.h>

struct pb pb_of(struct pages *p)
{
    return (struct pb){ .pages = p, .end = p->size };
}

/* Seven bits a byte, the lowest first, and at most ten bytes. What the tenth has beyond 64 bits is
 * dropped, as protobuf does. */
static bool pb_varint(struct pb *m, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t *c = m->at < m->end ? pages_get(m->pages, m->at, 1) : NULL;

        if (!c)
            return false;
        m->at++;
        if (shift < 64)
            *ret |= (uint64_t)(*c & 0x7f) << shift;
        if (*c < 0x80)
            return true;
    }
    return false;
}

static bool pb_skip(struct pb *m, uint64_t n)
{
    if (n > m->end - m->at)
        return false;
    m->at += n;
    return true;
}

static bool pb_value(struct pb *m, struct pb_field *f)
{
    switch (f->wire) {
    case PB_VARINT:
        return pb_varint(m, &f->value);
    case PB_BYTES:
        if (!pb_varint(m, &f->n))
            return false;
        f->at = m->at;
        return pb_skip(m, f->n);
    case PB_FIXED64:
        return pb_skip(m, 8);
    case PB_FIXED32:
        return pb_skip(m, 4);
    default: /* groups, which none of our messages has */
        return false;
    }
}

/* pages_step() counts: a file of nothing but tiny fields ends by that, not by its size. */
bool pb_next(struct pb *m, struct pb_field *ret)
{
    uint64_t tag;

    if (m->bad || m->at >= m->end)
        return false;
    *ret = (struct pb_field){ 0 };
    m->bad = !pages_step(m->pages) || !pb_varint(m, &tag) || tag >> 3 == 0 || tag >> 32 != 0;
    if (m->bad)
        return false;
    ret->number = (uint32_t)(tag >> 3);
    ret->wire = (enum pb_wire)(tag & 7);
    m->bad = !pb_value(m, ret);
    return !m->bad;
}

struct pb pb_in(const struct pb *m, const struct pb_field *f)
{
    return (struct pb){ .pages = m->pages, .at = f->at, .end = f->at + f->n };
}

char *pb_text(struct pb *m, const struct pb_field *f, size_t max)
{
    size_t n = f->n < max ? (size_t)f->n : max;
    const uint8_t *p = pages_get(m->pages, f->at, n);
    char *text = p ? strndup((const char *)p, n) : NULL;

    m->bad |= !text;
    return text;
}

bool pb_is(const struct pb_field *f, uint32_t number, enum pb_wire wire)
{
    return f->number == number && f->wire == wire;
}
