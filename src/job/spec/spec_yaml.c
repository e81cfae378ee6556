/* spec_yaml.c - reads a job file: the entry, single values, and maps by their tables; see spec.h
 * and spec_read.h. */
#include "job/spec/spec_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- where we are, and what is wrong there ---- */

int spec_read_enter(struct spec_reader *r, const char *key, size_t i, size_t *mark)
{
    char shown[64];

    *mark = r->path.len;
    if (!key)
        return buf_printf(&r->path, "[%zu]", i);
    str_clean(shown, sizeof(shown), key);
    return buf_printf(&r->path, "%s%s", r->path.len ? "." : "", shown);
}

void spec_read_leave(struct spec_reader *r, size_t mark)
{
    r->path.len = mark;
}

/* A fault was added, or there was no memory for it. */
static int noted(int r)
{
    return r == -ENOMEM ? r : 0;
}

int spec_read_fault(struct spec_reader *r, const char *fmt, ...)
{
    const char *path = r->path.len ? buf_text(&r->path) : NULL;
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    if (r->path.len && !path)
        return -ENOMEM;
    return noted(spec_fault(r->f, r->line, path, "%s", text));
}

int spec_read_expected(struct spec_reader *r, const char *what, const struct spec_node *found)
{
    char shown[48];
    size_t n;

    if (found->kind != SPEC_NODE_TEXT)
        return spec_read_fault(r, "expected %s, found %s", what, spec_node_name(found));
    n = str_clean(shown, sizeof(shown), found->text);
    return spec_read_fault(r, "expected %s, found '%s%s'", what, shown,
                           n + 4 < sizeof(shown) ? "" : "…");
}

static int spec_list_keys(struct buf *out, const struct spec_key *table)
{
    int r = 0;

    for (const struct spec_key *k = table; k->name && r == 0; k++)
        r = buf_printf(out, "%s%s", k == table ? "" : ", ", k->name);
    return r;
}

int spec_read_unknown(struct spec_reader *r, const struct spec_key *table, const char *name)
{
    const char *near = spec_key_nearest(table, name);
    AUTO_BUF all = { .max = 1 * KIB };

    if (table == spec_job_keys && spec_key_find(spec_role_keys, name))
        return spec_read_fault(r, "unknown key here: it belongs to a role");
    if (table == spec_role_keys && spec_key_find(spec_job_keys, name))
        return spec_read_fault(r, "unknown key in a role: it belongs to the job");
    if (near)
        return spec_read_fault(r, "unknown key (did you mean '%s'?)", near);
    if (spec_list_keys(&all, table) < 0 || !buf_text(&all))
        return -ENOMEM;
    return spec_read_fault(r, "unknown key (known are %s)", buf_text(&all));
}

int spec_choice(const char *text, const char *const *choices)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0)
            return i;
    return -1;
}

int spec_read_bad_choice(struct spec_reader *r, const char *text, const char *const *choices)
{
    AUTO_BUF all = { .max = 1 * KIB };
    const char *near;
    char shown[48];
    size_t n = 0;

    for (; choices[n]; n++)
        if (buf_printf(&all, "%s%s", n ? ", " : "", choices[n]) < 0)
            return -ENOMEM;
    if (!buf_text(&all))
        return -ENOMEM;
    near = str_nearest(text, choices, n);
    str_clean(shown, sizeof(shown), text);
    return spec_read_fault(r, "'%s' is not one of %s%s%s%s", shown, buf_text(&all),
                           near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* ---- single values ---- */

static const char *const wanted[SPEC_TYPES_] = {
    [SPEC_TEXT] = "text",
    [SPEC_COUNT] = "a number",
    [SPEC_NUMBER] = "a number",
    [SPEC_TIMES] = "a number or 'forever'",
    [SPEC_SMALL] = "a number",
    [SPEC_BOOL] = "true or false",
    [SPEC_SIZE] = "a size such as 512m or 1.5g",
    [SPEC_MS] = "a duration such as 30s, 5m or 1h30m",
    [SPEC_CHOICE] = "a word",
    [SPEC_RANGE] = "a range of ports such as 10000-10999",
    [SPEC_MAP] = "a map",
};

static int to_bool(const char *s, int64_t *ret)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcasecmp(s, words[i]) == 0) {
            *ret = i % 2;
            return 0;
        }
    }
    return -EINVAL;
}

static int to_size(const char *s, int64_t *ret)
{
    uint64_t v;
    int r = str_to_size(s, &v);

    if (r == 0 && v > INT64_MAX)
        return -ERANGE;
    *ret = r == 0 ? (int64_t)v : 0;
    return r;
}

static int to_number(const struct spec_key *k, const char *s, int64_t *ret)
{
    switch (k->type) {
    case SPEC_BOOL:
        return to_bool(s, ret);
    case SPEC_SIZE:
        return to_size(s, ret);
    case SPEC_MS:
        return str_to_ms(s, ret);
    case SPEC_TIMES:
        if (strcmp(s, "forever") == 0) {
            *ret = SPEC_FOREVER;
            return 0;
        }
        return str_to_i64(s, INT64_MIN, INT64_MAX, ret);
    default:
        return str_to_i64(s, INT64_MIN, INT64_MAX, ret);
    }
}

static int spec_read_number(struct spec_reader *r, const struct spec_key *k,
                            const struct spec_node *n, void *base)
{
    char shown[48], text[SPEC_RANGE_TEXT_MAX];
    int64_t v = 0;
    int e = to_number(k, n->text, &v);

    if (e == -EINVAL)
        return spec_read_expected(r, wanted[k->type], n);
    if (e == 0 && ((v >= k->min && v <= k->max) || (k->type == SPEC_TIMES && v == k->preset))) {
        spec_set_number(k, base, v);
        return 0;
    }
    str_clean(shown, sizeof(shown), n->text);
    return spec_read_fault(r, "%s", spec_range_text(k, v, shown, k->max, text));
}

static int read_choice(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                       void *base)
{
    int i = spec_choice(n->text, k->choices);
    int64_t yes;

    /* To some readers of YAML yes and no are words, to others what true and false are too. */
    if (i < 0 && to_bool(n->text, &yes) == 0)
        i = spec_choice(yes ? "yes" : "no", k->choices);
    if (i < 0)
        return spec_read_bad_choice(r, n->text, k->choices);
    spec_set_number(k, base, i);
    return 0;
}

static int read_range(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                      struct spec *s)
{
    const char *dash = strchr(n->text, '-');
    AUTO_FREE char *first = dash ? strndup(n->text, (size_t)(dash - n->text)) : NULL;
    int64_t low, high;

    if (dash && !first)
        return -ENOMEM;
    if (!dash || str_to_i64(first, 0, INT32_MAX, &low) < 0 ||
        str_to_i64(dash + 1, 0, INT32_MAX, &high) < 0)
        return spec_read_expected(r, wanted[k->type], n);
    if (low < k->min || high > k->max || low > high)
        return spec_read_fault(
            r, "'%s' is out of range: from %" PRId64 " to %" PRId64 ", the lower one first",
            n->text, k->min, k->max);
    s->port_low = (unsigned)low;
    s->port_high = (unsigned)high;
    return 0;
}

static int read_single(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                       void *base)
{
    if (n->kind != SPEC_NODE_TEXT)
        return spec_read_expected(r, wanted[k->type], n);
    switch (k->type) {
    case SPEC_TEXT:
        return spec_set_text((char **)((char *)base + k->offset), n->text);
    case SPEC_CHOICE:
        return read_choice(r, k, n, base);
    case SPEC_RANGE:
        return read_range(r, k, n, base);
    default:
        return spec_read_number(r, k, n, base);
    }
}

/* ---- maps ---- */

int spec_read_value(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                    void *base)
{
    if (n->kind == SPEC_NODE_NOTHING)
        return 0; /* "image: null": not said */
    if (k->type == SPEC_MAP && k->plain && n->kind == SPEC_NODE_TEXT)
        return spec_read_value(r, &k->keys[0], n, (char *)base + k->offset);
    if (k->type == SPEC_MAP)
        return spec_read_map(r, k->keys, n, (char *)base + k->offset);
    return wanted[k->type] ? read_single(r, k, n, base) : spec_read_list(r, k, n, base);
}

int spec_read_map(struct spec_reader *r, const struct spec_key *table, const struct spec_node *n,
                  void *base)
{
    if (n->kind != SPEC_NODE_MAP)
        return spec_read_expected(r, wanted[SPEC_MAP], n);
    for (size_t i = 0; i < n->n; i++) {
        const struct spec_key *k = spec_key_find(table, n->v[i].key);
        size_t mark;
        int e;

        e = spec_read_enter(r, n->v[i].key, 0, &mark);
        if (e < 0)
            return e;
        r->line = n->v[i].line;
        e = k ? spec_read_value(r, k, &n->v[i], base) : spec_read_unknown(r, table, n->v[i].key);
        if (e < 0)
            return e;
        spec_read_leave(r, mark);
    }
    return 0;
}

/* ---- the file ---- */

static int read_tree(struct spec *s, const struct spec_node *root, struct spec_faults *f)
{
    struct spec_reader r = { .spec = s, .f = f, .path = { .max = 4 * KIB }, .line = root->line };
    int e = 0;

    if (root->kind == SPEC_NODE_NOTHING)
        e = spec_read_fault(&r, "the file is empty");
    else if (root->kind != SPEC_NODE_MAP)
        e = spec_read_fault(&r, "a job is a map of keys, this is %s", spec_node_name(root));
    else
        e = spec_read_map(&r, spec_job_keys, root, s);
    f->unreadable |= root->kind != SPEC_NODE_MAP;
    buf_done(&r.path);
    return e;
}

int spec_parse(const char *file, const void *text, size_t n, struct spec *s, struct spec_faults *f)
{
    size_t before = f->n;
    int r;

    r = spec_set_text(&f->file, file);
    if (r < 0)
        return r;
    if (n > SPEC_FILE_MAX) {
        f->unreadable = true;
        return spec_fault(f, 1, NULL, "too large: %zu bytes, a job file has at most %zu", n,
                          (size_t)SPEC_FILE_MAX);
    }
    f->tree = spec_tree_free(f->tree);
    r = spec_tree(text, n, &f->tree, f);
    if (r == -ENOMEM || f->unreadable)
        return r;
    r = read_tree(s, f->tree, f);
    if (r < 0)
        return r;
    return f->n > before ? -EINVAL : 0;
}
