/* model_verify.c - `ydl model verify`: reads every byte of a version again. */
#include "cli/exit.h"
#include "cmd/model/model_call.h"
#include "model/fetch.h"

struct verifying {
    struct model_call *c;
    struct progress *progress;
    json_t *rows;
    bool damaged;
};

static int verify_problems_json(const struct fetch_problems *p, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();
    int r = list ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < p->n; i++) {
        json_t *v = NULL;

        r = json_make(&v, err, "{s:o, s:s}", "path", json_text(p->v[i].path), "problem",
                      p->v[i].what);
        if (r == 0 && json_array_append_new(list, v) < 0)
            r = err_oom(err);
    }
    *ret = r == 0 ? take(list) : NULL;
    return r;
}

static int verify_report(struct verifying *t, const char *name, int64_t version,
                         const struct fetch_problems *p, struct err *err)
{
    char path[300];
    json_t *list = NULL, *v = NULL;
    int r;

    t->damaged |= p->n > 0;
    if (!t->c->x->globals->json) {
        progress_wipe(t->progress);
        printf("%s:%lld %s\n", name, (long long)version, p->n ? "is damaged" : "ok");
        for (size_t i = 0; i < p->n; i++) {
            str_clean(path, sizeof(path), p->v[i].path);
            printf("  %s: %s\n", path, p->v[i].what);
        }
        return 0;
    }
    r = verify_problems_json(p, &list, err);
    if (r == 0)
        r = json_make(&v, err, "{s:s, s:I, s:b, s:o}", "name", name, "version", (json_int_t)version,
                      "ok", p->n == 0, "problems", list);
    return r < 0 ? r : json_array_append_new(t->rows, v) < 0 ? err_oom(err) : 0;
}

/* A manifest that makes no sense is a problem of that version, and hides no other one. Returns 0
 * when the version is not published, else 1. */
static int verify_version(struct verifying *t, const char *name, int64_t version, struct err *err)
{
    struct fetch_problems problems = { 0 };
    AUTO_MANIFEST m = { 0 };
    char manifest[] = "MANIFEST.json";
    struct fetch_problem bad = { manifest, "damaged" };
    int r = models_manifest(&t->c->r, name, version, &m, err);

    if (r == -EBADMSG) {
        err_clear(err);
        r = verify_report(t, name, version, &(struct fetch_problems){ &bad, 1 }, err);
        return r < 0 ? r : 1;
    }
    if (r <= 0)
        return r;
    progress_total(t->progress, m.bytes);
    progress_label(t->progress, name);
    progress_set(t->progress, 0);
    r = fetch_verify(&t->c->r, &m, t->progress, &problems, err);
    if (r == 0)
        r = verify_report(t, name, version, &problems, err);
    fetch_problems_done(&problems);
    return r < 0 ? r : 1;
}

static int verify_model(struct verifying *t, const char *name, struct err *err)
{
    AUTO_VERSION_LIST all = { 0 };
    int r = models_versions(&t->c->r, name, &all, err);

    for (size_t i = 0; r >= 0 && i < all.n; i++)
        r = verify_version(t, name, all.v[i], err);
    return r < 0 ? r : 0;
}

static int verify_operand(struct verifying *t, size_t i, struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    struct model_ref ref;
    int r = model_operand(t->c, i, &ref, err);

    if (r == 0 && *ref.alias)
        r = alias_get(&t->c->r, ref.name, ref.alias, &ref.version, err);
    if (r < 0)
        return r;
    if (!ref.version)
        return verify_model(t, ref.name, err);
    *ref.alias = '\0';
    r = verify_version(t, ref.name, ref.version, err);
    if (r == 0) /* it says what there is instead */
        r = models_find(&t->c->r, &ref, &m, err);
    return r < 0 ? r : 0;
}

static int verify_all(struct verifying *t, struct err *err)
{
    const struct cli *cli = t->c->x->cli;
    AUTO_STRS names = { 0 };
    int r = cli->n_operands ? 0 : models_names(&t->c->r, &names, err);

    for (size_t i = 0; r == 0 && i < cli->n_operands; i++)
        r = verify_operand(t, i, err);
    for (size_t i = 0; r == 0 && i < names.n; i++)
        r = verify_model(t, names.v[i], err);
    return r;
}

static int verify_work(struct model_call *c, struct err *err)
{
    AUTO_JSON *rows = json_array();
    AUTO_PROGRESS *progress = NULL;
    struct verifying t = { .c = c, .rows = rows };
    json_t *v = NULL;
    int r = rows ? progress_begin("", 0, c->x->globals->quiet, &progress, err) : err_oom(err);

    t.progress = progress;
    if (r == 0)
        r = verify_all(&t, err);
    if (r == 0 && c->x->globals->json) {
        r = json_make(&v, err, "{s:O}", "versions", rows);
        r = r < 0 ? r : model_print_json(v, err);
    }
    return r < 0 ? r : t.damaged ? EXIT_OTHER : 0;
}

/* clang-format off */
const struct cli_verb verb_model_verify = {
    .name = "verify", .summary = "compare files with their manifests",
    .text = "Reads the files of versions again and compares their sizes and SHA-256 with the "
            "manifest.",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "[NAME[:VERSION|@ALIAS]…]",
    .most = CLI_ANY,
    CLI_EXAMPLES({ "ydl model verify", "check everything" },
                 { "ydl model verify resnet:3", "check one version" }),
    CLI_SECTIONS(
      { "EXIT STATUS", "1 if a version is damaged; otherwise see ydl(1)." }),
    MODEL_VERB(verify_work),
};
/* clang-format on */
