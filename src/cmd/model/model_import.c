/* model_import.c - `ydl model import`: the versions of a TensorFlow Serving base directory. */
#include "cmd/model/model_call.h"
#include "model/base_dir.h"

struct args {
    struct model_where where;
    bool or_push;
};

struct importing {
    struct model_call *c;
    const char *name;
    struct fs *fs;
    char *base;
    json_t *rows;
};

/* `format` NULL: that version was removed. */
static int import_tell(const struct importing *t, int64_t version, const char *format,
                       bool unchanged, struct err *err)
{
    json_t *v = NULL;
    int r;

    if (!t->c->x->globals->json) {
        printf("%s:%lld ", t->name, (long long)version);
        if (format)
            printf("%s (%s)\n", unchanged ? "is there already" : "published", format);
        else
            printf("was removed, and is left out\n");
        return 0;
    }
    r = json_make(&v, err, "{s:I, s:o, s:b, s:b}", "version", (json_int_t)version, "format",
                  json_text(format), "unchanged", unchanged, "removed", !format);
    return r < 0 ? r : json_array_append_new(t->rows, v) < 0 ? err_oom(err) : 0;
}

/* One that somebody removed stays so: else a directory could not be imported again after that. */
static int import_one(const struct importing *t, int64_t version, struct err *err)
{
    const struct model_publish what = {
        .name = t->name,
        .version = version,
        .path = t->base,
        .if_changed = true,
        .quiet = t->c->x->globals->quiet,
    };
    AUTO_MODEL_PUBLISHED p = { 0 };
    int r = models_removed(&t->c->r, t->name, version, err);

    if (r > 0)
        return import_tell(t, version, NULL, true, err);
    if (r == 0)
        r = base_dir_import(&t->c->r, t->fs, t->base, &what, &p, err);
    if (r < 0)
        return err_wrap(err, r, "import version %lld", (long long)version);
    return import_tell(t, version, p.manifest.format, p.unchanged, err);
}

/* BASE is one model, and no directory of versions. */
static int import_push(const struct importing *t, int64_t version, struct err *err)
{
    const struct model_publish what = {
        .name = t->name,
        .version = version,
        .path = t->c->x->cli->operands[0],
        .if_changed = true,
        .quiet = t->c->x->globals->quiet,
    };
    AUTO_MODEL_PUBLISHED p = { 0 };
    int r = model_publish(&t->c->r, &what, &p, err);

    return r < 0 ? r : import_tell(t, p.manifest.version, p.manifest.format, p.unchanged, err);
}

static int import_all(struct importing *t, int64_t version, struct err *err)
{
    const struct args *a = model_args(t->c);
    AUTO_VERSION_LIST all = { 0 };
    int r = fs_find(t->c->set, t->c->x->cli->operands[0], FS_ON_LOCAL, &t->fs, &t->base, err);

    if (r == 0 && a->or_push) {
        r = base_dir_is(t->fs, t->base, err);
        if (r <= 0)
            return r < 0 ? r : import_push(t, version, err);
        r = 0;
    }
    if (r == 0)
        r = base_dir_versions(t->fs, t->base, &all, err);
    for (size_t i = 0; r == 0 && i < all.n; i++)
        r = import_one(t, all.v[i], err);
    return r;
}

static int model_import_work(struct model_call *c, struct err *err)
{
    const struct args *a = model_args(c);
    AUTO_JSON *rows = json_array();
    struct importing t = { .c = c, .rows = rows };
    struct model_ref ref;
    json_t *v = NULL;
    int r = rows ? model_operand(c, 1, &ref, err) : err_oom(err);

    if (r == 0 && ((ref.version && !a->or_push) || *ref.alias))
        r = cli_bad(err, "import keeps the numbers of the directories: write NAME alone");
    t.name = ref.name;
    if (r == 0)
        r = import_all(&t, ref.version, err);
    free(t.base);
    if (r < 0 || !c->x->globals->json)
        return r;
    r = json_make(&v, err, "{s:s, s:O}", "name", ref.name, "versions", rows);
    return r < 0 ? r : model_print_json(v, err);
}

/* clang-format off */
const struct cli_verb verb_model_import = {
    .name = "import", .summary = "publish the versions of a TensorFlow Serving directory",
    .text = "Publishes each numbered directory of BASE under its own number. A version that "
            "already exists\n"
            "is skipped if it has the same files, so that an import can be repeated; with other "
            "files it is\n"
            "an error. Versions that were removed from the registry are skipped, too.\n\n"
            "With --or-push, BASE may also be one model: it is published as 'ydl model push "
            "--if-changed'\n"
            "does, under VERSION or the next free number. VERSION is ignored for a directory of "
            "versions.",
    CLI_OPTS(struct args,
      MODEL_REGISTRY_OPT,
      { "or-push", 0, CLI_FLAG, offsetof(struct args, or_push), NULL, NULL,
        "if BASE has no numbered versions, publish BASE itself" }),
    .operands = "BASE NAME[:VERSION]",
    .least = 2, .most = 2,
    .complete = CLI_DIRS,
    CLI_EXAMPLES({ "ydl model import /srv/models/resnet resnet", "publish /srv/models/resnet/1, 2 …" }),
    .ask = "From where? Try: ydl model import BASE NAME",
    MODEL_VERB(model_import_work),
};
/* clang-format on */
