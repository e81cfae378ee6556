/* str.c - see str.h. Numbers and units are in str_num.c. */
#include "base/str.h"
#include "base/array.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

char *str_vprintf(const char *fmt, va_list ap)
{
    char *s = NULL;

    return vasprintf(&s, fmt, ap) < 0 ? NULL : s;
}

char *str_printf(const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    s = str_vprintf(fmt, ap);
    va_end(ap);
    return s;
}

bool str_eq(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);

    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

const char *str_behind(const char *s, char c)
{
    const char *last = strrchr(s, c);

    return last ? last + 1 : s;
}

uint64_t str_hash(const void *p, size_t n)
{
    const uint8_t *at = p;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

void strs_done(struct strs *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct strs){ 0 };
}

int strs_take(struct strs *l, char *s)
{
    AUTO_FREE char *mine = s;

    if (!mine || ARRAY_ROOM(l->v, l->n + 1) < 0) /* with the NULL */
        return -ENOMEM;
    l->v[l->n++] = take(mine);
    l->v[l->n] = NULL;
    return 0;
}

int strs_addn(struct strs *l, const char *s, size_t n)
{
    return strs_take(l, strndup(s, n));
}

int strs_printf(struct strs *l, const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    s = str_vprintf(fmt, ap);
    va_end(ap);
    return strs_take(l, s);
}

int strs_add(struct strs *l, const char *s)
{
    return strs_take(l, strdup(s));
}

int strs_split(struct strs *l, const char *s, const char *seps)
{
    while (*s) {
        size_t n = strcspn(s, seps), from = 0, to = n;
        int r;

        while (from < to && isspace((unsigned char)s[from]))
            from++;
        while (to > from && isspace((unsigned char)s[to - 1]))
            to--;
        if (to > from) {
            r = strs_addn(l, s + from, to - from);
            if (r < 0)
                return r;
        }
        s += n;
        if (*s)
            s++;
    }
    return 0;
}

static int strs_by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strs_sort(struct strs *l)
{
    if (l->n > 1)
        qsort(l->v, l->n, sizeof(*l->v), strs_by_bytes);
}

bool strs_has(const struct strs *l, const char *s)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i], s) == 0)
            return true;
    return false;
}

/* Longest word that can be "near": the rows of the distance table live on the stack. */
#define NEAR_MAX 80

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

static bool str_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, changes and swaps of neighbours that turn `a` into `b`. (Optimal string
 * alignment.) Three rows of the table are enough: a swap looks two rows back. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][NEAR_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2], *spare;
    size_t n = strlen(a), m = strlen(b);

    for (size_t j = 0; j <= m; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            now[j] =
                least(last[j] + 1, now[j - 1] + 1, last[j - 1] + !str_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && str_same(a[i - 1], b[j - 2]) && str_same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], now[j], before[j - 2] + 1);
        }
        spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *str_nearest(const char *s, const char *const *words, size_t n)
{
    size_t len = strlen(s);
    unsigned best = (unsigned)(len < 3 ? len : 2 + len / 5); /* one more than is let pass */
    const char *found = NULL;

    if (len > NEAR_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        unsigned d;

        if (strlen(words[i]) > NEAR_MAX)
            continue;
        d = distance(s, words[i]);
        if (len >= 2 && d > 1 && strncasecmp(words[i], s, len) == 0)
            d = 1; /* a beginning is as good as one slip */
        if (d < best) {
            best = d;
            found = words[i];
        }
    }
    return found;
}

/* Whole characters only: `out` never ends in the middle of one, or of an escape. */
size_t str_clean(char *out, size_t cap, const char *s)
{
    size_t n = 0, used;
    char piece[8];

    for (; *s; s += used) {
        size_t len = str_utf8_len(s);

        used = len ? len : 1;
        if (len > 1 || (len == 1 && (unsigned char)*s >= ' ' && *s != 0x7f))
            snprintf(piece, sizeof(piece), "%.*s", (int)len, s);
        else if (*s == '\n' || *s == '\t' || *s == '\r')
            snprintf(piece, sizeof(piece), "\\%c", *s == '\n' ? 'n' : *s == '\t' ? 't' : 'r');
        else
            snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)*s);
        if (n + strlen(piece) >= cap)
            break;
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    if (cap > 0)
        out[n] = '\0';
    return n;
}

/* The bits that a first byte of `n` bytes brings, and the least code point that needs so many. */
static const struct {
    uint8_t mask, lead;
    uint32_t least;
} utf8_kinds[] = {
    { 0 }, { 0 }, { 0x1f, 0xc0, 0xa0 }, { 0x0f, 0xe0, 0x800 }, { 0x07, 0xf0, 0x10000 }
};

size_t str_utf8_len(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    uint32_t c;
    size_t n;

    if (*p < 0x80)
        return 1;
    n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    if ((*p & ~utf8_kinds[n].mask & 0xff) != utf8_kinds[n].lead)
        return 0;
    c = *p & utf8_kinds[n].mask;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    /* 0x80 to 0x9f are control characters, surrogates and what is past the end are nothing. */
    if (c < utf8_kinds[n].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    return n;
}
