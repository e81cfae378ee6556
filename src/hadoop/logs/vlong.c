/* vlong.c - the variable-length numbers of TFile: the range of the first byte says how many bytes
 * follow. Not the numbers of writable.c, although Hadoop calls both VLong: the same bytes mean
 * other values.
 *
 *     first byte       value
 *     -32 … 127        itself
 *     -72 … -33        first + 52, and 1 byte
 *     -104 … -73       first + 88, and 2 bytes
 *     -120 … -105      first + 112, and 3 bytes
 *     -125 … -121      first + 129 bytes, with the sign in the highest
 *
 * See vlong.h. */
#include "hadoop/logs/vlong.h"

/* By the first byte, of which -128 to -33 are the long forms. */
static const struct {
    int8_t from; /* up to the next row's */
    uint8_t more;
    uint8_t add; /* to the first byte, whose sum stands above the bytes that follow */
} forms[] = {
    { -32, 0, 0 },
    { -72, 1, 52 },
    { -104, 2, 88 },
    { -120, 3, 112 },
};

size_t vlong_more(uint8_t first)
{
    int8_t b = (int8_t)first;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (b >= forms[i].from)
            return forms[i].more;
    return (size_t)(b + 129);
}

static int64_t wide(struct view *v, size_t n)
{
    uint64_t value = 0;
    int unused = (int)(8 - n) * 8;

    if (n < 4)
        v->bad = true;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | view_u8(v);
    if (v->bad)
        return 0;
    return (int64_t)(value << unused) >> unused;
}

int64_t vlong_read(struct view *v)
{
    int8_t b = (int8_t)view_u8(v);

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t value = b + forms[i].add;

        if (b < forms[i].from)
            continue;
        for (int n = 0; n < forms[i].more; n++)
            value = value * 256 + view_u8(v);
        return v->bad ? 0 : value;
    }
    return wide(v, (size_t)(b + 129));
}
