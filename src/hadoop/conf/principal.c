/* principal.c - Hadoop's auth_to_local: each rule formats the principal's parts into a text,
 * matches it, and rewrites it as sed would. The first rule that applies gives the short name.
 *
 *     RULE:[2:$1@$0](rm@EXAMPLE)s/rm@EXAMPLE/yarn/    "rm/host@EXAMPLE" is "yarn"
 *     RULE:[1:$1]/L                                     "Alice@EXAMPLE" is "alice"
 *     DEFAULT                                           the first part
 *
 * The number is how many parts a principal must have for the rule to count.
 *
 * Java's regular expressions are taken as extended POSIX ones. The common subset is what rules use.
 * See principal.h. */
#include "hadoop/conf/principal.h"
#include "base/buf.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#define KEY "hadoop.security.auth_to_local"
#define NAME_BYTES_MAX 1024
#define GROUPS_MAX 10

/* alice@REALM or hdfs/host@REALM, taken apart. */
struct principal {
    char *text;
    const char *part[3]; /* $0: the realm, $1, $2 */
    unsigned n;          /* parts but the realm */
};

/* RULE:[N:FORMAT](MATCH)s/FROM/TO/g/L; what is not there is NULL. */
struct mapping {
    unsigned n;
    const char *format, *match, *from, *to;
    bool all, lower;
};

static int principal_take_apart(const char *name, struct principal *ret)
{
    char *at, *slash;

    *ret = (struct principal){ .text = strdup(name), .part = { "" }, .n = 1 };
    if (!ret->text)
        return -ENOMEM;
    at = strrchr(ret->text, '@');
    if (at) {
        *at = '\0';
        ret->part[0] = at + 1;
    }
    slash = strchr(ret->text, '/');
    if (slash) {
        *slash = '\0';
        ret->part[2] = slash + 1;
        ret->n = 2;
    }
    ret->part[1] = ret->text;
    return 0;
}

/* Ends the text at the next `end` and continues after it; NULL when there is none. */
static char *cut_at(char **at, char end)
{
    char *from = *at, *to = strchr(from, end);

    if (!to)
        return NULL;
    *to = '\0';
    *at = to + 1;
    return from;
}

/* Takes a rule from *at; 0 for what is none, where Java would not start. */
static int read_rule(char **at, struct mapping *ret)
{
    char *p = *at + strlen("RULE:["), *end;

    *ret = (struct mapping){ .n = (unsigned)strtoul(p, &end, 10) };
    if (*end != ':')
        return 0;
    p = end + 1;
    ret->format = cut_at(&p, ']');
    if (ret->format && *p == '(') {
        p++;
        ret->match = cut_at(&p, ')');
        if (!ret->match)
            return 0;
    }
    if (ret->format && p[0] == 's' && p[1] == '/') {
        p += 2;
        ret->from = cut_at(&p, '/');
        ret->to = ret->from ? cut_at(&p, '/') : NULL;
        if (!ret->to)
            return 0;
        ret->all = *p == 'g';
        p += ret->all;
    }
    p += *p == '/';
    ret->lower = *p == 'L';
    *at = p + ret->lower;
    return ret->format != NULL;
}

/* "$1@$0" with the parts of the principal. */
static int put_parts(const char *format, const struct principal *who, struct buf *out)
{
    int r = 0;

    for (const char *p = format; *p && r == 0; p++) {
        if (*p != '$') {
            r = buf_add_u8(out, (uint8_t)*p);
        } else if (p[1] >= '0' && p[1] <= '2' && who->part[p[1] - '0']) {
            r = buf_add_str(out, who->part[p[1] - '0']);
            p++;
        }
    }
    return r;
}

/* All of it, as Java's matches() has it. 1, 0, or -ENOMEM. */
static int principal_fits(const char *pattern, const char *text)
{
    AUTO_FREE char *whole = str_printf("^(%s)$", pattern);
    regex_t compiled;
    int r;

    if (!whole)
        return -ENOMEM;
    if (regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) != 0)
        return 0;
    r = regexec(&compiled, text, 0, NULL, 0);
    regfree(&compiled);
    return r == 0;
}

/* TO for what FROM found in `text`, with $1 … put in. */
static int put_replacement(const char *to, const char *text, const regmatch_t *groups,
                           struct buf *out)
{
    int r = 0;

    for (const char *p = to; *p && r == 0; p++) {
        const regmatch_t *g =
            p[0] == '$' && isdigit((unsigned char)p[1]) ? &groups[p[1] - '0'] : NULL;

        if (!g)
            r = buf_add_u8(out, (uint8_t)*p);
        else if (g->rm_so >= 0)
            r = buf_add(out, text + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
        p += g != NULL;
    }
    return r;
}

static int substitute(const struct mapping *m, const char *text, struct buf *out)
{
    regmatch_t groups[GROUPS_MAX];
    regex_t compiled;
    int r = 0, flags = 0;

    if (regcomp(&compiled, m->from, REG_EXTENDED) != 0)
        return buf_add_str(out, text);
    while (r == 0 && regexec(&compiled, text, GROUPS_MAX, groups, flags) == 0) {
        bool empty = groups[0].rm_eo == groups[0].rm_so;

        r = buf_add(out, text, (size_t)groups[0].rm_so);
        if (r == 0)
            r = put_replacement(m->to, text, groups, out);
        text += groups[0].rm_eo;
        flags = REG_NOTBOL;
        if (!m->all || (empty && !*text))
            break;
        if (empty && r == 0)
            r = buf_add_u8(out, (uint8_t)*text++);
    }
    regfree(&compiled);
    return r == 0 ? buf_add_str(out, text) : r;
}

/* 1 and the name when the rule is for this principal, else 0. */
static int principal_apply(const struct mapping *m, const struct principal *who, char **ret)
{
    AUTO_BUF base = { .max = NAME_BYTES_MAX }, name = { .max = NAME_BYTES_MAX };
    int r = m->n == who->n ? put_parts(m->format, who, &base) : 0;

    if (m->n != who->n || r < 0)
        return r;
    if (!buf_text(&base))
        return -ENOMEM;
    r = m->match ? principal_fits(m->match, buf_text(&base)) : 1;
    if (r <= 0)
        return r;
    r = m->from ? substitute(m, buf_text(&base), &name) : buf_add_str(&name, buf_text(&base));
    if (r < 0 || !buf_text(&name))
        return r < 0 ? r : -ENOMEM;
    for (size_t i = 0; m->lower && i < name.len; i++)
        name.data[i] = (uint8_t)tolower(name.data[i]);
    if (!*buf_text(&name) || strpbrk(buf_text(&name), "/@"))
        return 0; /* no name of a user */
    *ret = strdup(buf_text(&name));
    return *ret ? 1 : -ENOMEM;
}

/* The first rule that fits says it. DEFAULT is for the realm of this machine: its user is here. */
static int find_rule(char *rules, const struct principal *who, char **ret)
{
    int r = 0;

    while (r == 0 && *(rules += strspn(rules, " \t\r\n"))) {
        struct mapping m;

        if (!str_starts(rules, "RULE:[") || !read_rule(&rules, &m))
            return 0;
        r = principal_apply(&m, who, ret);
        if (r == -E2BIG)
            r = 0;
    }
    return r;
}

int conf_short_name(const struct conf *c, const char *principal, char **ret, struct err *err)
{
    AUTO_FREE char *rules = NULL;
    struct principal who = { 0 };
    int r = conf_str(c, KEY, &rules, err);

    if (r < 0)
        return r;
    *ret = NULL;
    r = principal_take_apart(principal, &who);
    if (r == 0 && rules)
        r = find_rule(rules, &who, ret);
    if (r == 0)
        *ret = strdup(who.part[1]);
    free(who.text);
    return r < 0 || !*ret ? err_oom(err) : 0;
}
