/* model_call.h - what the verbs of `ydl model` share: the registry, and facts as JSON. Fibers only,
 * but for the makers of JSON. */
#pragma once
#include "cli/progress.h"
#include "client/connect.h"
#include "model/aliases.h"
#include "model/models.h"

extern const struct cli_verb verb_model_alias, verb_model_export, verb_model_import,
    verb_model_list, verb_model_prune, verb_model_pull, verb_model_push, verb_model_rm,
    verb_model_show, verb_model_tag, verb_model_verify;

struct model_call {
    struct connection *x;
    struct fs_set *set;
    struct models r;
};

typedef int model_fn(struct model_call *c, struct err *err);

/* Arguments of a verb begin with this. */
struct model_where {
    const char *registry; /* NULL: the one of the configuration */
};
extern const struct cli_opt model_where_opts[]; /* of a verb that has no more */

/* Runs a verb's work with its registry. No cluster is asked for unless the registry, or a path, is
 * on one. */
int model_verb(struct cli *c, struct err *err);
#define MODEL_VERB(fn) .run = model_verb, .work = CLI_WORK(model_fn, fn)

/* The arguments of the running verb. */
static inline const void *model_args(const struct model_call *c)
{
    return c->x->cli->args;
}

#define MODEL_REGISTRY_OPT                                                                         \
    {                                                                                              \
        "registry", 0, CLI_TEXT, offsetof(struct model_where, registry), NULL, "DIR",              \
            "registry: a directory, or an hdfs:// name",                                           \
            .fallback = "model.registry of the configuration, or ~/.local/share/ydl/models"        \
    }

/* A reference on the command line; CLI_USAGE when it is none. */
int model_operand(const struct model_call *c, size_t i, struct model_ref *ret, struct err *err);

/* 1 when a failure is that the user may not read a model, which a list passes over with a note. */
bool model_denied(int r);
/* 1 when a manifest or a record cannot be understood: that hides no other version and no other
 * model. */
bool model_damaged(int r);

/* An object of KEY=VALUE words; CLI_USAGE for others. *ret is the caller's. */
int model_tags(const struct strs *words, json_t **ret, struct err *err);

/* ---- what is printed (model_facts.c) ---- */

/* {version, format, bytes, created_ms, created_by, aliases: […]}. The caller's. */
json_t *model_brief(const struct manifest *m, const struct alias_list *aliases);
/* "champion, canary" of a version, or "-". */
int model_alias_text(const struct alias_list *aliases, int64_t version, struct buf *ret);
/* "onnx opset 17", "tensorflow 2.13.1". */
int model_framework_text(const struct manifest *m, struct buf *ret);
/* Prints v, which is used up; NULL is -ENOMEM. */
int model_print_json(json_t *v, struct err *err);
