/* buf.c - growth by doubling up to the ceiling, numbers in network order, and the cursor. A read
 * past the end of a view marks it bad and gives zeroes from then on, so a parser checks once at
 * its end. See buf.h. */
#include "base/buf.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void buf_done(struct buf *b)
{
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

void buf_wipe(struct buf *b)
{
    if (b->data)
        explicit_bzero(b->data, b->cap);
    buf_done(b);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
}

/* Doubling may allocate up to twice the ceiling; the ceiling is for the content, which is checked
 * before. */
static size_t next_cap(const struct buf *b, size_t need)
{
    size_t cap = b->cap ? b->cap : 64;

    while (cap < need)
        cap *= 2; /* need <= max, and ceilings are far below SIZE_MAX / 2 */
    return cap;
}

int buf_room(struct buf *b, size_t n, uint8_t **ret)
{
    uint8_t *data;
    size_t cap;

    if (n > b->max - b->len)
        return -E2BIG;
    if (b->len + n > b->cap) {
        cap = next_cap(b, b->len + n);
        data = realloc(b->data, cap);
        if (!data)
            return -ENOMEM;
        b->data = data;
        b->cap = cap;
    }
    *ret = b->data + b->len;
    return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
    uint8_t *room;
    int r;

    if (n == 0)
        return 0;
    r = buf_room(b, n, &room);
    if (r < 0)
        return r;
    memcpy(room, p, n);
    b->len += n;
    return 0;
}

int buf_add_u8(struct buf *b, uint8_t v)
{
    return buf_add(b, &v, 1);
}

int buf_add_be16(struct buf *b, uint16_t v)
{
    v = htobe16(v);
    return buf_add(b, &v, sizeof(v));
}

int buf_add_be32(struct buf *b, uint32_t v)
{
    v = htobe32(v);
    return buf_add(b, &v, sizeof(v));
}

int buf_add_be64(struct buf *b, uint64_t v)
{
    v = htobe64(v);
    return buf_add(b, &v, sizeof(v));
}

int buf_add_varint(struct buf *b, uint64_t v)
{
    uint8_t out[10];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (uint8_t)(v | 0x80);
    out[n++] = (uint8_t)v;
    return buf_add(b, out, n);
}

int buf_add_str(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

/* Printed beside it first, so that a text which does not fit leaves the buffer as it was. Only one
 * that is long is printed twice. */
int buf_printf(struct buf *b, const char *fmt, ...)
{
    char text[256];
    uint8_t *room;
    va_list ap;
    int n, r;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0)
        return -EINVAL;
    if ((size_t)n > b->max - b->len)
        return -E2BIG;
    b->max += 1; /* vsnprintf's NUL is not content */
    r = buf_room(b, (size_t)n + 1, &room);
    b->max -= 1;
    if (r < 0)
        return r;
    if ((size_t)n < sizeof(text)) {
        memcpy(room, text, (size_t)n + 1);
    } else {
        va_start(ap, fmt);
        vsnprintf((char *)room, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->len += (size_t)n;
    return 0;
}

void buf_eat(struct buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

/* The NUL lies behind the content and does not count to it: more can be added, which overwrites it.
 * It has room beyond the ceiling. */
const char *buf_text(struct buf *b)
{
    uint8_t *room;
    int r;

    b->max += 1;
    r = buf_room(b, 1, &room);
    b->max -= 1;
    if (r < 0)
        return NULL;
    *room = '\0';
    return (const char *)b->data;
}

const uint8_t *view_bytes(struct view *v, size_t n)
{
    const uint8_t *p = v->p;

    if (v->bad || n > v->n) {
        v->bad = true;
        v->n = 0;
        return NULL;
    }
    v->p += n;
    v->n -= n;
    return p;
}

uint8_t view_u8(struct view *v)
{
    const uint8_t *p = view_bytes(v, 1);

    return p ? *p : 0;
}

static uint64_t big_endian(struct view *v, size_t n)
{
    const uint8_t *p = view_bytes(v, n);
    uint64_t r = 0;

    for (size_t i = 0; p && i < n; i++)
        r = r << 8 | p[i];
    return r;
}

uint16_t view_be16(struct view *v)
{
    return (uint16_t)big_endian(v, 2);
}

uint32_t view_be32(struct view *v)
{
    return (uint32_t)big_endian(v, 4);
}

uint64_t view_be64(struct view *v)
{
    return big_endian(v, 8);
}

uint64_t view_varint(struct view *v)
{
    uint64_t r = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t c = view_u8(v);

        if (shift < 64)
            r |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return v->bad ? 0 : r;
    }
    v->bad = true;
    v->n = 0;
    return 0;
}

struct view view_sub(struct view *v, size_t n)
{
    const uint8_t *p = view_bytes(v, n);

    return (struct view){ .p = p, .n = p ? n : 0, .bad = v->bad };
}
