/* pack_tar.c - headers of the tar format: ustar, and pax where that is too narrow.
 *
 *     ┌ only for a long name, link or size ───────┐
 *     header 'x' | records, padded to a block     | header | bytes, padded to a block
 *
 * A record of pax wins over the field of the header behind it, where what fits of the name stands.
 * See pack.h. */
#include "pyenv/pack.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 100
#define OCTAL_MOST ((UINT64_C(1) << 33) - 1) /* eleven octal digits */

/* As POSIX lays it out; all of it text. */
struct header {
    char name[NAME_MOST];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char sum[8];
    char type;
    char link[NAME_MOST];
    char magic[6], version[2];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char rest[12];
};
_Static_assert(sizeof(struct header) == PACK_BLOCK, "a header is one block");

/* As much as there is room for; a NUL only where room is left. */
static void pack_tar_set_text(char *field, size_t cap, const char *text)
{
    size_t n = strlen(text);

    memcpy(field, text, n < cap ? n : cap);
}

static void set_octal(char *field, size_t cap, uint64_t v)
{
    char digits[32];

    snprintf(digits, sizeof(digits), "%0*llo", (int)cap - 1, (unsigned long long)v);
    pack_tar_set_text(field, cap, digits);
}

/* The sum is that of the block with blanks in the place of the sum: six digits, a NUL and a blank,
 * as everybody writes it. */
static void set_sum(struct header *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;

    memset(h->sum, ' ', sizeof(h->sum));
    for (size_t i = 0; i < sizeof(*h); i++)
        sum += p[i];
    set_octal(h->sum, sizeof(h->sum) - 1, sum);
    h->sum[6] = '\0';
}

static int add_header(struct buf *out, const char *name, const char *link, char type, unsigned mode,
                      uint64_t size)
{
    struct header h = { .type = type };

    pack_tar_set_text(h.name, sizeof(h.name), name);
    pack_tar_set_text(h.link, sizeof(h.link), link ? link : "");
    set_octal(h.mode, sizeof(h.mode), mode);
    set_octal(h.uid, sizeof(h.uid), 0);
    set_octal(h.gid, sizeof(h.gid), 0);
    set_octal(h.size, sizeof(h.size), size <= OCTAL_MOST ? size : 0);
    set_octal(h.mtime, sizeof(h.mtime), PACK_TIME);
    memcpy(h.magic, "ustar", sizeof(h.magic));
    memcpy(h.version, "00", sizeof(h.version));
    set_octal(h.major, sizeof(h.major), 0);
    set_octal(h.minor, sizeof(h.minor), 0);
    set_sum(&h);
    return buf_add(out, &h, sizeof(h));
}

static size_t digits_of(size_t n)
{
    size_t digits = 1;

    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static int add_record(struct buf *out, const char *key, const char *value)
{
    size_t body = strlen(key) + strlen(value) + 3, n = body + digits_of(body);

    if (digits_of(n) > digits_of(body))
        n++;
    return buf_printf(out, "%zu %s=", n, key) < 0 || buf_add_str(out, value) < 0
               ? -ENOMEM
               : buf_add_u8(out, '\n');
}

static int pad(struct buf *out)
{
    static const char zeroes[PACK_BLOCK];

    return buf_add(out, zeroes, (PACK_BLOCK - out->len % PACK_BLOCK) % PACK_BLOCK);
}

static int add_pax(struct buf *out, const struct pack_entry *e, const char *name, uint64_t size)
{
    AUTO_BUF records = { .max = 64 * KIB };
    char number[24];
    int r = 0;

    if (strlen(name) > NAME_MOST)
        r = add_record(&records, "path", name);
    if (r == 0 && e->link && strlen(e->link) > NAME_MOST)
        r = add_record(&records, "linkpath", e->link);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)size);
    if (r == 0 && size > OCTAL_MOST)
        r = add_record(&records, "size", number);
    if (r < 0 || records.len == 0)
        return r;
    r = add_header(out, "PaxHeaders", NULL, 'x', 0644, records.len);
    if (r == 0)
        r = buf_add(out, records.data, records.len);
    return r < 0 ? r : pad(out);
}

int pack_header(const struct pack_entry *e, struct buf *out)
{
    static const char types[] = { [PACK_FILE] = '0', [PACK_DIRECTORY] = '5', [PACK_LINK] = '2' };
    uint64_t size = pack_entry_size(e);
    unsigned mode = e->type != PACK_FILE || e->executable ? 0755 : 0644;
    AUTO_BUF name = { .max = 64 * KIB };
    const char *text;
    int r = buf_add_str(&name, e->name);

    if (r == 0 && e->type == PACK_DIRECTORY)
        r = buf_add_u8(&name, '/');
    text = r < 0 ? NULL : buf_text(&name);
    if (!text)
        return r < 0 ? r : -ENOMEM;
    r = add_pax(out, e, text, size);
    return r < 0 ? r : add_header(out, text, e->link, types[e->type], mode, size);
}
