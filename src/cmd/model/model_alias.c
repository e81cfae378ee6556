/* model_alias.c - `ydl model alias`: a name that stands for a version and can be moved. */
#include "cmd/model/model_call.h"

struct args {
    struct model_where where;
    bool remove;
};

#define AT(field) offsetof(struct args, field)

static int model_alias_print(const struct model_call *c, const struct model_ref *ref,
                             int64_t version, int64_t previous, struct err *err)
{
    json_t *v = NULL;
    int r;

    if (!c->x->globals->json) {
        if (version)
            printf("%s@%s is version %lld", ref->name, ref->alias, (long long)version);
        else
            printf("%s@%s was removed", ref->name, ref->alias);
        if (previous && previous != version)
            printf(" (it was %lld)", (long long)previous);
        printf("\n");
        return 0;
    }
    r = json_make(&v, err, "{s:s, s:s, s:o, s:o}", "name", ref->name, "alias", ref->alias,
                  "version", version ? json_integer(version) : json_null(), "previous",
                  previous ? json_integer(previous) : json_null());
    return r < 0 ? r : model_print_json(v, err);
}

static int model_alias_work(struct model_call *c, struct err *err)
{
    const struct args *a = model_args(c);
    const struct cli *cli = c->x->cli;
    struct model_ref ref;
    int64_t version = 0, previous = 0;
    int r = model_operand(c, 0, &ref, err);

    if (r == 0 && !*ref.alias)
        r = cli_bad(err, "which alias? Try: ydl model alias %s@champion VERSION", ref.name);
    if (r == 0 && a->remove && cli->n_operands > 1)
        r = cli_bad(err, "--remove takes no version");
    if (r == 0 && !a->remove && cli->n_operands == 1)
        r = cli_bad(err, "which version? Try: ydl model alias %s@%s VERSION", ref.name, ref.alias);
    if (r == 0 && !a->remove && model_version_parse(cli->operands[1], &version, err) < 0)
        r = err->code = CLI_USAGE;
    if (r == 0)
        r = alias_set(&c->r, ref.name, ref.alias, version, &previous, err);
    return r < 0 ? r : model_alias_print(c, &ref, version, previous, err);
}

/* clang-format off */
const struct cli_verb verb_model_alias = {
    .name = "alias", .summary = "set or remove an alias of a version",
    .text = "Makes NAME@ALIAS name a published version. If two commands move an alias at the same "
            "time, one\nof them is refused. The versions that it named before are kept as its "
            "history.",
    CLI_OPTS(struct args,
      MODEL_REGISTRY_OPT,
      { "remove", 0, CLI_FLAG, AT(remove), NULL, NULL, "remove the alias" }),
    .operands = "NAME@ALIAS [VERSION]",
    .least = 1, .most = 2,
    CLI_EXAMPLES({ "ydl model alias resnet@champion 3", "make resnet@champion name version 3" },
                 { "ydl model alias resnet@canary --remove", "remove an alias" }),
    .ask = "Which alias? Try: ydl model alias NAME@champion VERSION",
    MODEL_VERB(model_alias_work),
};
/* clang-format on */
