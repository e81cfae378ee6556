/* cache_list_verb.c - `ydl cache list`: what is kept on the cluster. */
#include "cli/table.h"
#include "cmd/cache/cache_stores.h"
#include "cmd/fs/fs_show.h"

#define HASH_SHOWN 12 /* digits, which no two of one user's files will share */

struct args {
    const char *staging;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct table_column columns[] = {
    { "NAME", false }, { "SIZE", true }, { "LAST USED", false }, { "HASH", false },
    { "USED BY", false },
};
/* clang-format on */

static int cache_list_verb_add_row(struct table *t, const struct cache_entry *e, struct err *err)
{
    char size[STR_SIZE_MAX], when[SHOW_TIME];
    AUTO_BUF users = { .max = MIB };

    for (size_t i = 0; i < e->users.n; i++)
        if (buf_printf(&users, "%s%s", i ? " " : "", e->users.v[i]) < 0)
            return err_oom(err);
    table_cell(t, "%s", e->name);
    table_cell(t, "%s", str_size(e->size, size));
    table_cell(t, "%s", show_time(e->used, when));
    table_cell(t, "%.*s", HASH_SHOWN, e->hash);
    table_cell(t, "%s", users.len && buf_text(&users) ? (const char *)users.data : "-");
    return 0;
}

static int cache_list_verb_print_text(const struct cache_entries *all, struct err *err)
{
    AUTO_TABLE t = { 0 };
    int r = 0;

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; r == 0 && i < all->n; i++)
        r = cache_list_verb_add_row(&t, &all->v[i], err);
    return r < 0 ? r : table_end(&t, err);
}

static int cache_list_verb_print_json(const struct cache_entries *all, struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_JSON *v = NULL;
    int r;

    for (size_t i = 0; list && i < all->n; i++)
        if (json_array_append_new(list, store_entry(&all->v[i])) < 0)
            return err_oom(err);
    r = json_make(&v, err, "{s:o}", "entries", take(list));
    return r < 0 ? r : json_print(stdout, v, err);
}

static int cache_list_verb_work(struct store *s, struct err *err)
{
    AUTO_CACHE_ENTRIES all = { 0 };
    int r = cache_list(s->cache, &s->alive, &all, err);

    if (r < 0)
        return r;
    return s->x->globals->json ? cache_list_verb_print_json(&all, err)
                               : cache_list_verb_print_text(&all, err);
}

/* clang-format off */
const struct cli_verb verb_cache_list = {
    .name = "list", .summary = "list the files kept on the cluster",
    STORE_VERB(cache_list_verb_work),
    .text = "Lists the files and archives uploaded for jobs, most recently used first, and the "
            "running applications that need them.",
    CLI_OPTS(struct args,
        { "staging", 0, CLI_TEXT, AT(staging), STORE_STAGING, "DIR", STORE_STAGING_HELP }),
    CLI_EXAMPLES({ "ydl cache list", "list the files, most recently used first" },
                 { "ydl cache list --json | jq '[.entries[].size] | add'",
                   "add up their sizes in bytes" }),
};
/* clang-format on */
