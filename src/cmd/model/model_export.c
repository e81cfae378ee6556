/* model_export.c - `ydl model export`: a TensorFlow Serving base directory of a model. */
#include "cmd/model/model_call.h"
#include "model/base_dir.h"

struct exporting {
    struct model_call *c;
    struct fs *to;
    char *base;
    json_t *rows;
};

static int export_one(const struct exporting *t, const struct manifest *m, struct err *err)
{
    AUTO_PROGRESS *progress = NULL;
    json_t *v = NULL;
    int r = progress_begin(m->name, m->bytes, t->c->x->globals->quiet, &progress, err);

    if (r == 0)
        r = base_dir_export(&t->c->r, m, t->to, t->base, progress, err);
    if (r < 0)
        return r;
    progress = progress_end(progress);
    if (!t->c->x->globals->json) {
        printf("%s/%lld %s\n", t->base, (long long)m->version, r ? "written" : "exists already");
        return 0;
    }
    r = json_make(&v, err, "{s:I, s:b}", "version", (json_int_t)m->version, "written", r > 0);
    return r < 0 ? r : json_array_append_new(t->rows, v) < 0 ? err_oom(err) : 0;
}

static int export_all(const struct exporting *t, const char *name, struct err *err)
{
    AUTO_VERSION_LIST all = { 0 };
    int r = models_versions(&t->c->r, name, &all, err);

    for (size_t i = 0; r == 0 && i < all.n; i++) {
        AUTO_MANIFEST m = { 0 };

        r = models_manifest(&t->c->r, name, all.v[i], &m, err);
        if (r > 0)
            r = export_one(t, &m, err);
    }
    return r;
}

static int export_named(const struct exporting *t, const struct model_ref *ref, struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    int r;

    if (!ref->version && !*ref->alias)
        return export_all(t, ref->name, err);
    r = models_find(&t->c->r, ref, &m, err);
    return r < 0 ? r : export_one(t, &m, err);
}

static int model_export_work(struct model_call *c, struct err *err)
{
    AUTO_JSON *rows = json_array();
    struct exporting t = { .c = c, .rows = rows };
    struct model_ref ref;
    json_t *v = NULL;
    int r = rows ? model_operand(c, 0, &ref, err) : err_oom(err);

    if (r == 0)
        r = fs_find(c->set, c->x->cli->operands[1], FS_ON_LOCAL, &t.to, &t.base, err);
    if (r == 0)
        r = fs_mkdirs(t.to, t.base, FS_MODE_DEFAULT, true, err);
    if (r == 0)
        r = export_named(&t, &ref, err);
    if (r == 0 && c->x->globals->json)
        r = json_make(&v, err, "{s:s, s:o, s:O}", "name", ref.name, "target", json_text(t.base),
                      "versions", rows);
    free(t.base);
    return r < 0 || !c->x->globals->json ? r : model_print_json(v, err);
}

/* clang-format off */
const struct cli_verb verb_model_export = {
    .name = "export", .summary = "write versions to a TensorFlow Serving directory",
    .text =
        "Writes the files of each version to BASE/VERSION. A directory appears only when it is\n"
        "complete, so that a server that watches BASE never loads half of a version. Versions "
        "that already\n"
        "exist there are skipped.",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "NAME[:VERSION|@ALIAS] BASE",
    .least = 2, .most = 2,
    .complete = CLI_DIRS,
    CLI_EXAMPLES({ "ydl model export resnet /srv/models/resnet", "write every version to /srv/models/resnet/N" },
                 { "ydl model export resnet@champion /srv/models/resnet", "write one version" }),
    .ask = "Which model? Try: ydl model export NAME BASE",
    MODEL_VERB(model_export_work),
};
/* clang-format on */
