/* registry_link.c - see registry_link.h. First it is written that a version is used, then it is
 * looked whether the version is there; who removes one does it in the opposite order. One of both
 * notices. */
#include "serve/deployment/registry_link.h"
#include "model/aliases.h"
#include "model/models.h"
#include "model/uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 3600000 /* it is written again, as a sign of life: USES_DAY_MS */

struct registry_link {
    struct loop *loop;
    struct fs_set *set;
    struct models models;
    bool open, read_only;
    char *said; /* the last that was written */
    int64_t at; /* when */
};

int registry_link_new(struct loop *l, const char *registry, struct registry_link **ret,
                      struct err *err)
{
    struct registry_link *x = calloc(1, sizeof(*x));
    int r = x ? 0 : err_oom(err);

    if (r == 0)
        x->loop = l;
    if (r == 0 && registry) {
        r = fs_set_new(l, NULL, &x->set, err);
        if (r == 0)
            r = models_open(l, x->set, registry, &x->models, err);
        x->open = r == 0;
    }
    if (r < 0) {
        registry_link_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

struct registry_link *registry_link_free(struct registry_link *x)
{
    if (!x)
        return NULL;
    if (x->open)
        models_done(&x->models);
    fs_set_free(x->set);
    free(x->said);
    free(x);
    return NULL;
}

/* ---- versions in use ---- */

static int add_number(json_t *list, int64_t n)
{
    return n > 0 && json_array_append_new(list, json_integer((json_int_t)n)) < 0 ? -1 : 0;
}

/* Those that run, and the one whose turn comes next. */
static json_t *versions_in_use(const json_t *model)
{
    const json_t *versions = json_object_get(model, "versions"), *v;
    AUTO_JSON *list = json_array();
    size_t i;

    json_array_foreach(versions, i, v)
    {
        if (add_number(list, json_int_or(v, "version", 0)) < 0)
            return NULL;
    }
    v = json_object_get(json_object_get(model, "next"), "version");
    return add_number(list, json_int_or(v, "version", 0)) < 0 ? NULL : take(list);
}

static int say_model(struct registry_link *x, const json_t *plan, const json_t *model,
                     struct err *err)
{
    AUTO_JSON *versions = versions_in_use(model);
    const struct uses_record u = {
        .model = json_string_value(json_object_get(model, "name")),
        .id = json_string_value(json_object_get(plan, "use")),
        .name = json_string_value(json_object_get(plan, "name")),
        .job = getenv("YDL_JOB"),
        .versions = versions,
    };

    int r = versions ? uses_say(&x->models, &u, err) : err_oom(err);

    if (r != -EACCES && r != -EPERM && r != -EROFS)
        return r;
    if (err)
        err_clear(err);
    x->read_only = true;
    return 0;
}

bool registry_link_is_read_only(const struct registry_link *x)
{
    return x->read_only;
}

static int check_model(struct registry_link *x, const json_t *model, struct err *err)
{
    AUTO_JSON *versions = versions_in_use(model);
    const char *name = json_string_value(json_object_get(model, "name"));
    const json_t *v;
    size_t i;
    int r = versions ? 0 : err_oom(err);

    json_array_foreach(versions, i, v)
    {
        AUTO_MANIFEST m = { 0 };

        if (r == 0)
            r = models_manifest(&x->models, name, json_integer_value(v), &m, err);
        if (r == 0)
            r = err_set(err, -ENOENT, "%s:%lld is not in the registry any more", name,
                        (long long)json_integer_value(v));
        r = r < 0 ? r : 0;
    }
    return r;
}

/* All that is written, as one text: has it changed? */
static char *text_of_uses(const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_JSON *all = json_array();
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (json_array_append_new(all, versions_in_use(m)) < 0)
            return NULL;
    }
    return json_dumps(all, JSON_COMPACT);
}

int registry_link_say(struct registry_link *x, const json_t *plan, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_FREE char *text = NULL;
    size_t i;
    bool changed;
    int r = 0;

    if (!x->open || !json_is_string(json_object_get(plan, "use")))
        return 0;
    text = text_of_uses(plan);
    if (!text)
        return err_oom(err);
    changed = !x->said || strcmp(x->said, text) != 0;
    if (!changed && loop_now(x->loop) - x->at < AGAIN_MS)
        return 0;
    json_array_foreach(models, i, m)
    {
        if (r == 0)
            r = say_model(x, plan, m, err);
        if (r == 0 && changed)
            r = check_model(x, m, err);
    }
    if (r < 0)
        return r;
    free(x->said);
    x->said = take(text);
    x->at = loop_now(x->loop);
    return 0;
}

int registry_link_forget(struct registry_link *x, const json_t *plan, struct err *err)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    const char *id = json_string_value(json_object_get(plan, "use"));
    size_t i;
    int r = 0;

    json_array_foreach(models, i, m)
    {
        if (r == 0 && x->open && id)
            r = uses_forget(&x->models, json_string_value(json_object_get(m, "name")), id, err);
    }
    return r;
}

/* ---- aliases ---- */

int registry_link_alias(struct registry_link *x, const json_t *model, int64_t known, json_t **ret,
                        struct err *err)
{
    const char *name = json_string_value(json_object_get(model, "name"));
    const char *alias = json_string_value(json_object_get(model, "follow"));
    AUTO_MANIFEST m = { 0 };
    AUTO_FREE char *path = NULL;
    int64_t version = 0;
    int r = x->open && alias ? alias_get(&x->models, name, alias, &version, err) : 0;

    if (r < 0 || version == 0 || version == known)
        return r;
    r = models_manifest(&x->models, name, version, &m, err);
    if (r <= 0)
        return r;
    r = models_path(&x->models, name, &path, err, "versions/%lld", (long long)version);
    if (r == 0)
        r = json_make(ret, err, "{s:I, s:s, s:s}", "version", (json_int_t)version, "path", path,
                      "format", m.format);
    return r < 0 ? r : 1;
}
