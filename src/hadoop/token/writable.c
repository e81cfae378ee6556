/* writable.c - Java's variable-length numbers: the first byte holds small values itself, or says
 * how many bytes follow and the sign. See writable.h. */
#include "hadoop/token/writable.h"

#include <string.h>

static int64_t spoil(struct view *v)
{
    v->bad = true;
    v->n = 0;
    return 0;
}

/*     first byte      meaning
 *     -112 … 127      the number itself
 *     -120 … -113     1 to 8 bytes of a positive number follow, the highest first
 *     -128 … -121     1 to 8 bytes of a negative one, as its complement */
int64_t writable_vlong(struct view *v)
{
    int8_t first = (int8_t)view_u8(v);
    bool negative = first < -120;
    int n = negative ? -120 - first : -112 - first;
    uint64_t value = 0;

    if (first >= -112)
        return first;
    while (n-- > 0)
        value = value << 8 | view_u8(v);
    if (v->bad)
        return 0;
    return (int64_t)(negative ? ~value : value);
}

int32_t writable_vint(struct view *v)
{
    int64_t n = writable_vlong(v);

    return (int32_t)(n < INT32_MIN || n > INT32_MAX ? spoil(v) : n);
}

struct view writable_bytes(struct view *v)
{
    int32_t n = writable_vint(v);

    if (n < 0)
        n = (int32_t)spoil(v);
    return view_sub(v, (size_t)n);
}

struct view writable_text(struct view *v)
{
    return writable_bytes(v);
}

struct view writable_string(struct view *v)
{
    uint32_t n = view_be32(v);

    /* Java writes -1 for a null string. */
    return view_sub(v, n == UINT32_MAX ? 0 : n);
}

int writable_dup(struct view text, char **ret)
{
    if (text.n > 0 && memchr(text.p, '\0', text.n))
        return -EBADMSG;
    *ret = strndup(text.n ? (const char *)text.p : "", text.n);
    return *ret ? 0 : -ENOMEM;
}

int writable_add_vlong(struct buf *b, int64_t n)
{
    uint64_t value = (uint64_t)(n < 0 ? ~n : n);
    uint8_t out[9];
    int bytes = 0;

    if (n >= -112 && n <= 127)
        return buf_add_u8(b, (uint8_t)n);
    for (uint64_t rest = value; rest; rest >>= 8)
        bytes++;
    out[0] = (uint8_t)((n < 0 ? -120 : -112) - bytes);
    for (int i = bytes; i > 0; i--, value >>= 8)
        out[i] = (uint8_t)value;
    return buf_add(b, out, (size_t)bytes + 1);
}

int writable_add_bytes(struct buf *b, const void *p, size_t n)
{
    int r = n > INT32_MAX ? -E2BIG : writable_add_vlong(b, (int64_t)n);

    return r < 0 ? r : buf_add(b, p, n);
}

int writable_add_text(struct buf *b, const char *s)
{
    return writable_add_bytes(b, s, strlen(s));
}
