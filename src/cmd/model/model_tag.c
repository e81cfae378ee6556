/* model_tag.c - `ydl model tag`: words that describe a version. */
#include "cmd/model/model_call.h"
#include "model/tags.h"

struct args {
    struct model_where where;
    struct strs remove;
};

#define AT(field) offsetof(struct args, field)

static int model_tag_change(const struct model_call *c, json_t *tags, struct err *err)
{
    const struct args *a = model_args(c);
    const struct cli *cli = c->x->cli;
    struct strs words = { cli->operands + 1, cli->n_operands - 1 };
    AUTO_JSON *more = NULL;
    int r = model_tags(&words, &more, err);

    if (r == 0 && json_object_update(tags, more) < 0)
        r = err_oom(err);
    for (size_t i = 0; r == 0 && i < a->remove.n; i++)
        (void)json_object_del(tags, a->remove.v[i]);
    return r;
}

static int model_tag_print(const struct model_call *c, const struct manifest *m, json_t *tags,
                           struct err *err)
{
    json_t *v = NULL;
    const json_t *one;
    const char *key;
    int r;

    if (c->x->globals->json) {
        r = json_make(&v, err, "{s:s, s:I, s:O}", "name", m->name, "version",
                      (json_int_t)m->version, "tags", tags);
        return r < 0 ? r : model_print_json(v, err);
    }
    json_object_foreach(tags, key, one)
    {
        char value[1100];

        str_clean(value, sizeof(value), json_string_value(one) ? json_string_value(one) : "");
        printf("%s=%s\n", key, value);
    }
    return 0;
}

static int model_tag_work(struct model_call *c, struct err *err)
{
    const struct args *a = model_args(c);
    AUTO_JSON *now = NULL;
    AUTO_JSON *tags = NULL;
    AUTO_MANIFEST m = { 0 };
    struct model_ref ref;
    int64_t generation;
    int r = model_operand(c, 0, &ref, err);

    if (r == 0)
        r = models_find(&c->r, &ref, &m, err);
    if (r == 0)
        r = tags_of(&c->r, &m, &generation, &now, err);
    if (r == 0 && !(tags = json_deep_copy(now)))
        r = err_oom(err);
    if (r == 0)
        r = model_tag_change(c, tags, err);
    if (r == 0 && (a->remove.n > 0 || c->x->cli->n_operands > 1) && !json_equal(now, tags))
        r = tags_set(&c->r, &m, generation, tags, err);
    return r < 0 ? r : model_tag_print(c, &m, tags, err);
}

/* clang-format off */
const struct cli_verb verb_model_tag = {
    .name = "tag", .summary = "show or change the tags of a version",
    CLI_OPTS(struct args,
      MODEL_REGISTRY_OPT,
      { "remove", 0, CLI_LIST, AT(remove), NULL, "KEY", "remove a tag; repeat for more" }),
    .operands = "NAME[:VERSION|@ALIAS] [KEY=VALUE…]",
    .least = 1, .most = CLI_ANY,
    CLI_EXAMPLES({ "ydl model tag resnet:3 accuracy=0.93", "add a tag, or change it" },
                 { "ydl model tag resnet:3 --remove accuracy", "remove it" }),
    .ask = "Which version? Try: ydl model tag NAME:VERSION KEY=VALUE",
    MODEL_VERB(model_tag_work),
};
/* clang-format on */
