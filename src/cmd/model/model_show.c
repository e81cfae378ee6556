/* model_show.c - `ydl model show`: all that is known of one version. */
#include "cmd/model/model_call.h"
#include "model/tags.h"
#include "terminal/format.h"

/* ---- text ---- */

static void model_show_line(const char *label, const char *text)
{
    char shown[512];

    if (!text || !*text)
        return;
    str_clean(shown, sizeof(shown), text);
    printf("%-11s %s\n", label, shown);
}

/* "[-1, 784]", or "?" for one of unknown rank. */
static void model_show_shape(const json_t *shape)
{
    const json_t *n;
    size_t i;

    if (!json_is_array(shape)) {
        printf("?");
        return;
    }
    printf("[");
    json_array_foreach(shape, i, n)
        printf("%s%lld", i ? ", " : "", (long long)json_integer_value(n));
    printf("]");
}

static void model_show_tensors(const char *label, const json_t *list)
{
    char name[256], type[64];
    const json_t *t;
    size_t i;

    json_array_foreach(list, i, t)
    {
        str_clean(name, sizeof(name), format_text(t, "name"));
        str_clean(type, sizeof(type), format_text(t, "datatype"));
        printf("  %-9s %s  %s ", i ? "" : label, name, type);
        model_show_shape(json_object_get(t, "shape"));
        printf("\n");
    }
}

static void model_show_signatures(const json_t *all)
{
    const json_t *s;
    const char *key;
    char name[256];

    json_object_foreach((json_t *)all, key, s)
    {
        str_clean(name, sizeof(name), key);
        printf("signature   %s\n", name);
        model_show_tensors("inputs", json_object_get(s, "inputs"));
        model_show_tensors("outputs", json_object_get(s, "outputs"));
    }
}

static void model_show_tags(const json_t *tags)
{
    char value[1100], text[1400];
    const json_t *v;
    const char *key;

    json_object_foreach((json_t *)tags, key, v)
    {
        str_clean(value, sizeof(value), json_string_value(v) ? json_string_value(v) : "");
        snprintf(text, sizeof(text), "%s=%s", key, value);
        model_show_line("tag", text);
    }
}

static void model_show_files(const struct manifest *m)
{
    char size[STR_SIZE_MAX], path[300];

    for (size_t i = 0; i < m->n; i++) {
        str_clean(path, sizeof(path), m->files[i].path);
        printf("%-11s %s  %s  %.12s\n", i ? "" : "files", path, str_size(m->files[i].size, size),
               m->files[i].sha256);
    }
}

static int model_show_text(const struct manifest *m, const struct alias_list *aliases,
                           const json_t *tags, struct err *err)
{
    AUTO_BUF framework = { .max = 4 * KIB };
    AUTO_BUF names = { .max = 64 * KIB };
    char when[FORMAT_WHEN], size[STR_SIZE_MAX];

    if (model_framework_text(m, &framework) < 0 || !buf_text(&framework) ||
        model_alias_text(aliases, m->version, &names) < 0 || !buf_text(&names))
        return err_oom(err);
    printf("%s:%lld\n", m->name, (long long)m->version);
    model_show_line("format", (const char *)framework.data);
    model_show_line("entry", m->entry);
    model_show_line("aliases", (const char *)names.data);
    model_show_line("published", format_when(m->created_ms, when));
    model_show_line("by", m->created_by);
    model_show_line("job", format_text(m->doc, "job"));
    model_show_line("git", format_text(m->doc, "git"));
    model_show_tags(tags);
    model_show_line("size", str_size(m->bytes, size));
    model_show_line("tree sha256", m->tree);
    model_show_signatures(json_object_get(m->doc, "signatures"));
    model_show_files(m);
    return 0;
}

/* ---- JSON ---- */

static int model_show_json(const struct manifest *m, const struct alias_list *aliases, json_t *tags,
                           struct err *err)
{
    AUTO_JSON *brief = model_brief(m, aliases);
    json_t *names = json_object_get(brief, "aliases");

    if (!brief || json_object_set(m->doc, "aliases", names) < 0 ||
        json_object_set(m->doc, "tags", tags) < 0)
        return err_oom(err);
    return model_print_json(json_incref(m->doc), err);
}

static int model_show_work(struct model_call *c, struct err *err)
{
    AUTO_ALIAS_LIST aliases = { 0 };
    AUTO_MANIFEST m = { 0 };
    AUTO_JSON *tags = NULL;
    struct model_ref ref;
    int r = model_operand(c, 0, &ref, err);

    if (r == 0)
        r = models_find(&c->r, &ref, &m, err);
    if (r == 0)
        r = alias_all(&c->r, ref.name, &aliases, err);
    if (r == 0)
        r = tags_of(&c->r, &m, NULL, &tags, err);
    if (r < 0)
        return r;
    return c->x->globals->json ? model_show_json(&m, &aliases, tags, err)
                               : model_show_text(&m, &aliases, tags, err);
}

/* clang-format off */
const struct cli_verb verb_model_show = {
    .name = "show", .summary = "show a version: format, signature, files, origin",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "NAME[:VERSION|@ALIAS]",
    .least = 1, .most = 1,
    CLI_EXAMPLES({ "ydl model show resnet", "show the newest version" },
                 { "ydl model show resnet@champion --json", "show what an alias names, as JSON" }),
    .ask = "Which model? Try: ydl model list",
    MODEL_VERB(model_show_work),
};
/* clang-format on */
