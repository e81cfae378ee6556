/* model_push.c - `ydl model push`: a new version of a model. */
#include "cli/exit.h"
#include "cmd/model/model_call.h"
#include "model/publish.h"

#include <string.h>

struct args {
    struct model_where where;
    const char *warmup, *alias;
    struct strs tags;
    bool if_changed;
};

#define AT(field) offsetof(struct args, field)

int model_tags(const struct strs *words, json_t **ret, struct err *err)
{
    AUTO_JSON *tags = json_object();

    for (size_t i = 0; tags && i < words->n; i++) {
        const char *equals = strchr(words->v[i], '=');
        AUTO_FREE char *key = strndup(words->v[i], equals ? (size_t)(equals - words->v[i]) : 0);
        AUTO_JSON *value = equals ? json_string(equals + 1) : NULL;

        if (!key)
            return err_oom(err);
        if (!model_name_ok(key) || !equals)
            return cli_bad(err, "'%.100s' is not a tag: write KEY=VALUE", words->v[i]);
        if (!value || strlen(equals) > 1024)
            return cli_bad(err, "the value of tag '%s' is too long, or not UTF-8", key);
        if (json_object_set(tags, key, value) < 0)
            return err_oom(err);
    }
    *ret = take(tags);
    return *ret ? 0 : err_oom(err);
}

static int push_print(const struct model_call *c, const struct model_published *p,
                      const struct args *a, struct err *err)
{
    const struct manifest *m = &p->manifest;
    char size[STR_SIZE_MAX];
    json_t *v = NULL;

    if (c->x->globals->json) {
        int r = json_make(&v, err, "{s:s, s:I, s:s, s:I, s:s, s:b, s:o}", "name", m->name,
                          "version", (json_int_t)m->version, "format", m->format, "bytes",
                          (json_int_t)m->bytes, "tree_sha256", m->tree, "unchanged", p->unchanged,
                          "alias", a->alias ? json_string(a->alias) : json_null());

        return r < 0 ? r : model_print_json(v, err);
    }
    printf("%s:%lld %s (%s, %s)\n", m->name, (long long)m->version,
           p->unchanged ? "has the same files" : "published", m->format, str_size(m->bytes, size));
    if (a->alias)
        printf("%s@%s is version %lld\n", m->name, a->alias, (long long)m->version);
    return 0;
}

static int push_publish(struct model_call *c, const struct model_ref *ref, const json_t *tags,
                        struct err *err)
{
    const struct args *a = model_args(c);
    const struct model_publish what = {
        .name = ref->name,
        .version = ref->version,
        .path = c->x->cli->operands[0],
        .warmup = a->warmup,
        .tags = tags,
        .if_changed = a->if_changed,
        .quiet = c->x->globals->quiet,
    };
    AUTO_MODEL_PUBLISHED p = { 0 };
    int r = model_publish(&c->r, &what, &p, err);

    if (r == 0 && a->alias) {
        r = alias_set(&c->r, ref->name, a->alias, p.manifest.version, NULL, err);
        if (r < 0)
            return err_wrap(err, r, "%s:%lld is published, but alias '%s' was not set", ref->name,
                            (long long)p.manifest.version, a->alias);
    }
    return r < 0 ? r : push_print(c, &p, a, err);
}

static int push_work(struct model_call *c, struct err *err)
{
    const struct args *a = model_args(c);
    AUTO_JSON *tags = NULL;
    struct model_ref ref;
    int r = model_operand(c, 1, &ref, err);

    if (r == 0 && *ref.alias)
        r = cli_bad(err, "push makes a new version: write NAME or NAME:VERSION, and --alias %s",
                    ref.alias);
    if (r == 0 && a->alias && model_name_check("alias", a->alias, err) < 0)
        r = err->code = CLI_USAGE;
    if (r == 0)
        r = model_tags(&a->tags, &tags, err);
    return r < 0 ? r : push_publish(c, &ref, tags, err);
}

/* clang-format off */
const struct cli_verb verb_model_push = {
    .name = "push", .summary = "publish a new version of a model",
    .text = "Copies a file or a directory into the registry as a new version of model NAME. The "
            "format is\n"
            "recognised by content. A version appears whole or not at all, and never changes.\n\n"
            "Without a number, the version is the next free one.",
    CLI_OPTS(struct args,
      MODEL_REGISTRY_OPT,
      { "alias",      'a', CLI_TEXT, AT(alias),      NULL, "ALIAS",
        "let NAME@ALIAS name the new version" },
      { "tag",        't', CLI_LIST, AT(tags),       NULL, "KEY=VALUE",
        "add a tag; repeat for more" },
      { "warmup",     0,   CLI_TEXT, AT(warmup),     NULL, "PATH",
        "store requests to be made before the model is called ready" },
      { "if-changed", 0,   CLI_FLAG, AT(if_changed), NULL, NULL,
        "do nothing if the newest version has the same files" }),
    .operands = "PATH NAME[:VERSION]",
    .least = 2, .most = 2,
    .complete = CLI_FILES,
    CLI_EXAMPLES({ "ydl model push resnet.onnx resnet", "publish the next version of resnet" },
                 { "ydl model push saved/ digits --alias champion --tag data=2026-11",
                   "with an alias and a tag" }),
    .ask = "Which model? Try: ydl model push PATH NAME",
    MODEL_VERB(push_work),
};
/* clang-format on */
