/* model_rm.c - `ydl model rm`: removes versions that nothing uses. */
#include "cmd/model/model_call.h"
#include "model/withdraw.h"

static int model_rm_one(struct model_call *c, size_t i, json_t *removed, struct err *err)
{
    struct model_ref ref;
    json_t *v = NULL;
    int r = model_operand(c, i, &ref, err);

    if (r == 0 && !ref.version)
        r = cli_bad(err, "which version? Write NAME:VERSION, as in: ydl model rm %s:1", ref.name);
    if (r == 0)
        r = model_withdraw(&c->r, ref.name, ref.version, err);
    if (r < 0)
        return r;
    if (!c->x->globals->json) {
        printf("%s:%lld removed\n", ref.name, (long long)ref.version);
        return 0;
    }
    r = json_make(&v, err, "{s:s, s:I}", "name", ref.name, "version", (json_int_t)ref.version);
    return r < 0 ? r : json_array_append_new(removed, v) < 0 ? err_oom(err) : 0;
}

static int model_rm_work(struct model_call *c, struct err *err)
{
    AUTO_JSON *removed = json_array();
    json_t *v = NULL;
    int r = removed ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < c->x->cli->n_operands; i++)
        r = model_rm_one(c, i, removed, err);
    if (r < 0 || !c->x->globals->json)
        return r;
    r = json_make(&v, err, "{s:O}", "removed", removed);
    return r < 0 ? r : model_print_json(v, err);
}

/* clang-format off */
const struct cli_verb verb_model_rm = {
    .name = "rm", .summary = "remove versions that are not in use",
    .text = "Removes versions. A version that an alias names or a deployment uses is refused. The "
            "number\n"
            "of a removed version is never used again.",
    .opts = model_where_opts, .args_size = sizeof(struct model_where),
    .operands = "NAME:VERSION…",
    .least = 1, .most = CLI_ANY,
    CLI_EXAMPLES({ "ydl model rm resnet:1 resnet:2", "remove two versions" }),
    .ask = "Which version? Try: ydl model list NAME",
    MODEL_VERB(model_rm_work),
};
/* clang-format on */
