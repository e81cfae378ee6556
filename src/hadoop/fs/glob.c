/* glob.c - braces are expanded first, each choice into a pattern of its own; then a pattern is
 * matched with a single point to go back to, the last *. See glob.h. */
#include "hadoop/fs/glob.h"
#include "base/buf.h"

#include <string.h>

#define EXPAND_MAX 4096
#define PATTERN_MAX (64 * KIB)

bool glob_has(const char *pattern)
{
    return strpbrk(pattern, "*?[{\\") != NULL;
}

/* ---- {a,b} ---- */

/* What follows the [ ] set that begins at `p`, or `p` + 1 when it has no end. A ] right at the
 * beginning is a member, as in the shell, and a [ without an end stands for itself. */
static const char *after_set(const char *p)
{
    const char *q = p + 1;

    if (*q == '^' || *q == '!')
        q++;
    if (*q == ']')
        q++;
    for (; *q && *q != ']'; q++)
        if (*q == '\\' && q[1])
            q++;
    return *q ? q + 1 : p + 1;
}

/* The next character of `stops` at or after `p` that is not escaped, not in a set and not inside
 * another {}; NULL when there is none. */
static const char *find_at_level(const char *p, const char *stops)
{
    int depth = 0;

    while (*p) {
        if (depth == 0 && strchr(stops, *p))
            return p;
        if (*p == '\\') {
            p += p[1] ? 2 : 1;
        } else if (*p == '[') {
            p = after_set(p);
        } else {
            depth += *p == '{' ? 1 : *p == '}' && depth > 0 ? -1 : 0;
            p++;
        }
    }
    return NULL;
}

static int glob_join(const char *head, size_t head_len, const char *mid, size_t mid_len,
                     const char *tail, char **ret)
{
    *ret = str_printf("%.*s%.*s%s", (int)head_len, head, (int)mid_len, mid, tail);
    return *ret ? 0 : -ENOMEM;
}

/* Puts one pattern per choice of the {} from `open` to `close` onto `todo`. */
static int add_choices(struct strs *todo, const char *pattern, const char *open, const char *close)
{
    const char *at = open + 1;

    for (;;) {
        const char *end = find_at_level(at, ",}");
        char *one;
        int r =
            glob_join(pattern, (size_t)(open - pattern), at, (size_t)(end - at), close + 1, &one);

        if (r == 0)
            r = strs_take(todo, one);
        if (r < 0 || end == close)
            return r;
        at = end + 1;
    }
}

static int check_escape(const char *pattern, struct err *err)
{
    for (const char *p = pattern; *p; p++) {
        if (*p != '\\')
            continue;
        if (!*++p)
            return err_set(err, -EINVAL, "'%s': nothing follows the last \\", pattern);
    }
    return strlen(pattern) > PATTERN_MAX ? err_set(err, -E2BIG, "a pattern this long") : 0;
}

/* Expands the first {} of one pattern onto `todo`, or adds it to `ret` when it has none. */
static int glob_expand_one(const char *pattern, struct strs *todo, struct strs *ret,
                           struct err *err)
{
    const char *open = find_at_level(pattern, "{"), *close;
    int r;

    if (!open) {
        r = strs_add(ret, pattern);
    } else {
        close = find_at_level(open + 1, "}");
        if (!close)
            return err_set(err, -EINVAL, "'%s': a { without its }", pattern);
        r = add_choices(todo, pattern, open, close);
    }
    return r < 0 ? err_oom(err) : 0;
}

/* A queue: what a {} expands to goes to its end, so nested ones are taken apart from the outside
 * in. The bound is on the whole queue, because each {} multiplies. */
int glob_expand(const char *pattern, struct strs *ret, struct err *err)
{
    AUTO_STRS todo = { 0 };
    int r = check_escape(pattern, err);

    if (r == 0 && strs_add(&todo, pattern) < 0)
        return err_oom(err);
    for (size_t i = 0; r == 0 && i < todo.n; i++) {
        r = glob_expand_one(todo.v[i], &todo, ret, err);
        if (r == 0 && todo.n > EXPAND_MAX)
            r = err_set(err, -E2BIG, "'%s' stands for too many patterns", pattern);
    }
    return r;
}

/* ---- * ? [ ] \ ---- */

/* The character at *p, past which *p moves; a byte that is no UTF-8 stands for itself. */
static uint32_t next_char(const char **p)
{
    size_t n = (unsigned char)**p < 0x80 ? 1 : str_utf8_len(*p);
    uint32_t c = 0;

    for (size_t i = 0; i < (n ? n : 1); i++)
        c = c << 8 | (unsigned char)(*p)[i];
    *p += n ? n : 1;
    return c;
}

/* One character of a set, perhaps escaped. */
static uint32_t set_char(const char **p)
{
    if (**p == '\\' && (*p)[1])
        (*p)++;
    return next_char(p);
}

/* Whether `c` is in the set at *p (behind the [), past which *p moves. The bytes of UTF-8 are in
 * the order of the characters, so ranges can be compared so. */
static bool in_set(const char **p, uint32_t c)
{
    bool negated = **p == '^' || **p == '!', found = false, first = true;

    if (negated)
        (*p)++;
    for (; **p && (first || **p != ']'); first = false) {
        uint32_t low = set_char(p), high = low;

        if (**p == '-' && (*p)[1] && (*p)[1] != ']') {
            (*p)++;
            high = set_char(p);
        }
        found |= c >= low && c <= high;
    }
    if (**p == ']')
        (*p)++;
    return found != negated;
}

/* Whether the pattern's next item, past which *p moves, fits the character `c`. */
static bool glob_fits(const char **p, uint32_t c)
{
    if (**p == '?') {
        (*p)++;
        return true;
    }
    if (**p == '[' && after_set(*p) > *p + 1) {
        (*p)++;
        return in_set(p, c);
    }
    if (**p == '\\' && (*p)[1])
        (*p)++;
    return next_char(p) == c;
}

/* Greedy, and back only to the last *: linear in memory, quadratic in time at worst. */
bool glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *star_name = NULL;

    while (*name) {
        const char *p = pattern, *n = name;

        if (*p == '*') {
            star = ++pattern;
            star_name = name;
            continue;
        }
        if (*p && glob_fits(&p, next_char(&n))) {
            pattern = p;
            name = n;
            continue;
        }
        if (!star)
            return false;
        (void)next_char(&star_name);
        pattern = star;
        name = star_name;
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

char *glob_literal(const char *component, size_t n)
{
    char *out = malloc(n + 1), *at = out;

    if (!out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (component[i] == '\\' && i + 1 < n)
            i++;
        *at++ = component[i];
    }
    *at = '\0';
    return out;
}
