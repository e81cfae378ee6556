/* slider_model.c - the three files of an application taken together; see slider_model.h. */
#include "cmd/slider/slider_model.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORD "max"
#define NAME_BYTES 32 /* of a role's name */

/* Keys of resources.json that mean something here; others without effect are named in a note. */
static const char *const known[] = {
    "yarn.role.priority",
    "yarn.component.instances",
    "yarn.memory",
    "yarn.vcores",
    "yarn.label.expression",
    "yarn.component.placement.policy",
    "yarn.container.failure.threshold",
    "yarn.container.failure.window.days",
    "yarn.container.failure.window.hours",
    "yarn.container.failure.window.minutes",
    "yarn.container.failure.window.seconds",
    "ydl.restart",
};

void slider_docs_done(struct slider_docs *d)
{
    json_decref(d->metainfo);
    json_decref(d->config);
    json_decref(d->resources);
    json_decref(d->internal);
    *d = (struct slider_docs){ 0 };
}

const char *slider_text(const json_t *v, const char *key, char **ret_free)
{
    const json_t *value = json_object_get(v, key);

    *ret_free = NULL;
    if (json_is_string(value))
        return json_string_value(value);
    if (!value || json_is_null(value))
        return NULL;
    *ret_free = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return *ret_free;
}

int slider_number(const json_t *v, const char *key, int64_t least, int64_t otherwise, int64_t *ret,
                  struct err *err)
{
    AUTO_FREE char *made = NULL;
    const char *text = slider_text(v, key, &made);

    *ret = otherwise;
    if (!text || !*text)
        return 0;
    if (str_eq(text, MAX_WORD) && (str_ends(key, "memory") || str_ends(key, "vcores")))
        return cli_bad(err,
                       "'%s' is 'max', which is not supported: give an amount; 'ydl cluster nodes' "
                       "shows what nodes have",
                       key);
    if (str_to_i64(text, INT32_MIN, INT32_MAX, ret) < 0)
        return cli_bad(err, "'%s' is '%.60s', which is not a whole number", key, text);
    if (*ret < least)
        return cli_bad(err, "'%s' is %lld; the minimum is %lld", key, (long long)*ret,
                       (long long)least);
    return 0;
}

const struct slider_component *slider_component(const struct slider_model *m, const char *name,
                                                size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (strlen(m->v[i].name) == n && memcmp(m->v[i].name, name, n) == 0)
            return &m->v[i];
    return NULL;
}

/* ---- metainfo.json ---- */

static int slider_model_check_name(const char *name, struct err *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    if (isalpha((unsigned char)*name) && !name[n] && n <= NAME_BYTES)
        return 0;
    cli_bad(err, "metainfo.json: '%.60s' is not a valid component name", name);
    err_hint(err,
             "use letters, digits, '_' and '-', at most %d characters, beginning with a letter",
             NAME_BYTES);
    return CLI_USAGE;
}

/* Every component has a way to be started. */
static int check_component(const json_t *c, struct err *err)
{
    const char *name = json_string_value(json_object_get(c, "name"));
    const json_t *script = json_object_get(json_object_get(c, "commandScript"), "script");
    const json_t *commands = json_object_get(c, "commands");
    const json_t *images = json_object_get(c, "dockerContainers");
    int r = name ? slider_model_check_name(name, err)
                 : cli_bad(err, "metainfo.json: a component has no \"name\"");

    if (r < 0)
        return r;
    if (json_is_string(script) || json_array_size(commands) > 0 || json_array_size(images) > 0)
        return 0;
    return cli_bad(err,
                   "metainfo.json: component '%s' has neither a \"commandScript\" nor \"commands\" "
                   "nor \"dockerContainers\"",
                   name);
}

static int check_metainfo(const json_t *doc, const json_t **ret, struct err *err)
{
    const char *version = json_string_value(json_object_get(doc, "schemaVersion"));
    const json_t *app = json_object_get(doc, "application");
    const json_t *components = json_object_get(app, "components"), *c;
    size_t i;
    int r = 0;

    if (!version || (!str_eq(version, "2.0") && !str_eq(version, "2.1")))
        return cli_bad(err, "metainfo.json: \"schemaVersion\" is '%s'; it must be \"2.1\"",
                       version ? version : "");
    if (!json_is_object(app))
        return cli_bad(err, "metainfo.json: \"application\" is missing");
    if (json_array_size(components) == 0)
        return cli_bad(err, "metainfo.json: the application has no \"components\"");
    json_array_foreach(components, i, c)
    {
        r = check_component(c, err);
        if (r < 0)
            return r;
    }
    *ret = app;
    return 0;
}

/* ---- the other two ---- */

static int check_schema(const json_t *doc, const char *file, struct err *err)
{
    const char *schema = json_string_value(json_object_get(doc, "schema"));

    if (str_eq(schema, SLIDER_SCHEMA))
        return 0;
    if (schema)
        cli_bad(err, "%s: \"schema\" is '%.100s'", file, schema);
    else
        cli_bad(err, "%s: \"schema\" is missing", file);
    err_hint(err, "it must be \"%s\"", SLIDER_SCHEMA);
    return CLI_USAGE;
}

/* What counts for all, and over it what one component says. The caller's. */
static json_t *merged(const json_t *doc, const char *component)
{
    const json_t *all = json_object_get(doc, "global");
    const json_t *own = json_object_get(json_object_get(doc, "components"), component);
    AUTO_JSON *v = json_is_object(all) ? json_copy((json_t *)all) : json_object();

    if (!v || (json_is_object(own) && json_object_update(v, (json_t *)own) < 0))
        return NULL;
    return take(v);
}

/* A note and no error: files of Slider have keys for its own ApplicationMaster, and are to run as
 * they are. */
static int note_unknown(const struct slider_model *m, const char *component, const json_t *v)
{
    AUTO_BUF names = { .max = KIB };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)v, key, value)
    {
        bool ours = strchr(key, '/') != NULL; /* a resource of the cluster's */

        for (size_t i = 0; !ours && i < COUNT_OF(known); i++)
            ours = str_eq(known[i], key);
        if (!ours && buf_printf(&names, "%s%s", names.len ? ", " : "", key) == -ENOMEM)
            return -ENOMEM;
    }
    if (names.len == 0)
        return 0;
    return buf_text(&names)
               ? strs_take(m->notes, str_printf("resources.json: %s: no effect here: %s", component,
                                                buf_text(&names)))
               : -ENOMEM;
}

static int by_priority(const void *a, const void *b)
{
    int64_t x = ((const struct slider_component *)a)->priority;
    int64_t y = ((const struct slider_component *)b)->priority;

    return (x > y) - (x < y);
}

static int check_priorities(const struct slider_model *m, struct err *err)
{
    for (size_t i = 1; i < m->n; i++)
        if (m->v[i].priority == m->v[i - 1].priority)
            return cli_bad(err,
                           "resources.json: components '%s' and '%s' have the same "
                           "yarn.role.priority, %lld",
                           m->v[i - 1].name, m->v[i].name, (long long)m->v[i].priority);
    return 0;
}

static int read_counts(struct slider_component *c, struct err *err)
{
    int r;

    if (!json_object_get(c->resources, "yarn.role.priority"))
        return cli_bad(err, "resources.json: component '%s' has no yarn.role.priority", c->name);
    r = slider_number(c->resources, "yarn.role.priority", 1, 0, &c->priority, err);
    if (r == 0)
        r = slider_number(c->resources, "yarn.component.instances", 0, 1, &c->count, err);
    return r < 0 ? err_wrap(err, r, "resources.json: component '%s'", c->name) : 0;
}

static int add_component(struct slider_model *m, const struct slider_docs *d, const json_t *info,
                         struct err *err)
{
    const char *name = json_string_value(json_object_get(info, "name"));
    struct slider_component c = { .name = name, .info = info };
    int r;

    if (!json_object_get(json_object_get(d->resources, "components"), name))
        return strs_take(m->notes,
                         str_printf("component '%s' is not in resources.json, ignoring it", name)) <
                       0
                   ? err_oom(err)
                   : 0;
    if (slider_component(m, name, strlen(name)))
        return cli_bad(err, "metainfo.json: duplicate component '%s'", name);
    c.resources = merged(d->resources, name);
    c.config = merged(d->config, name);
    m->v[m->n++] = c; /* from here on it is freed with the model */
    if (!c.resources || !c.config)
        return err_oom(err);
    r = read_counts(&m->v[m->n - 1], err);
    if (r == 0 && note_unknown(m, name, c.resources) < 0)
        r = err_oom(err);
    return r;
}

/* A name of resources.json that nobody knows is a slip that would cost a component. */
static int slider_check_names(const struct slider_model *m, const struct slider_docs *d,
                              struct err *err)
{
    const json_t *list = json_object_get(m->metainfo, "components"), *c;
    const char *key, *names[SLIDER_COMPONENTS_MAX + 1], *near;
    json_t *value;
    size_t i, n = 0;

    json_array_foreach(list, i, c) if (n < COUNT_OF(names)) names[n++] =
        json_string_value(json_object_get(c, "name"));
    json_object_foreach(json_object_get(d->resources, "components"), key, value)
    {
        bool found = str_eq(key, SLIDER_MASTER);

        for (i = 0; !found && i < n; i++)
            found = str_eq(names[i], key);
        if (found)
            continue;
        near = str_nearest(key, names, n);
        return cli_bad(err, "resources.json: metainfo.json has no component '%.60s'%s%s%s", key,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return 0;
}

/* Those without instances are known, but there is nothing to run.
 *
 * `v` always has each component once, also when memory runs out in the middle: slider_model_done()
 * frees what is in it. */
static int drop_empty(struct slider_model *m, struct err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++) {
        struct slider_component c = m->v[i];

        if (c.count > 0) {
            m->v[n++] = c;
            continue;
        }
        json_decref(c.resources);
        json_decref(c.config);
        if (strs_take(m->notes, str_printf("component '%s' has 0 instances", c.name)) < 0) {
            memmove(&m->v[n], &m->v[i + 1], (m->n - i - 1) * sizeof(*m->v));
            m->n = n + m->n - i - 1;
            return err_oom(err);
        }
    }
    m->n = n;
    if (n > 0)
        return 0;
    return cli_bad(err, "resources.json: no component has any instances");
}

static int add_components(struct slider_model *m, const struct slider_docs *d, struct err *err)
{
    const json_t *list = json_object_get(m->metainfo, "components"), *info;
    size_t i;
    int r = slider_check_names(m, d, err);

    if (r == 0 && json_array_size(list) > SLIDER_COMPONENTS_MAX)
        r = cli_bad(err, "metainfo.json: more than %d components", SLIDER_COMPONENTS_MAX);
    if (r < 0)
        return r;
    m->n = 0;
    m->v = calloc(json_array_size(list), sizeof(*m->v));
    if (!m->v)
        return err_oom(err);
    json_array_foreach(list, i, info)
    {
        r = add_component(m, d, info, err);
        if (r < 0)
            return r;
    }
    qsort(m->v, m->n, sizeof(*m->v), by_priority);
    r = check_priorities(m, err);
    return r < 0 ? r : drop_empty(m, err);
}

/* As in the text's own file, where a brace is missing behind it. */
static int check_master(const json_t *master, struct err *err)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)master, key, v)
    {
        if (!json_is_object(v))
            continue;
        cli_bad(err, "resources.json: \"%.60s\" is inside \"" SLIDER_MASTER "\"", key);
        err_hint(err, "a '}' is missing after \"" SLIDER_MASTER "\": {");
        return CLI_USAGE;
    }
    return 0;
}

int slider_model(const struct slider_docs *d, const char *name, struct strs *notes,
                 struct slider_model *ret, struct err *err)
{
    json_t *components, *master;
    int r;

    *ret = (struct slider_model){ .name = name, .notes = notes };
    r = check_metainfo(d->metainfo, &ret->metainfo, err);
    if (r == 0)
        r = check_schema(d->config, "appConfig", err);
    if (r == 0)
        r = check_schema(d->resources, "resources", err);
    if (r < 0)
        return r;
    ret->app = json_string_value(json_object_get(ret->metainfo, "name"));
    components = json_object_get(d->resources, "components");
    if (!json_is_object(components))
        return cli_bad(err, "resources.json: \"components\" is missing");
    master = json_object_get(components, SLIDER_MASTER);
    r = check_master(master, err);
    if (r < 0)
        return r;
    ret->master = json_is_object(master) ? json_copy(master) : json_object();
    ret->global = merged(d->resources, "");
    if (!ret->master || !ret->global)
        return err_oom(err);
    return add_components(ret, d, err);
}

void slider_model_done(struct slider_model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        json_decref(m->v[i].resources);
        json_decref(m->v[i].config);
    }
    free(m->v);
    json_decref(m->master);
    json_decref(m->global);
    m->v = NULL;
    m->n = 0;
    m->master = m->global = NULL;
}
