/* cache_list_verb.c - `ydl cache list`: what is kept on the cluster. */
#include "cli/doc.h"
#include "cmd/cache/cache_models.h"
#include "cmd/cache/cache_stores.h"

#define HASH_SHOWN 12 /* digits, which no two of one user's files will share */

struct args {
    const char *staging;
    bool models;
};

#define AT(field) offsetof(struct args, field)

static int put_hash(const json_t *v, struct buf *out)
{
    return buf_printf(out, "%.*s", HASH_SHOWN, json_string_value(json_object_get(v, "hash")));
}

static int put_users(const json_t *v, struct buf *out)
{
    const json_t *users = json_object_get(v, "users");
    int r = json_array_size(users) ? 0 : buf_add_str(out, "-");

    for (size_t i = 0; r == 0 && i < json_array_size(users); i++)
        r = buf_printf(out, "%s%s", i ? " " : "", json_string_value(json_array_get(users, i)));
    return r;
}

/* clang-format off */
static const struct table_column columns[] = {
    { "NAME",      false, "{name}" },
    { "SIZE",      true,  "{size|size}" },
    { "LAST USED", false, "{used_ms|when}" },
    { "HASH",      false, .put = put_hash },
    { "USED BY",   false, .put = put_users },
};
/* clang-format on */

static int list_cached(struct store *s, struct err *err)
{
    AUTO_CACHE_ENTRIES all = { 0 };
    AUTO_JSON *list = NULL;
    int r = cache_list(s->cache, &s->alive, &all, err);

    if (r == 0)
        r = store_entries(&all, &list, err);
    if (r < 0)
        return r;
    return s->x->globals->json ? doc_print(err, "{s:O}", "entries", list)
                               : doc_table(list, columns, COUNT_OF(columns), err);
}

static int cache_list_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;

    return a->models ? cache_models_list(c, err) : store_run(c, err);
}

/* clang-format off */
const struct cli_verb verb_cache_list = {
    .name = "list", .summary = "list the files kept on the cluster",
    .run = cache_list_run, .work = CLI_WORK(store_fn, list_cached),
    .text = "Lists the files and archives uploaded for jobs, most recently used first, and the "
            "running applications that need them. With --models, the versions of models that "
            "deployments on this machine have fetched from HDFS.",
    CLI_OPTS(struct args,
        { "models", 0, CLI_FLAG, AT(models), NULL, NULL, CACHE_MODELS_HELP },
        { "staging", 0, CLI_TEXT, AT(staging), STORE_STAGING, "DIR", STORE_STAGING_HELP }),
    CLI_EXAMPLES({ "ydl cache list", "list the files, most recently used first" },
                 { "ydl cache list --json | jq '[.entries[].size] | add'",
                   "add up their sizes in bytes" }),
};
/* clang-format on */
