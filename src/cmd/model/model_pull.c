/* model_pull.c - `ydl model pull`: the files of a version, checked, into a new directory. */
#include "cmd/model/model_call.h"
#include "model/fetch.h"

static int pull_print(const struct model_call *c, const struct manifest *m, const char *dir,
                      struct err *err)
{
    char size[STR_SIZE_MAX];
    json_t *v = NULL;
    int r;

    if (!c->x->globals->json) {
        printf("%s:%lld copied to %s (%s)\n", m->name, (long long)m->version, dir,
               str_size(m->bytes, size));
        return 0;
    }
    r = json_make(&v, err, "{s:s, s:I, s:s, s:o, s:I, s:s}", "name", m->name, "version",
                  (json_int_t)m->version, "format", m->format, "target", json_text(dir), "bytes",
                  (json_int_t)m->bytes, "entry", m->entry);
    return r < 0 ? r : model_print_json(v, err);
}

static int pull_work(struct model_call *c, struct err *err)
{
    const struct cli *cli = c->x->cli;
    AUTO_PROGRESS *progress = NULL;
    AUTO_FREE char *dir = NULL;
    AUTO_MANIFEST m = { 0 };
    struct model_ref ref;
    struct fs *to;
    int r = model_operand(c, 0, &ref, err);

    if (r == 0)
        r = models_find(&c->r, &ref, &m, err);
    if (r == 0)
        r = fs_find(c->set, cli->n_operands > 1 ? cli->operands[1] : ref.name, FS_ON_LOCAL, &to,
                    &dir, err);
    if (r == 0)
        r = progress_begin(ref.name, m.bytes, c->x->globals->quiet, &progress, err);
    if (r == 0)
        r = fetch_model(&c->r, &m, to, dir, progress, err);
    if (r < 0)
        return r;
    progress = progress_end(progress);
    return pull_print(c, &m, dir, err);
}

/* clang-format off */
const struct cli_verb verb_model_pull = {
    .name = "pull", .summary = "copy a version out of the registry",
    .text = "Copies the files of a version, as they were pushed, into a new directory (default: "
            "NAME in the\n"
            "current one). Every file is checked against the manifest, and the directory appears\n"
            "only when it is complete.",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "NAME[:VERSION|@ALIAS] [DIR]",
    .least = 1, .most = 2,
    CLI_EXAMPLES({ "ydl model pull resnet", "copy the newest version to ./resnet" },
                 { "ydl model pull resnet@champion /srv/resnet", "copy what an alias names" }),
    .ask = "Which model? Try: ydl model list",
    MODEL_VERB(pull_work),
};
/* clang-format on */
