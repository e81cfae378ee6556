/* model_prune.c - `ydl model prune`: versions that nobody needs, and what killed pushes left. */
#include "cmd/model/model_call.h"
#include "model/retention.h"

struct args {
    struct model_where where;
    unsigned keep;
    bool dry_run;
};

#define AT(field) offsetof(struct args, field)

/* One model that is passed over keeps none of the others from being pruned. */
static void prune_note(const char *name, int r, struct err *err)
{
    if (model_denied(r))
        fprintf(stderr, "note: you are not permitted to change model '%s'\n", name);
    else
        fprintf(stderr, "note: model '%s' is not pruned: %s\n", name, err->text);
    err_clear(err);
}

static int prune_work(const struct model_call *c, struct retention *all, struct err *err)
{
    const struct args *a = model_args(c);
    const struct cli *cli = c->x->cli;
    AUTO_STRS names = { 0 };
    int r = cli->n_operands ? 0 : models_names(&c->r, &names, err);

    for (size_t i = 0; r == 0 && i < cli->n_operands; i++) {
        struct model_ref ref;

        r = model_operand(c, i, &ref, err);
        if (r == 0 && (ref.version || *ref.alias))
            r = cli_bad(err, "prune takes names of models; for one version: ydl model rm");
        if (r == 0)
            r = retention_model(&c->r, ref.name, a->keep, a->dry_run, all, err);
    }
    for (size_t i = 0; r == 0 && i < names.n; i++) {
        r = retention_model(&c->r, names.v[i], a->keep, a->dry_run, all, err);
        if (model_denied(r) || model_damaged(r)) {
            prune_note(names.v[i], r, err);
            r = 0;
        }
    }
    return r < 0 ? r : retention_staging(&c->r, a->dry_run, all, err);
}

static void prune_print_text(const struct retention *all, bool dry)
{
    char size[STR_SIZE_MAX], name[256];

    for (size_t i = 0; i < all->n; i++) {
        const struct retention_row *row = &all->v[i];
        const char *done = !row->removed ? "keep" : dry ? "would remove" : "removed";

        str_clean(name, sizeof(name), row->name);
        if (row->version)
            printf("%s %s:%lld (%s): %s\n", done, name, (long long)row->version,
                   str_size(row->bytes, size), row->reason);
        else
            printf("%s unfinished upload %s (%s): %s\n", done, name, str_size(row->bytes, size),
                   row->reason);
    }
}

static int prune_print_json(const struct retention *all, bool dry, struct err *err)
{
    AUTO_JSON *versions = json_array();
    AUTO_JSON *staging = json_array();
    json_t *v = NULL;
    int r = versions && staging ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < all->n; i++) {
        const struct retention_row *row = &all->v[i];

        r = json_make(&v, err, "{s:o, s:b, s:s, s:I}", "name", json_text(row->name), "removed",
                      row->removed, "reason", row->reason, "bytes", (json_int_t)row->bytes);
        if (r == 0 && row->version &&
            json_object_set_new(v, "version", json_integer(row->version)) < 0)
            r = err_oom(err);
        if (r == 0 && json_array_append_new(row->version ? versions : staging, take(v)) < 0)
            r = err_oom(err);
    }
    if (r == 0)
        r = json_make(&v, err, "{s:O, s:O, s:b}", "versions", versions, "staging", staging,
                      "dry_run", dry);
    return r < 0 ? r : model_print_json(v, err);
}

static int model_prune_work(struct model_call *c, struct err *err)
{
    const struct args *a = model_args(c);
    AUTO_RETENTION all = { 0 };
    int r = a->keep ? prune_work(c, &all, err) : cli_bad(err, "--keep must be at least 1");

    if (r < 0)
        return r;
    if (c->x->globals->json)
        return prune_print_json(&all, a->dry_run, err);
    prune_print_text(&all, a->dry_run);
    return 0;
}

/* clang-format off */
const struct cli_verb verb_model_prune = {
    .name = "prune", .summary = "remove old versions that are not in use",
    .text = "Removes all versions of the given models (default: all models) except the newest N, "
            "those\n"
            "that an alias names and those that a deployment uses. Also removes what a killed push "
            "left\n"
            "behind: at once if it ran on this machine, otherwise after a day.",
    CLI_OPTS(struct args,
      MODEL_REGISTRY_OPT,
      { "keep",    'k', CLI_COUNT, AT(keep),    "5",  "N",  "keep the newest N versions" },
      { "dry-run", 'n', CLI_FLAG,  AT(dry_run), NULL, NULL, "only print what would be removed" }),
    .operands = "[NAME…]",
    .most = CLI_ANY,
    CLI_EXAMPLES({ "ydl model prune --dry-run", "print what would be removed, and why the rest is kept" },
                 { "ydl model prune resnet --keep 3", "keep the newest 3 versions and those in use" }),
    MODEL_VERB(model_prune_work),
};
/* clang-format on */
