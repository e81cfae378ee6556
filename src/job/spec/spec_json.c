/* spec_json.c - the specification as JSON, written by the key tables; see spec_json() in spec.h. */
#include "job/spec/spec_keys.h"

#include <string.h>

/* Values are made here and handed upward; NULL is out of memory, JSON null is "nothing to say". */
typedef json_t *write_fn(const struct spec_key *k, const void *at);

/* Adds a value to a list or object, which is released when that fails; jansson releases the value,
 * also when there is no list or object to put it into. */
static json_t *spec_add_item(json_t *list, json_t *v)
{
    if (json_array_append_new(list, v) == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *spec_add_entry(json_t *map, const char *key, json_t *v)
{
    if (json_object_set_new_nocheck(map, key, v) == 0)
        return map;
    json_decref(map);
    return NULL;
}

/* The value itself, or null in its place when it has nothing in it. */
static json_t *unless_empty(json_t *v)
{
    if (!v || json_array_size(v) || json_object_size(v))
        return v;
    json_decref(v);
    return json_null();
}

static json_t *write_number(const struct spec_key *k, const void *base)
{
    int64_t v = spec_get_number(k, base);
    char text[SPEC_NUMBER_MAX];

    if (v == k->preset && !k->always)
        return json_null();
    switch (k->type) {
    case SPEC_BOOL:
        return json_boolean(v);
    case SPEC_CHOICE:
        return json_string(k->choices[v]);
    case SPEC_SIZE:
    case SPEC_MS:
    case SPEC_TIMES:
        if (v != 0)
            return json_string(spec_number_text(k, v, text));
        return json_integer(v);
    default:
        return json_integer(v);
    }
}

static json_t *spec_write_text(const struct spec_key *k, const void *at)
{
    (void)k;
    return json_text(*(char *const *)at);
}

static json_t *write_texts(const struct spec_key *k, const void *at)
{
    const struct strs *l = at;
    json_t *list = json_array();

    (void)k;
    for (size_t i = 0; i < l->n; i++)
        list = spec_add_item(list, json_text(l->v[i]));
    return unless_empty(list);
}

static json_t *spec_write_env(const struct spec_key *k, const void *at)
{
    const struct spec_vars *l = at;
    json_t *map = json_object();

    (void)k;
    for (size_t i = 0; i < l->n; i++)
        map = spec_add_entry(map, l->v[i].name, json_text(l->v[i].value));
    return unless_empty(map);
}

static json_t *write_amounts(const struct spec_key *k, const void *at)
{
    const struct spec_amounts *l = at;
    json_t *map = json_object();

    (void)k;
    for (size_t i = 0; i < l->n; i++)
        map = spec_add_entry(map, l->v[i].name, json_integer(l->v[i].value));
    return unless_empty(map);
}

static json_t *write_files(const struct spec_key *k, const void *at)
{
    const struct spec_files *l = at;
    json_t *list = json_array(), *pair = NULL;

    (void)k;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].to)
            pair = json_text(l->v[i].from);
        else if (json_make(&pair, NULL, "{s:o, s:o}", "from", json_text(l->v[i].from), "to",
                           json_text(l->v[i].to)) < 0)
            pair = NULL;
        list = spec_add_item(list, pair);
    }
    return unless_empty(list);
}

static json_t *write_table(const struct spec_key *table, const void *base);

/* The keys stand behind the directories, as an element of their own. */
static json_t *write_output(const struct spec_key *k, const void *at)
{
    AUTO_JSON *keys = write_table(k->keys, (const char *)at - k->offset);
    json_t *list = write_files(k, at);

    if (!keys || json_object_size(keys) == 0 || !list) {
        if (!keys)
            json_decref(take(list));
        return list;
    }
    if (json_is_null(list))
        list = json_array();
    return spec_add_item(list, take(keys));
}

static json_t *write_after(const struct spec_key *k, const void *at)
{
    static const char *const whens[] = { "started", "ready", "finished" };
    const struct spec_afters *l = at;
    json_t *list = json_array();

    (void)k;
    for (size_t i = 0; i < l->n; i++)
        list = spec_add_item(
            list, spec_add_entry(json_object(), l->v[i].role, json_string(whens[l->v[i].when])));
    return unless_empty(list);
}

static json_t *write_ready(const struct spec_key *k, const void *at)
{
    const struct spec_ready *ready = at;
    const struct spec_key *timeout = spec_key_find(k->keys, "timeout");
    json_t *map = json_object();

    if (ready->kind != SPEC_READY_NONE) /* the rows stand in the order of the kinds */
        map = spec_add_entry(map, k->keys[ready->kind - 1].name,
                             ready->kind == SPEC_READY_PORT ? json_true() : json_text(ready->what));
    if (ready->timeout)
        map = spec_add_entry(map, timeout->name, write_number(timeout, ready));
    return unless_empty(map);
}

static json_t *write_range(const struct spec_key *k, const void *at)
{
    const struct spec *s = (const void *)((const char *)at - offsetof(struct spec, port_low));

    (void)k;
    return s->port_high ? json_sprintf("%u-%u", s->port_low, s->port_high) : json_null();
}

static json_t *write_map(const struct spec_key *k, const void *at)
{
    return unless_empty(write_table(k->keys, at));
}

static json_t *write_roles(const struct spec_key *k, const void *at)
{
    const struct spec *s = at;
    json_t *map = json_object();

    for (size_t i = 0; i < s->n_roles; i++)
        map = spec_add_entry(map, s->roles[i].name, write_table(k->keys, &s->roles[i]));
    return unless_empty(map);
}

static write_fn *const writers[SPEC_TYPES_] = {
    [SPEC_TEXT] = spec_write_text,   [SPEC_TEXTS] = write_texts,   [SPEC_COMMAND] = write_texts,
    [SPEC_ENV] = spec_write_env,     [SPEC_FILES] = write_files,   [SPEC_OUTPUT] = write_output,
    [SPEC_AFTER] = write_after,      [SPEC_READY] = write_ready,   [SPEC_RANGE] = write_range,
    [SPEC_MAP] = write_map,          [SPEC_ROLES] = write_roles,   [SPEC_AMOUNTS] = write_amounts,
    [SPEC_EXPORTS] = spec_write_env, [SPEC_TAGS] = spec_write_env,
};

static json_t *write_table(const struct spec_key *table, const void *base)
{
    json_t *map = json_object();

    for (const struct spec_key *k = table; map && k->name; k++) {
        json_t *v = spec_is_number(k) ? write_number(k, base)
                                      : writers[k->type](k, (const char *)base + k->offset);

        map = json_is_null(v) ? map : spec_add_entry(map, k->name, v);
    }
    return map;
}

int spec_json(const struct spec *s, json_t **ret, struct err *err)
{
    *ret = write_table(spec_job_keys, s);
    return *ret ? 0 : err_oom(err);
}

/* ---- as text ---- */

/* Characters that YAML takes for a line break or not at all, though JSON lets them stand in a
 * string: DEL, U+0080 to U+009F, U+2028 and U+2029, the byte order mark, U+FFFE and U+FFFF. Gives
 * the number of bytes, or 0. */
static size_t unsafe(const unsigned char *p, unsigned *ret)
{
    if (*p == 0x7f) {
        *ret = *p;
        return 1;
    }
    if (p[0] == 0xc2 && p[1] < 0xa0) {
        *ret = p[1];
        return 2;
    }
    if (p[0] != 0xe2 && p[0] != 0xef)
        return 0;
    *ret = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return *ret == 0x2028 || *ret == 0x2029 || *ret == 0xfeff || *ret >= 0xfffe ? 3 : 0;
}

static int add_escaped(struct buf *out, const char *text)
{
    int r = 0;

    while (*text && r == 0) {
        unsigned c = 0;
        size_t n = unsafe((const unsigned char *)text, &c), plain = 0;

        if (n) {
            r = buf_printf(out, "\\u%04x", c);
            text += n;
            continue;
        }
        while (text[plain] && !unsafe((const unsigned char *)text + plain, &c))
            plain++;
        r = buf_add(out, text, plain);
        text += plain;
    }
    return r;
}

int spec_print(const struct spec *s, struct buf *out, struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    size_t before = out->len;
    int r;

    r = spec_json(s, &v, err);
    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    if (!text)
        return err_oom(err);
    r = add_escaped(out, text);
    if (r == -E2BIG || out->len - before > SPEC_FILE_MAX) /* nobody could read it back */
        return err_set(err, -E2BIG, "the job's specification is too large");
    return r < 0 ? err_oom(err) : 0;
}
