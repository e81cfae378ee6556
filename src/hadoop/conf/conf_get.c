/* conf_get.c - the values of a conf, with their types; see conf.h */
#include "base/str.h"
#include "hadoop/conf/conf.h"
#include "hadoop/conf/conf_store.h"
#include "hadoop/conf/keys.h"
#include "hadoop/conf/subst.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

int conf_bad(const struct conf *c, const char *key, const char *value, const char *what,
             struct err *err)
{
    const struct setting *s = store_find(c, key);

    if (!s)
        return err_set(err, -EINVAL, "'%s' is '%.120s', %s", key, value, what);
    return err_set(err, -EINVAL, "%s:%d: '%s' is '%.120s', %s", c->files.v[s->file], s->line, key,
                   value, what);
}

/* As Java's trim() does it, in place: everything up to the space goes. */
static void conf_trim(char *text)
{
    size_t from = 0, n = strlen(text);

    while (from < n && (unsigned char)text[from] <= ' ')
        from++;
    while (n > from && (unsigned char)text[n - 1] <= ' ')
        n--;
    memmove(text, text + from, n - from);
    text[n - from] = '\0';
}

/* From here a value goes as Hadoop would see it: the last setting or the table's fallback, with
 * ${…} put in and without blanks around it. */
int conf_str(const struct conf *c, const char *key, char **ret, struct err *err)
{
    const struct setting *s = store_find(c, key);
    const struct key *k = key_find(key_current(key));
    const char *raw = s ? s->value : k ? k->fallback : NULL;
    int r;

    *ret = NULL;
    if (!raw)
        return 0;
    r = subst(c, key, raw, ret, err);
    if (r < 0)
        return r;
    conf_trim(*ret);
    return 0;
}

/* The text of a key that must have one. */
static int must(const struct conf *c, const char *key, char **ret, struct err *err)
{
    int r = conf_str(c, key, ret, err);

    if (r < 0 || *ret)
        return r;
    (void)err_set(err, -ENODATA, "'%s' is not set", key);
    return -ENODATA;
}

/* A number of digits of `base` and nothing else. */
static int conf_whole(const char *text, int base, int64_t *ret)
{
    bool minus = *text == '-';
    char *end;
    long long v;

    if (!isxdigit((unsigned char)text[minus || *text == '+']))
        return -EINVAL; /* strtoll would skip blanks */
    errno = 0;
    v = strtoll(text, &end, base);
    if (*end)
        return -EINVAL;
    if (errno == ERANGE)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* How kinds of values are read; `k` is the key's row, or NULL. The text may be changed. */
typedef int conf_reader(char *text, const struct key *k, int64_t *ret);

/* "0x1f" and "-0x1f", too. */
static int conf_number(char *text, const struct key *k, int64_t *ret)
{
    bool minus = *text == '-';
    int r;

    (void)k;
    if (strncasecmp(text + minus, "0x", 2) != 0)
        return conf_whole(text, 10, ret);
    text += minus + 2;
    if (!*text || text[strspn(text, "0123456789abcdefABCDEF")])
        return -EINVAL;
    r = conf_whole(text, 16, ret);
    if (minus)
        *ret = -*ret;
    return r;
}

/* `kind` says what the value should have been. */
static int conf_parsed(const struct conf *c, const char *key, conf_reader *parse, const char *kind,
                       int64_t *ret, struct err *err)
{
    AUTO_FREE char *text = NULL, *copy = NULL;
    int64_t v = 0;
    int r = must(c, key, &text, err);

    if (r < 0)
        return r;
    copy = strdup(text);
    if (!copy)
        return err_oom(err);
    r = parse(copy, key_find(key_current(key)), &v);
    if (r < 0)
        return conf_bad(c, key, text, r == -ERANGE ? "which is out of range" : kind, err);
    *ret = v;
    return 0;
}

int conf_int(const struct conf *c, const char *key, int64_t *ret, struct err *err)
{
    return conf_parsed(c, key, conf_number, "not a number", ret, err);
}

int conf_bool(const struct conf *c, const char *key, bool *ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r;

    r = must(c, key, &text, err);
    if (r < 0)
        return r;
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
        return conf_bad(c, key, text, "not true or false", err);
    *ret = strcasecmp(text, "true") == 0;
    return 0;
}

/* `less` divides instead: Hadoop knows units below a millisecond. In the order of looking, since
 * every other unit ends like a shorter one. */
static const struct unit {
    const char *suffix;
    int64_t ms, less;
} units[] = {
    { "ns", 1, 1000000 }, { "us", 1, 1000 },   { "ms", 1, 1 },       { "s", 1000, 1 },
    { "m", 60000, 1 },    { "h", 3600000, 1 }, { "d", 86400000, 1 },
};

/* A number without a unit is in the unit of its key: milliseconds for most, seconds for those that
 * Hadoop has so (KEY_SECONDS). */
static int duration(char *text, const struct key *k, int64_t *ret)
{
    struct unit u = { "", k && k->type == KEY_SECONDS ? 1000 : 1, 1 };
    size_t n = strlen(text);
    int64_t v;
    int r;

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t m = strlen(units[i].suffix);

        if (n >= m && strcasecmp(text + n - m, units[i].suffix) == 0) {
            u = units[i];
            text[n - m] = '\0';
            break;
        }
    }
    r = conf_whole(text, 10, &v);
    if (r < 0)
        return r;
    return __builtin_mul_overflow(v / u.less, u.ms, ret) ? -ERANGE : 0;
}

int conf_ms(const struct conf *c, const char *key, int64_t *ret, struct err *err)
{
    return conf_parsed(c, key, duration, "not a time such as 500ms, 10s or 5m", ret, err);
}

static int size(char *text, const struct key *k, int64_t *ret)
{
    static const char letters[] = "kmgtpe";
    size_t n = strlen(text);
    const char *letter = n ? strchr(letters, tolower((unsigned char)text[n - 1])) : NULL;
    int64_t v;
    int r;

    (void)k;
    if (letter)
        text[n - 1] = '\0';
    r = conf_whole(text, 10, &v);
    if (r < 0)
        return r;
    if (v < 0 || __builtin_mul_overflow(v, letter ? 1024ULL << 10 * (letter - letters) : 1, ret))
        return -ERANGE;
    return 0;
}

int conf_size(const struct conf *c, const char *key, uint64_t *ret, struct err *err)
{
    int64_t v = 0;
    int r = conf_parsed(c, key, size, "not a size such as 65536, 64k or 1g", &v, err);

    if (r == 0)
        *ret = (uint64_t)v;
    return r;
}

int conf_list(const struct conf *c, const char *key, struct strs *ret, struct err *err)
{
    AUTO_FREE char *text = NULL;
    int r;

    r = conf_str(c, key, &text, err);
    if (r < 0 || !text)
        return r;
    return strs_split(ret, text, ",\n") < 0 ? err_oom(err) : 0;
}

int conf_keys(const struct conf *c, const char *prefix, struct strs *ret, struct err *err)
{
    for (size_t i = store_from(c, prefix); i < c->n && str_starts(c->v[i].key, prefix); i++)
        if (strs_add(ret, c->v[i].key) < 0)
            return err_oom(err);
    return 0;
}
