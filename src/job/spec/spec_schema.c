/* spec_schema.c - what the key tables say, for programs and for people: JSON Schema, manual text;
 * see spec_schema() and spec_manual() in spec.h. */
#include "job/spec/spec_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- schema ---- */

/* Everything here hands new values upward; NULL is out of memory. Values handed over with `o` to
 * json_pack() are used up in any case, so makers can be nested. */
static json_t *scalar(void)
{
    return json_pack("{s:[s, s, s]}", "type", "string", "number", "boolean");
}

static json_t *text_shape(void)
{
    return json_pack("{s:[s, s, s, s]}", "type", "string", "number", "boolean", "null");
}

static json_t *integer_shape(void)
{
    return json_pack("{s:[s, s]}", "type", "integer", "null");
}

static json_t *times_shape(void)
{
    return json_pack("{s:[{s:[s, s], s:i}, {s:s}]}", "anyOf", "type", "integer", "null", "minimum",
                     0, "const", "forever");
}

static json_t *bool_shape(void)
{
    return json_pack("{s:[s, s]}", "type", "boolean", "null");
}

static json_t *size_shape(void)
{
    return json_pack("{s:[s, s, s], s:i, s:s}", "type", "integer", "string", "null", "minimum", 0,
                     "pattern", "^[0-9]+(\\.[0-9]+)?[kmgtpeKMGTPE]?([iI]?[bB])?$");
}

static json_t *time_shape(void)
{
    return json_pack("{s:[s, s, s], s:i, s:s}", "type", "number", "string", "null", "minimum", 0,
                     "pattern", "^([0-9]+(\\.[0-9]+)?|([0-9]+(\\.[0-9]+)?(d|h|ms|m|s))+)$");
}

static json_t *spec_list_of(json_t *items)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *map_of(json_t *values)
{
    return json_pack("{s:s, s:o}", "type", "object", "additionalProperties", values);
}

static json_t *words_shape(void)
{
    return json_pack("{s:[o, o]}", "anyOf", text_shape(), spec_list_of(scalar()));
}

static json_t *env_shape(void)
{
    return json_pack("{s:[o, {s:s}]}", "anyOf", map_of(scalar()), "type", "null");
}

static json_t *amounts_shape(void)
{
    return json_pack("{s:[o, {s:s}]}", "anyOf",
                     map_of(json_pack("{s:s, s:i, s:I}", "type", "integer", "minimum", 1, "maximum",
                                      (json_int_t)SPEC_AMOUNT_MAX)),
                     "type", "null");
}

/* FROM: TO, or {from: FROM, to: TO}. */
static json_t *pair(void)
{
    return json_pack("{s:s, s:i, s:i, s:o}", "type", "object", "minProperties", 1, "maxProperties",
                     2, "additionalProperties", text_shape());
}

static json_t *files_shape(void)
{
    return json_pack("{s:[o, o, o]}", "anyOf", text_shape(), map_of(text_shape()),
                     spec_list_of(json_pack("{s:[o, o]}", "anyOf", scalar(), pair())));
}

static json_t *whens(void)
{
    return map_of(json_pack("{s:[s, s, s, n]}", "enum", "started", "ready", "finished"));
}

static json_t *after_shape(void)
{
    return json_pack("{s:[{s:[s, s]}, o, o]}", "anyOf", "type", "string", "null", whens(),
                     spec_list_of(json_pack("{s:[{s:s}, o]}", "anyOf", "type", "string", whens())));
}

static json_t *range_shape(void)
{
    return json_pack("{s:[s, s], s:s}", "type", "string", "null", "pattern", "^[0-9]+-[0-9]+$");
}

/* What a value looks like, by type; ranges are added from the row, and choices, maps and roles are
 * made from it altogether. */
static json_t *(*const shapes[SPEC_TYPES_])(void) = {
    [SPEC_TEXT] = text_shape,       [SPEC_COUNT] = integer_shape, [SPEC_NUMBER] = integer_shape,
    [SPEC_SMALL] = integer_shape,   [SPEC_TIMES] = times_shape,   [SPEC_BOOL] = bool_shape,
    [SPEC_SIZE] = size_shape,       [SPEC_MS] = time_shape,       [SPEC_TEXTS] = words_shape,
    [SPEC_COMMAND] = words_shape,   [SPEC_ENV] = env_shape,       [SPEC_FILES] = files_shape,
    [SPEC_TAGS] = env_shape,        [SPEC_AFTER] = after_shape,   [SPEC_RANGE] = range_shape,
    [SPEC_AMOUNTS] = amounts_shape, [SPEC_EXPORTS] = env_shape,
};

static json_t *table_schema(const struct spec_key *table);

static json_t *choices_schema(const struct spec_key *k)
{
    AUTO_JSON *list = json_array();
    json_t *ret = NULL;

    for (size_t i = 0; list && k->choices[i]; i++) {
        const char *word = k->choices[i];

        if (json_array_append_new(list, json_string(word)) < 0)
            return NULL;
        if ((str_eq(word, "yes") || str_eq(word, "no")) && /* what YAML 1.1 makes of the word */
            json_array_append_new(list, json_boolean(str_eq(word, "yes"))) < 0)
            return NULL;
    }
    if (!list || json_array_append_new(list, json_null()) < 0)
        return NULL;
    return json_make(&ret, NULL, "{s:O}", "enum", list) < 0 ? NULL : ret;
}

static json_t *key_schema(const struct spec_key *k);

/* A map of its keys, or the plain value that stands for the first of them. */
static json_t *map_schema(const struct spec_key *k)
{
    json_t *plain = k->type == SPEC_READY ? json_pack("{s:[s, n]}", "enum", k->keys[0].name)
                    : k->plain            ? key_schema(&k->keys[0])
                                          : json_pack("{s:s}", "type", "null");
    json_t *ret = NULL;

    return json_make(&ret, NULL, "{s:[o, o]}", "anyOf", plain, table_schema(k->keys)) < 0 ? NULL
                                                                                          : ret;
}

static json_t *roles_schema(const struct spec_key *k)
{
    json_t *ret = NULL;
    int r;

    r = json_make(&ret, NULL, "{s:[s, s], s:{s:s}, s:i, s:{s:[{s:[s, s], s:i, s:i}, o]}}", "type",
                  "object", "null", "propertyNames", "pattern", "^[a-z][a-z0-9_-]{0,31}$",
                  "maxProperties", SPEC_ROLES_MAX, "additionalProperties", "anyOf", "type",
                  "integer", "null", "minimum", 0, "maximum", SPEC_TASKS_MAX,
                  table_schema(k->keys));
    return r < 0 ? NULL : ret;
}

static json_t *properties_of(const struct spec_key *table);

/* A target; DIR: TARGET and the keys; or a list of such. */
static json_t *output_schema(const struct spec_key *k)
{
    AUTO_JSON *keys = properties_of(k->keys);
    json_t *ret = NULL;
    int r = json_make(&ret, NULL, "{s:[o, {s:s, s:O, s:o}, {s:s, s:{s:s, s:O, s:o}}]}", "anyOf",
                      text_shape(), "type", "object", "properties", keys, "additionalProperties",
                      scalar(), "type", "array", "items", "type", "object", "properties", keys,
                      "additionalProperties", text_shape());

    return r < 0 ? NULL : ret;
}

static json_t *bare_schema(const struct spec_key *k)
{
    switch (k->type) {
    case SPEC_CHOICE:
        return choices_schema(k);
    case SPEC_READY:
    case SPEC_MAP:
        return map_schema(k);
    case SPEC_ROLES:
        return roles_schema(k);
    case SPEC_OUTPUT:
        return output_schema(k);
    default:
        return shapes[k->type]();
    }
}

/* Ranges of plain numbers; those of sizes and times hold for their texts as well and cannot be
 * said in a schema. */
static int add_range(json_t *v, const struct spec_key *k)
{
    if (k->type != SPEC_COUNT && k->type != SPEC_NUMBER && k->type != SPEC_SMALL)
        return 0;
    if (json_object_set_new(v, "minimum", json_integer(k->min)) < 0)
        return -ENOMEM;
    return json_object_set_new(v, "maximum", json_integer(k->max));
}

static json_t *key_schema(const struct spec_key *k)
{
    AUTO_JSON *v = bare_schema(k);
    char text[SPEC_NUMBER_MAX];

    if (!v || add_range(v, k) < 0 ||
        json_object_set_new(v, "description",
                            json_sprintf("%s%s", k->help, k->yarn ? " (YARN only)" : "")) < 0)
        return NULL;
    if ((k->type == SPEC_MS || k->type == SPEC_TIMES || k->type == SPEC_COUNT) && k->preset &&
        json_object_set_new(v, "default",
                            k->type == SPEC_COUNT
                                ? json_integer(k->preset)
                                : json_string(spec_number_text(k, k->preset, text))) < 0)
        return NULL;
    return take(v);
}

static json_t *properties_of(const struct spec_key *table)
{
    AUTO_JSON *properties = json_object();

    for (const struct spec_key *k = table; properties && k->name; k++)
        if (json_object_set_new(properties, k->name, key_schema(k)) < 0)
            return NULL;
    return take(properties);
}

static json_t *table_schema(const struct spec_key *table)
{
    AUTO_JSON *properties = properties_of(table);
    json_t *ret = NULL;

    if (!properties || json_make(&ret, NULL, "{s:s, s:b, s:O}", "type", "object",
                                 "additionalProperties", 0, "properties", properties) < 0)
        return NULL;
    return ret;
}

int spec_schema(json_t **ret, struct err *err)
{
    AUTO_JSON *body = table_schema(spec_job_keys);
    AUTO_JSON *head = NULL;
    int r;

    if (!body)
        return err_oom(err);
    r = json_make(&head, err, "{s:s, s:s}", "$schema",
                  "https://json-schema.org/draft/2020-12/schema", "title", "a ydl job");
    if (r < 0)
        return r;
    if (json_object_update(head, body) < 0)
        return err_oom(err);
    *ret = take(head);
    return 0;
}

/* ---- manual ---- */

static const char *const kinds[SPEC_TYPES_] = {
    [SPEC_SIZE] = "A size such as 512m or 1.5g.",
    [SPEC_MS] = "A duration such as 30s, 5m or 1h30m.",
    [SPEC_BOOL] = "true or false.",
    [SPEC_TEXTS] = "A list of texts, or one.",
    [SPEC_COMMAND] = "A list of words, or one text that is split as a shell does.",
    [SPEC_ENV] = "A map of names and values.",
    [SPEC_EXPORTS] = "A map of GROUP/NAME and texts.",
    [SPEC_FILES] = "A list of FROM, or FROM: NAME.",
    [SPEC_OUTPUT] = "A target, or a map of DIR: TARGET.",
    [SPEC_TAGS] = "A map of names and texts.",
    [SPEC_AMOUNTS] = "A map of names and whole numbers.",
    [SPEC_AFTER] = "A list of ROLE, or ROLE: started, ready or finished.",
};

static int manual_entry(struct buf *out, const char *prefix, const struct spec_key *k)
{
    char text[SPEC_NUMBER_MAX];
    int r;

    r = buf_printf(out, "%s%s\t%s.", prefix, k->name, k->help);
    if (r == 0 && kinds[k->type])
        r = buf_printf(out, " %s", kinds[k->type]);
    if (r == 0 && (k->preset > 0 || k->type == SPEC_TIMES) && !strstr(k->help, "(default: "))
        r = buf_printf(out, " Default: %s.", spec_number_text(k, k->preset, text));
    if (r == 0 && k->yarn)
        r = buf_printf(out, " On YARN only.");
    if (r == 0 && k->flag)
        r = buf_printf(out, " Option: --%s.", k->flag);
    return r < 0 ? r : buf_add_str(out, "\n");
}

static int manual_table(struct buf *out, const char *prefix, const struct spec_key *table)
{
    int r = 0;

    for (const struct spec_key *k = table; k->name && r == 0; k++) {
        char inner[80];

        r = manual_entry(out, prefix, k);
        if (r < 0 || !k->keys)
            continue;
        snprintf(inner, sizeof(inner), "%s%s.%s", prefix, k->name,
                 k->type == SPEC_ROLES ? "NAME." : "");
        r = manual_table(out, inner, k->keys);
    }
    return r;
}

int spec_manual(struct buf *out)
{
    return manual_table(out, "", spec_job_keys);
}
