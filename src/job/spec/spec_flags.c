/* spec_flags.c - what one command-line option says, put into the specification; see spec_flag()
 * in spec.h. Single values are read as in a job file; lists have a form of their own. */
#include "job/spec/spec_read.h"

#include <string.h>

/* The row of an option, and the struct that its offset counts from. */
static const struct spec_key *spec_flags_find(const struct spec_key *table, const char *flag,
                                              void **base)
{
    for (; table->name; table++) {
        void *inner = (char *)*base + table->offset;
        const struct spec_key *k;

        if (str_eq(table->flag, flag))
            return table;
        if (table->type == SPEC_OUTPUT)
            inner = *base;
        k = table->type == SPEC_MAP || table->type == SPEC_OUTPUT
                ? spec_flags_find(table->keys, flag, &inner)
                : NULL;
        if (k) {
            *base = inner;
            return k;
        }
    }
    return NULL;
}

static int spec_flags_read_text(struct spec_reader *r, const struct spec_key *k, const char *text,
                                void *base)
{
    AUTO_FREE char *copy = strdup(text);
    struct spec_node n = { .kind = SPEC_NODE_TEXT, .text = copy };

    return copy ? spec_read_value(r, k, &n, base) : -ENOMEM;
}

/* ---- lists ---- */

/* The end of the first word: a comma, but none inside brackets and none before a comparison, as in
 * "pkg[a,b]>=1,<2". */
static size_t word_length(const char *text)
{
    size_t n = 0;
    bool inside = false;

    for (; text[n]; n++) {
        inside = text[n] == '[' || (inside && text[n] != ']');
        if (text[n] == ',' && !inside && !(text[n + 1] && strchr("<>=!~", text[n + 1])))
            break;
    }
    return n;
}

static int split_words(const char *text, struct strs *ret)
{
    int e = 0;

    while (e == 0 && *text) {
        size_t n = word_length(text), begin = strspn(text, " \t");
        size_t end = n;

        while (end > begin && strchr(" \t", text[end - 1]))
            end--;
        if (end > begin)
            e = strs_addn(ret, text + begin, end - begin);
        text += n + (text[n] == ',');
    }
    return e;
}

static int spec_flags_add_words(struct spec_reader *r, const char *text, void *at)
{
    AUTO_STRS words = { 0 };

    (void)r;
    if (split_words(text, &words) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < words.n; i++)
        if (!strs_has(at, words.v[i]) && strs_add(at, words.v[i]) < 0)
            return -ENOMEM;
    return 0;
}

static int spec_flags_add_env(struct spec_reader *r, const char *text, void *at)
{
    const char *equals = strchr(text, '=');
    AUTO_FREE char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
    struct spec_node n = { .kind = SPEC_NODE_TEXT, .text = (char *)text };

    if (!equals)
        return spec_read_expected(r, "NAME=VALUE", &n);
    return name ? spec_set_var(at, name, equals + 1) : -ENOMEM;
}

/* Options win over the file: what would have the same name in the task's directory, or the same
 * source, is replaced. */
static int spec_flags_put_file(struct spec_files *l, const char *from, const char *to)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].from, from) == 0 || (to && str_eq(l->v[i].to, to)))
            return spec_set_text(&l->v[i].from, from) < 0 ? -ENOMEM
                                                          : spec_set_text(&l->v[i].to, to);
    return spec_add_file(l, from, to);
}

static int spec_flags_add_files(struct spec_reader *r, const char *text, void *at)
{
    AUTO_STRS names = { 0 };
    int e;

    (void)r;
    if (strs_split(&names, text, ",") < 0)
        return -ENOMEM;
    for (size_t i = 0; i < names.n; i++) {
        char *hash = strchr(names.v[i], '#');

        if (hash)
            *hash++ = '\0';
        e = spec_flags_put_file(at, names.v[i], hash);
        if (e < 0)
            return e;
    }
    return 0;
}

/* "[FROM=]TO". Targets may have a '=' themselves (hdfs:///out/day=7), but FROM is a name beside the
 * task, which has no colon and does not begin with a slash. */
static int spec_flags_add_output(struct spec_reader *r, const char *text, void *at)
{
    size_t n = strcspn(text, "=:");
    bool pair = text[n] == '=' && text[0] != '/';
    AUTO_FREE char *from = strndup(text, pair ? n : 0);

    (void)r;
    return from ? spec_flags_put_file(at, from, pair ? text + n + 1 : text) : -ENOMEM;
}

/* ---- --role NAME=COUNT[,key=value…] ---- */

/* The row of a role's key, also by the name of the option for it (mem, for memory). */
static const struct spec_key *role_key(const char *name)
{
    const struct spec_key *k = spec_key_find(spec_role_keys, name);

    for (const struct spec_key *f = spec_flag_keys; !k && f->name; f++)
        if (str_eq(f->flag, name))
            k = spec_key_find(spec_role_keys, f->name);
    return k;
}

static int set_role_key(struct spec_reader *r, struct spec_role *role, const char *name,
                        const char *value)
{
    const struct spec_key *k = role_key(name);
    size_t mark;
    int e;

    e = spec_read_enter(r, name, 0, &mark);
    if (e < 0)
        return e;
    if (!k)
        e = spec_read_unknown(r, spec_role_keys, name);
    else if (!value)
        e = spec_read_fault(r, "expected KEY=VALUE");
    else if (k->type == SPEC_ENV || k->type == SPEC_FILES || k->type == SPEC_AMOUNTS ||
             k->type == SPEC_EXPORTS)
        e = spec_read_fault(r, "this key works only in a job file");
    else
        e = spec_flags_read_text(r, k, value, role);
    spec_read_leave(r, mark);
    return e;
}

/* `text` is "key=value,key=value,command=all the rest". */
static int set_role_keys(struct spec_reader *r, struct spec_role *role, char *text)
{
    while (text && *text) {
        bool rest = str_starts(text, "command=");
        char *comma = rest ? NULL : strchr(text, ','), *value = NULL;
        int e;

        if (comma)
            *comma++ = '\0';
        value = strchr(text, '=');
        if (value)
            *value++ = '\0';
        e = set_role_key(r, role, text, value);
        if (e < 0)
            return e;
        text = comma;
    }
    return 0;
}

static int spec_flags_set_role(struct spec_reader *r, const char *text)
{
    AUTO_FREE char *name = strdup(text);
    struct spec_role *role;
    char *count, *keys;
    int e;

    if (!name)
        return -ENOMEM;
    count = strchr(name, '=');
    if (!count || count == name)
        return spec_read_fault(r, "expected NAME=COUNT[,KEY=VALUE…], found '%s'", text);
    *count++ = '\0';
    keys = strchr(count, ',');
    if (keys)
        *keys++ = '\0';
    role = spec_role(r->spec, name);
    if (!role) {
        e = spec_add_role(r->spec, name, &role);
        if (e == -E2BIG)
            return spec_read_fault(r, "too many roles: a job has at most %d", SPEC_ROLES_MAX);
        if (e < 0)
            return e;
    }
    e = spec_flags_read_text(r, spec_key_find(spec_role_keys, "count"), count, role);
    return e < 0 ? e : set_role_keys(r, role, keys);
}

/* ---- which is which ---- */

static int (*const adders[SPEC_TYPES_])(struct spec_reader *r, const char *text, void *at) = {
    [SPEC_TEXTS] = spec_flags_add_words,
    [SPEC_ENV] = spec_flags_add_env,
    [SPEC_FILES] = spec_flags_add_files,
    [SPEC_OUTPUT] = spec_flags_add_output,
};

static int spec_flags_set(struct spec_reader *r, const struct spec_key *k, const char *value,
                          void *base)
{
    if (k->type == SPEC_ROLES)
        return spec_flags_set_role(r, value);
    if (adders[k->type])
        return adders[k->type](r, value, (char *)base + k->offset);
    return spec_flags_read_text(r, k, value, base);
}

int spec_flag(struct spec *s, const char *flag, const char *value, struct spec_faults *f)
{
    struct spec_reader r = { .spec = s, .f = f, .path = { .max = 1 * KIB } };
    size_t before = f->n;
    const struct spec_key *k;
    void *base = s;
    int e;

    k = spec_flags_find(spec_flag_keys, flag, &base);
    if (!k)
        k = spec_flags_find(spec_job_keys, flag, &base);
    e = buf_printf(&r.path, "--%s", flag);
    if (e == 0)
        e = k ? spec_flags_set(&r, k, value, base) : spec_read_fault(&r, "there is no such option");
    buf_done(&r.path);
    if (e < 0)
        return e;
    return f->n > before ? -EINVAL : 0;
}
