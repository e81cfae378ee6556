/* str_num.c - numbers with units, and bytes as text; see str.h */
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int str_to_i64(const char *s, int64_t min, int64_t max, int64_t *ret)
{
    long long v;
    char *end;

    /* strtoll would skip white space and take "+5"; a number is digits and perhaps a minus. */
    if (!isdigit((unsigned char)s[*s == '-']))
        return -EINVAL;
    errno = 0;
    v = strtoll(s, &end, 10);
    if (*end)
        return -EINVAL;
    if (errno == ERANGE || v < min || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* Reads "12" or "1.25" at *s: a whole part and thousandths ten times finer (4 digits). */
struct decimal {
    uint64_t whole;
    uint32_t frac; /* in 1 / FRAC */
};
#define FRAC 10000

static int read_decimal(const char **s, struct decimal *ret)
{
    uint32_t weight = FRAC;
    const char *p = *s;

    *ret = (struct decimal){ 0 };
    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(ret->whole, 10, &ret->whole) ||
            __builtin_add_overflow(ret->whole, (unsigned)(*p - '0'), &ret->whole))
            return -ERANGE;
    if (*p == '.') {
        if (!isdigit((unsigned char)*++p))
            return -EINVAL;
        for (; isdigit((unsigned char)*p); p++) {
            weight /= 10;
            if (weight == 0)
                return -EINVAL;
            ret->frac += (uint32_t)(*p - '0') * weight;
        }
    }
    *s = p;
    return 0;
}

/* d * unit; the fraction must not fall between two whole results unless it is rounded away. The
 * unit is divided first, since unit * frac would overflow from 1e on; what the division loses is
 * added as a term of its own. */
static int scale(struct decimal d, uint64_t unit, uint64_t *ret)
{
    uint64_t v;

    if (__builtin_mul_overflow(d.whole, unit, &v) ||
        __builtin_add_overflow(v, unit / FRAC * d.frac + unit % FRAC * d.frac / FRAC, ret))
        return -ERANGE;
    return 0;
}

int str_to_size(const char *s, uint64_t *ret)
{
    static const char letters[] = "kmgtpe";
    uint64_t unit = 1;
    struct decimal d;
    const char *letter;
    int r;

    r = read_decimal(&s, &d);
    if (r < 0)
        return r;
    letter = *s ? strchr(letters, tolower((unsigned char)*s)) : NULL;
    if (letter) {
        unit <<= 10 * (letter - letters + 1);
        s++;
    }
    if (*s && strcasecmp(s, "b") != 0 && (!letter || strcasecmp(s, "ib") != 0))
        return -EINVAL;
    if (!letter && d.frac)
        return -EINVAL; /* no half bytes */
    return scale(d, unit, ret);
}

static const struct {
    const char *name;
    uint64_t ms;
} ms_units[] = {
    { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};

/* The unit at *s, which is moved past it; COUNT_OF(ms_units) when there is none. */
static size_t ms_unit(const char **s)
{
    size_t n = strspn(*s, "dhms");

    for (size_t i = 0; i < COUNT_OF(ms_units); i++)
        if (strlen(ms_units[i].name) == n && strncmp(*s, ms_units[i].name, n) == 0) {
            *s += n;
            return i;
        }
    return COUNT_OF(ms_units);
}

int str_to_ms(const char *s, int64_t *ret)
{
    uint64_t total = 0, part;
    size_t least = 0; /* units come in falling order, each at most once: "1h30m", not "30m1h" */
    struct decimal d;
    int r;

    do {
        size_t unit;
        bool plain;

        r = read_decimal(&s, &d);
        if (r < 0)
            return r;
        plain = *s == '\0' && least == 0;
        unit = plain ? 3 : ms_unit(&s);
        if (unit == COUNT_OF(ms_units) || unit < least)
            return -EINVAL;
        least = unit + 1;
        if (scale(d, ms_units[unit].ms, &part) < 0 || __builtin_add_overflow(total, part, &total))
            return -ERANGE;
    } while (*s);
    if (total > INT64_MAX)
        return -ERANGE;
    *ret = (int64_t)total;
    return 0;
}

/* Two or three digits are enough for a person: "9.7 GB", "123 MB". */
const char *str_size(uint64_t bytes, char out[STR_SIZE_MAX])
{
    static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
    uint64_t unit = 1, tenths, whole;
    size_t i = 0;

    while (bytes / unit >= 1024) {
        unit *= 1024;
        i++;
    }
    whole = bytes / unit + (bytes % unit >= unit / 2 && unit > 1);
    if (whole == 1024) { /* 1023.7 KB is not shown as 1024 KB */
        snprintf(out, STR_SIZE_MAX, "1.0 %s", units[i + 1]);
        return out;
    }
    tenths = bytes / unit * 10 + (bytes % unit * 10 + unit / 2) / unit;
    if (i > 0 && tenths < 100)
        snprintf(out, STR_SIZE_MAX, "%u.%u %s", (unsigned)tenths / 10, (unsigned)tenths % 10,
                 units[i]);
    else
        snprintf(out, STR_SIZE_MAX, "%u %s", (unsigned)whole, units[i]);
    return out;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int str_base64(const void *p, size_t n, char **ret)
{
    const uint8_t *in = p;
    char *out, *o;

    if (n > SIZE_MAX / 2)
        return -ENOMEM;
    out = o = malloc((n + 2) / 3 * 4 + 1);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)in[i] << 16;

        v |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        v |= left > 2 ? in[i + 2] : 0;
        *o++ = base64_digits[v >> 18];
        *o++ = base64_digits[v >> 12 & 63];
        *o++ = left > 1 ? base64_digits[v >> 6 & 63] : '=';
        *o++ = left > 2 ? base64_digits[v & 63] : '=';
    }
    *o = '\0';
    *ret = out;
    return 0;
}

/* The value of a digit, or -1. */
static int base64_value(char c)
{
    const char *at = c ? strchr(base64_digits, c) : NULL;

    return at ? (int)(at - base64_digits) : -1;
}

int str_unbase64(const char *s, uint8_t **ret, size_t *ret_n)
{
    size_t n = strlen(s), pad = 0, used = 0;
    AUTO_FREE uint8_t *out = malloc(n / 4 * 3 + 1);
    uint32_t v = 0;

    if (!out)
        return -ENOMEM;
    if (n % 4)
        return -EINVAL;
    while (pad < 2 && pad < n && s[n - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < n; i++) {
        int digit = i < n - pad ? base64_value(s[i]) : 0;

        if (digit < 0)
            return -EINVAL;
        v = v << 6 | (uint32_t)digit;
        if (i % 4 == 3) {
            out[used++] = (uint8_t)(v >> 16);
            out[used++] = (uint8_t)(v >> 8);
            out[used++] = (uint8_t)v;
        }
    }
    *ret_n = used - pad;
    *ret = take(out);
    return 0;
}

int str_hex(const void *p, size_t n, char **ret)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *in = p;
    char *out;

    if (n > SIZE_MAX / 4)
        return -ENOMEM;
    out = malloc(2 * n + 1);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[in[i] >> 4];
        out[2 * i + 1] = digits[in[i] & 15];
    }
    out[2 * n] = '\0';
    *ret = out;
    return 0;
}
