/* cache_prune_verb.c - `ydl cache prune`: what nobody needs any more. */
#include "cli/doc.h"
#include "cmd/cache/cache_models.h"
#include "cmd/cache/cache_stores.h"

#include <time.h>

struct args {
    const char *staging;
    int64_t older;
    bool all, dry_run, models;
};

#define AT(field) offsetof(struct args, field)

static int64_t prune_before(const struct args *a)
{
    return a->all ? INT64_MAX : (int64_t)time(NULL) * 1000 - a->older;
}

static int print_pruned_json(const struct cache_entries *gone, uint64_t bytes, size_t jobs,
                             bool dry, struct err *err)
{
    json_t *list = NULL;
    int r = store_entries(gone, &list, err);

    return r < 0 ? r
                 : doc_print(err, "{s:o, s:I, s:I, s:b}", "removed", list, "bytes",
                             (json_int_t)bytes, "jobs", (json_int_t)jobs, "dry_run", dry);
}

static int print_pruned_text(const struct cache_entries *gone, uint64_t bytes, size_t jobs,
                             bool dry, struct err *err)
{
    char size[STR_SIZE_MAX], name[256];

    for (size_t i = 0; i < gone->n; i++) {
        str_clean(name, sizeof(name), gone->v[i].name);
        printf("%s %s (%s)\n", dry ? "would remove" : "removed", name,
               str_size(gone->v[i].size, size));
    }
    printf("%zu file%s, %s%s\n", gone->n, gone->n == 1 ? "" : "s", str_size(bytes, size),
           dry ? " could go" : "");
    if (jobs)
        printf("%zu director%s of jobs that have ended\n", jobs, jobs == 1 ? "y" : "ies");
    return fflush(stdout) < 0 || ferror(stdout) ? err_sys(err, "write the output") : 0;
}

static int prune_cache(struct store *s, struct err *err)
{
    const struct args *a = store_args(s);
    AUTO_CACHE_ENTRIES gone = { 0 };
    uint64_t bytes = 0;
    size_t jobs = 0;
    int r = a->dry_run ? 0 : app_dirs_sweep(s->fs, s->base, &s->alive, &jobs, err);

    if (r == 0)
        r = cache_prune(s->cache, &s->alive, prune_before(a), a->dry_run, &gone, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < gone.n; i++)
        bytes += gone.v[i].size;
    return s->x->globals->json ? print_pruned_json(&gone, bytes, jobs, a->dry_run, err)
                               : print_pruned_text(&gone, bytes, jobs, a->dry_run, err);
}

static int cache_prune_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    const struct node_cache_prune how = { .before = prune_before(a), .dry = a->dry_run };

    return a->models ? cache_models_prune(c, &how, err) : store_run(c, err);
}

/* clang-format off */
const struct cli_verb verb_cache_prune = {
    .name = "prune", .summary = "remove unused files from the cluster",
    .run = cache_prune_run, .work = CLI_WORK(store_fn, prune_cache),
    .text = "Removes files and archives that were uploaded for jobs and not used for a while, and "
            "what ended applications left in the staging directory. Files that a running "
            "application needs are kept, even with --all, and so are those that a submission in "
            "progress may rely on. With --models, versions of models on this machine; those that are "
            "served now are kept.",
    CLI_OPTS(struct args,
        { "older", 0, CLI_MS, AT(older), "30d", "TIME",
          "remove files that were not used for TIME" },
        { "all", 'a', CLI_FLAG, AT(all), NULL, NULL,
          "remove all files that no running application needs" },
        { "models", 0, CLI_FLAG, AT(models), NULL, NULL, CACHE_MODELS_HELP },
        { "dry-run", 'n', CLI_FLAG, AT(dry_run), NULL, NULL, "only print what would be removed" },
        { "staging", 0, CLI_TEXT, AT(staging), STORE_STAGING, "DIR", STORE_STAGING_HELP }),
    CLI_EXAMPLES({ "ydl cache prune", "remove files that were not used for 30 days" },
                 { "ydl cache prune --older 7d --dry-run", "print what was not used for a week" },
                 { "ydl cache prune --models --all",
                   "remove all models on this machine that are not served now" },
                 { "ydl cache prune --all",
                   "remove everything; the next job uploads its files again" }),
};
/* clang-format on */
