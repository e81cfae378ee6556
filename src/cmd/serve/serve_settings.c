/* serve_settings.c - the keys by tables, as texts that are equal when they mean the same. See
 * serve_settings.h. */
#include "cmd/serve/serve_settings.h"
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"

#include <inttypes.h>
#include <string.h>

#define SETTINGS "settings" /* of a model */
#define GATEWAY "gateway"

enum setting_kind { SETTING_TEXT, SETTING_SIZE, SETTING_TIME };

struct setting {
    const char *key; /* as files have it */
    enum setting_kind kind;
    size_t offset; /* of a text */
};

/* clang-format off */
#define AT(field) offsetof(struct serve_want_model, field)
static const struct setting of_model[] = {
    { "cpus",        SETTING_TEXT, AT(cpus) },
    { "memory",      SETTING_SIZE, AT(memory) },
    { "gpus",        SETTING_TEXT, AT(gpus) },
    { "batch",       SETTING_TEXT, AT(batch) },
    { "batch-delay", SETTING_TIME, AT(batch_delay) },
    { "device",      SETTING_TEXT, AT(device) },
    { 0 },
};
#undef AT
#define AT(field) offsetof(struct serve_want, field)
static const struct setting of_gateway[] = {
    { "kind",        SETTING_TEXT, AT(gateway) },
    { "count",       SETTING_TEXT, AT(gateways) },
    { "host",        SETTING_TEXT, AT(host) },
    { "port",        SETTING_TEXT, AT(port) },
    { "key-file",    SETTING_TEXT, AT(key_file) },
    { "certificate", SETTING_TEXT, AT(certificate) },
    { "private-key", SETTING_TEXT, AT(private_key) },
    { "haproxy",     SETTING_TEXT, AT(haproxy) },
    { 0 },
};
#undef AT
/* clang-format on */

static const char *settings_text(const struct setting *s, const void *base)
{
    return *(const char *const *)((const char *)base + s->offset);
}

/* "1g" and "1024m" are the same. What cannot be read stays as it is: somebody else complains. */
static json_t *settings_value(const struct setting *s, const char *text)
{
    uint64_t size = 0;
    int64_t ms = 0;

    if (text && s->kind == SETTING_SIZE && str_to_size(text, &size) == 0)
        return json_sprintf("%" PRIu64 "m", size / MIB);
    if (text && s->kind == SETTING_TIME && str_to_ms(text, &ms) == 0)
        return json_sprintf("%" PRId64 "ms", ms);
    return json_text(text);
}

static json_t *settings_make(const struct setting *table, const void *base)
{
    AUTO_JSON *v = json_object();

    for (const struct setting *s = table; v && s->key; s++)
        if (json_object_set_new(v, s->key, settings_value(s, settings_text(s, base))) < 0)
            return NULL;
    return take(v);
}

int serve_settings_add(json_t *plan, const struct serve_want *w, struct err *err)
{
    json_t *models = json_object_get(plan, "models");

    for (size_t i = 0; i < w->n; i++)
        if (json_object_set_new(json_array_get(models, i), SETTINGS,
                                settings_make(of_model, &w->models[i])) < 0)
            return err_oom(err);
    return json_object_set_new(plan, GATEWAY, settings_make(of_gateway, w)) < 0 ? err_oom(err) : 0;
}

static const char *settings_shown(const json_t *v)
{
    return json_is_string(v) ? json_string_value(v) : "not set";
}

static int settings_compare(const char *whose, const struct setting *table, const void *base,
                            const json_t *has, struct buf *ret)
{
    for (const struct setting *s = table; s->key; s++) {
        const json_t *now = json_object_get(has, s->key);
        AUTO_JSON *wanted = settings_value(s, settings_text(s, base));
        int r = wanted ? 0 : -ENOMEM;

        if (r == 0 && now && !json_equal(now, wanted))
            r = buf_printf(ret, "%s%s: %s is %s, and %s in the file", ret->len ? "; " : "", whose,
                           s->key, settings_shown(now), settings_shown(wanted));
        if (r < 0)
            return r;
    }
    return 0;
}

int serve_settings_differ(const json_t *plan, const struct serve_want *w, struct buf *ret,
                          struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < w->n && r == 0; i++) {
        AUTO_FREE char *name = strndup(w->models[i].model, strcspn(w->models[i].model, ":@"));
        const json_t *model = name ? deployment_model(plan, name) : NULL;

        r = name ? settings_compare(name, of_model, &w->models[i], json_object_get(model, SETTINGS),
                                    ret)
                 : -ENOMEM;
    }
    if (r == 0)
        r = settings_compare(GATEWAY, of_gateway, w, json_object_get(plan, GATEWAY), ret);
    return r < 0 ? err_oom(err) : ret->len > 0;
}
