/* model_list.c - `ydl model list`: the models of a registry, or the versions of one. */
#include "cli/table.h"
#include "cmd/model/model_call.h"
#include "terminal/format.h"

/* clang-format off */
static const struct table_column model_columns[] = {
    { "MODEL", false }, { "VERSION", true }, { "FORMAT", false }, { "SIZE", true },
    { "PUBLISHED", false }, { "BY", false }, { "ALIASES", false },
};
static const struct table_column version_columns[] = {
    { "VERSION", true }, { "FORMAT", false }, { "SIZE", true }, { "PUBLISHED", false },
    { "BY", false }, { "ALIASES", false },
};
/* clang-format on */

struct listing {
    struct model_call *c;
    struct table *table; /* NULL: JSON */
    json_t *rows;
    json_t *denied, *damaged; /* names; of versions NAME:VERSION */
    bool of_one;              /* a model's versions */
};

/* One line, or one object. */
static int model_list_add(struct listing *l, const struct manifest *m,
                          const struct alias_list *aliases, struct err *err)
{
    char size[STR_SIZE_MAX], when[FORMAT_WHEN];
    AUTO_BUF framework = { .max = 4 * KIB };
    AUTO_BUF names = { .max = 64 * KIB };

    if (!l->table) {
        json_t *v = model_brief(m, aliases);

        if (v && !l->of_one && json_object_set_new(v, "name", json_string(m->name)) < 0)
            json_decref(take(v));
        return json_array_append_new(l->rows, v) < 0 ? err_oom(err) : 0;
    }
    if (model_framework_text(m, &framework) < 0 || !buf_text(&framework) ||
        model_alias_text(aliases, m->version, &names) < 0 || !buf_text(&names))
        return err_oom(err);
    if (!l->of_one)
        table_cell(l->table, "%s", m->name);
    table_cell(l->table, "%lld", (long long)m->version);
    table_cell(l->table, "%s", (const char *)framework.data);
    table_cell(l->table, "%s", str_size(m->bytes, size));
    table_cell(l->table, "%s", format_when(m->created_ms, when));
    table_cell(l->table, "%s", m->created_by);
    table_cell(l->table, "%s", (const char *)names.data);
    return 0;
}

/* Passes over what cannot be shown, with a note; `name` is used up. */
static int model_list_miss(struct listing *l, int r, json_t *name, struct err *err)
{
    json_t *into = model_denied(r) ? l->denied : model_damaged(r) ? l->damaged : NULL;

    if (!into) {
        json_decref(name);
        return r;
    }
    if (into == l->damaged && !l->c->x->globals->quiet)
        fprintf(stderr, "note: %s\n", err->text);
    err_clear(err);
    return json_array_append_new(into, name) < 0 ? err_oom(err) : 0;
}

/* ---- one model ---- */

static int model_list_versions(struct listing *l, const char *name, struct err *err)
{
    AUTO_ALIAS_LIST aliases = { 0 };
    AUTO_VERSION_LIST all = { 0 };
    int r = models_versions(&l->c->r, name, &all, err);

    if (r == 0)
        r = alias_all(&l->c->r, name, &aliases, err);
    for (size_t i = all.n; r == 0 && i > 0; i--) {
        AUTO_MANIFEST m = { 0 };

        r = models_manifest(&l->c->r, name, all.v[i - 1], &m, err);
        if (r > 0)
            r = model_list_add(l, &m, &aliases, err);
        else if (model_damaged(r))
            r = model_list_miss(l, r, json_sprintf("%s:%lld", name, (long long)all.v[i - 1]), err);
    }
    return r;
}

/* ---- all models ---- */

static int model_list_newest(struct listing *l, const char *name, struct err *err)
{
    AUTO_ALIAS_LIST aliases = { 0 };
    struct model_ref ref = { 0 };
    AUTO_MANIFEST m = { 0 };
    int r;

    snprintf(ref.name, sizeof(ref.name), "%s", name);
    r = models_find(&l->c->r, &ref, &m, err);
    if (r == -ENOENT) { /* nothing was published yet, or all of it was removed */
        err_clear(err);
        return 0;
    }
    if (r == 0)
        r = alias_all(&l->c->r, name, &aliases, err);
    return r < 0 ? r : model_list_add(l, &m, &aliases, err);
}

/* A model that the user may not read, or that is damaged, hides no other one. */
static int model_list_all(struct listing *l, struct err *err)
{
    AUTO_STRS names = { 0 };
    int r = models_names(&l->c->r, &names, err);

    for (size_t i = 0; r == 0 && i < names.n; i++) {
        r = model_list_newest(l, names.v[i], err);
        if (r < 0)
            r = model_list_miss(l, r, json_string(names.v[i]), err);
    }
    return r;
}

static void model_list_note(const struct model_call *c, const json_t *denied)
{
    const json_t *name;
    size_t i;

    if (c->x->globals->quiet)
        return;
    json_array_foreach(denied, i, name)
    {
        fprintf(stderr, "note: you are not permitted to read model '%s'\n",
                json_string_value(name));
    }
}

/* ---- output ---- */

static int model_list_print(struct listing *l, const char *name, struct err *err)
{
    AUTO_FREE char *place = NULL;
    json_t *v = NULL;
    int r;

    if (l->table) {
        r = table_end(l->table, err);
        model_list_note(l->c, l->denied);
        return r;
    }
    r = fs_uri(l->c->r.fs, l->c->r.root, &place, err);
    if (r < 0)
        return r;
    r = l->of_one ? json_make(&v, err, "{s:s, s:s, s:O, s:O}", "registry", place, "name", name,
                              "versions", l->rows, "damaged", l->damaged)
                  : json_make(&v, err, "{s:s, s:O, s:O, s:O}", "registry", place, "models", l->rows,
                              "denied", l->denied, "damaged", l->damaged);
    return r < 0 ? r : model_print_json(v, err);
}

static int model_list_work(struct model_call *c, struct err *err)
{
    const struct cli *cli = c->x->cli;
    struct listing l = { .c = c, .of_one = cli->n_operands > 0 };
    AUTO_JSON *rows = json_array();
    AUTO_JSON *denied = json_array();
    AUTO_JSON *damaged = json_array();
    struct model_ref ref = { 0 };
    AUTO_TABLE t = { 0 };
    int r = rows && denied && damaged ? 0 : err_oom(err);

    l.rows = rows;
    l.denied = denied;
    l.damaged = damaged;
    l.table = c->x->globals->json ? NULL : &t;
    if (l.of_one)
        table_begin(&t, stdout, version_columns, COUNT_OF(version_columns));
    else
        table_begin(&t, stdout, model_columns, COUNT_OF(model_columns));
    if (r == 0 && l.of_one)
        r = model_operand(c, 0, &ref, err);
    if (r == 0 && (ref.version || *ref.alias))
        r = cli_bad(err, "list takes a model's name; for one version: ydl model show %s",
                    cli->operands[0]);
    if (r == 0)
        r = l.of_one ? model_list_versions(&l, ref.name, err) : model_list_all(&l, err);
    return r < 0 ? r : model_list_print(&l, ref.name, err);
}

/* clang-format off */
const struct cli_verb verb_model_list = {
    .name = "list", .summary = "list models, or the versions of one",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "[NAME]",
    .most = 1,
    CLI_EXAMPLES({ "ydl model list", "list the models, with the newest version of each" },
                 { "ydl model list resnet", "list the versions of a model, newest first" }),
    MODEL_VERB(model_list_work),
};
/* clang-format on */
