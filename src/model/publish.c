/* publish.c - see publish.h. Two who publish at the same time both find the next number free; the
 * rename, which replaces nothing, gives it to one, and the other takes the one after. */
#include "model/publish.h"
#include "base/path.h"
#include "cli/progress.h"
#include "loop/fiber.h"
#include "model/git_head.h"
#include "model/layout.h"
#include "model/publish_same.h"
#include "model/store.h"

#include <stdio.h>
#include <string.h>

#define TRIES 1000 /* of finding a free number */

struct publishing {
    const struct models *r;
    const struct model_publish *what;
    const struct model_files *files;
    char *staging, *id; /* a directory of our own, and its name, which says whose it is */
    char *dir;          /* in it: what becomes the version */
    struct format_facts facts;
    struct model_store_rows rows;
    char *by, *git;
    int64_t version; /* that was reached */
    struct model_published *ret;
};

void model_published_done(struct model_published *p)
{
    manifest_done(&p->manifest);
}

/* ---- staging ---- */

static int publish_by_path(const void *a, const void *b)
{
    return strcmp(((const struct manifest_file *)a)->path, ((const struct manifest_file *)b)->path);
}

static int publish_copy(struct publishing *p, struct progress *progress, struct err *err)
{
    struct model_store_copy c = { .loop = p->r->loop,
                                  .to = p->r->fs,
                                  .dir = p->dir,
                                  .prefix = LAYOUT_MODEL,
                                  .progress = progress };
    AUTO_MODEL_FILES warmup = { 0 };
    int r = model_store_copy(&c, p->files, &p->rows, err);

    if (r == 0 && p->what->warmup) {
        r = model_files_find(p->r->set, p->what->warmup, &warmup, err);
        c.prefix = LAYOUT_WARMUP;
        if (r == 0)
            r = model_store_copy(&c, &warmup, &p->rows, err);
    }
    if (r == 0 && p->rows.n > 1)
        qsort(p->rows.v, p->rows.n, sizeof(p->rows.v[0]), publish_by_path);
    return r;
}

static int publish_stage(struct publishing *p, struct err *err)
{
    AUTO_PROGRESS *progress = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int r = progress_begin(p->what->name, p->files->bytes, p->what->quiet, &progress, err);

    if (r == 0)
        r = fs_mkdirs(p->r->fs, p->staging, 0700, false, err);
    if (r == 0)
        r = fs_mkdirs(p->r->fs, p->dir, 0755, false, err);
    if (r == 0)
        r = fs_stat(p->r->fs, p->staging, &e, err);
    if (r == 0 && !(p->by = strdup(e.owner)))
        r = err_oom(err);
    if (r == 0)
        r = publish_copy(p, progress, err);
    return r < 0 ? r : model_store_seal(p->r->fs, p->dir, err);
}

/* ---- the manifest ---- */

static int publish_manifest(struct publishing *p, struct err *err)
{
    const char *job = p->what->job ? p->what->job : getenv("YDL_JOB");
    struct manifest_facts f = {
        .id = p->id,
        .name = p->what->name,
        .version = p->version,
        .format = p->facts.format,
        .entry = p->facts.entry,
        .framework = p->facts.framework,
        .signatures = p->facts.signatures,
        .created_ms = loop_wall(),
        .created_by = p->by,
        .job = job && *job ? job : NULL,
        .output = p->what->output,
        .git = p->what->commit ? p->what->commit : p->git,
        .tags = p->what->tags,
        .files = p->rows.v,
        .n = p->rows.n,
    };
    AUTO_FREE char *path = path_join(p->dir, LAYOUT_MANIFEST);
    AUTO_FREE char *text = NULL;
    AUTO_MANIFEST m = { 0 };
    int r = path ? manifest_text(&f, &text, err) : err_oom(err);

    if (r == 0) /* what we could not read back is not published */
        r = manifest_parse(path, text, strlen(text), &m, err);
    if (r == 0)
        r = model_store_put(p->r, path, text, err);
    if (r == 0)
        r = model_store_sync_dir(p->r->fs, p->dir, err);
    if (r < 0)
        return r;
    manifest_done(&p->ret->manifest);
    p->ret->manifest = m;
    m = (struct manifest){ 0 };
    return 0;
}

/* ---- becoming visible ---- */

/* After a lost answer the rename may have been ours all the same.
 *
 * A NameNode that carried the rename out and could not say so gets it a second time, and finds the
 * destination there: only the id in the manifest tells our own version from somebody else's. */
static bool publish_is_ours(const struct publishing *p)
{
    AUTO_MANIFEST m = { 0 };

    return models_manifest(p->r, p->what->name, p->version, &m, NULL) > 0 && str_eq(m.id, p->id);
}

/* Nobody is to see the files of a private model while they lie elsewhere, so they lie in a
 * directory that only we may enter. They leave it with the mode that readers need, but for the
 * right to write: on a local disk only whoever may write to a directory can move it. */
static int publish_rename(const struct publishing *p, struct err *err)
{
    AUTO_FREE char *to = NULL;
    AUTO_FREE char *dir = NULL;
    struct fs *fs = p->r->fs;
    int r = models_path(p->r, p->what->name, &dir, err, LAYOUT_VERSIONS);

    if (r == 0)
        r = models_path(p->r, p->what->name, &to, err, LAYOUT_VERSIONS "/%lld",
                        (long long)p->version);
    if (r == 0)
        r = fs_rename(fs, p->dir, to, false, err);
    if (r < 0 && publish_is_ours(p)) {
        err_clear(err);
        r = 0;
    }
    if (r == -ENOTEMPTY)
        r = -EEXIST;
    if (r < 0)
        return err_wrap(err, r, "publish %s:%lld", p->what->name, (long long)p->version);
    (void)fs_chmod(fs, to, 0555, NULL); /* published it is already */
    return model_store_sync_dir(fs, dir, err);
}

static int publish_taken(const struct publishing *p, struct err *err)
{
    long long v = (long long)p->version;

    if (models_removed(p->r, p->what->name, p->version, NULL) > 0)
        err_set(err, -EEXIST, "%s:%lld was removed, and its number is not used again",
                p->what->name, v);
    else
        err_set(err, -EEXIST, "%s:%lld exists already, and versions never change", p->what->name,
                v);
    err_hint(err, "'ydl model push PATH %s' takes the next number", p->what->name);
    return -EEXIST;
}

static int publish_next(struct publishing *p, struct err *err)
{
    AUTO_VERSION_LIST all = { 0 };
    int r = models_versions(p->r, p->what->name, &all, err);

    if (r < 0)
        return r;
    p->version = all.n ? all.v[all.n - 1] + 1 : 1;
    if (p->version > MODEL_VERSION_MOST)
        return err_set(err, -E2BIG, "'%s' has no version numbers left", p->what->name);
    return 0;
}

/* The number stands in the manifest: for another one that is written anew, and the files stay as
 * they are. Somebody who is always faster is given up on after TRIES. */
static int publish_appear(struct publishing *p, struct err *err)
{
    AUTO_FREE char *manifest = path_join(p->dir, LAYOUT_MANIFEST);
    int r = manifest ? -EEXIST : err_oom(err);

    for (int tries = 0; r == -EEXIST && tries < TRIES; tries++) {
        p->version = p->what->version;
        r = p->what->version ? 0 : publish_next(p, err);
        if (r == 0)
            r = publish_manifest(p, err);
        if (r == 0)
            r = publish_rename(p, err);
        if (r == -EEXIST && p->what->version)
            return publish_taken(p, err);
        if (r == -EEXIST) {
            int x = fs_delete(p->r->fs, manifest, false, err);

            if (x < 0)
                return x;
            err_clear(err);
        }
        if (r == -EEXIST && fiber_cancelled(p->r->loop))
            return err_set(err, -ECANCELED, "interrupted");
    }
    return r;
}

/* Is the newest version, or the one that was asked for, the same by now? Somebody may have
 * published the same files while ours were copied. */
static int publish_unchanged(struct publishing *p, struct err *err)
{
    struct model_ref ref = { .version = p->what->version };
    char tree[SHA256_TEXT];
    int r = manifest_tree(p->rows.v, p->rows.n, tree, err);

    snprintf(ref.name, sizeof(ref.name), "%s", p->what->name);
    if (r == 0)
        r = models_find(p->r, &ref, &p->ret->manifest, err);
    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    p->ret->unchanged = r == 0 && str_eq(tree, p->ret->manifest.tree);
    return r;
}

/* ---- all of it ---- */

/* Nothing is to be written, and nothing is, when the same files are there. */
static int publish_first(const struct publishing *p, struct err *err)
{
    int r = p->what->if_changed ? publish_same(p->r, p->what, p->files, &p->ret->manifest, err) : 0;

    p->ret->unchanged = r > 0;
    return r < 0 ? r : 0;
}

/* Said before gigabytes are copied for nothing; the rename has the last word. */
static int publish_early(const struct publishing *p, struct err *err)
{
    AUTO_FREE char *to = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int r;

    if (!p->version || p->what->if_changed)
        return 0;
    r = models_path(p->r, p->what->name, &to, err, LAYOUT_VERSIONS "/%lld", (long long)p->version);
    if (r == 0)
        r = fs_exists(p->r->fs, to, &e, err);
    return r > 0 ? publish_taken(p, err) : r;
}

/* The directories that the version will be in. */
static int publish_prepare(struct publishing *p, struct err *err)
{
    AUTO_FREE char *model = NULL;
    AUTO_FREE char *versions = NULL;
    int r = models_path(p->r, p->what->name, &model, err, "%s", "");

    if (r == 0)
        r = models_path(p->r, p->what->name, &versions, err, LAYOUT_VERSIONS);
    if (r == 0)
        r = model_store_begin(p->r, err);
    if (r == 0)
        r = model_store_mkdir(p->r, model, err);
    if (r == 0)
        r = model_store_mkdir(p->r, versions, err);
    if (r == 0)
        r = model_store_staging(p->r, &p->staging, err);
    if (r == 0 && (!(p->id = strdup(str_behind(p->staging, '/'))) ||
                   !(p->dir = path_join(p->staging, "version"))))
        r = err_oom(err);
    return r;
}

/*     .staging/WRITER        mode 0700, named after us: prune knows who to ask whether we live
 *     .staging/WRITER/version/model/…    copied and hashed, then read-only and flushed
 *     .staging/WRITER/version/MANIFEST.json    last, with the number that is free now
 *     NAME/versions/N        by one rename: from here on it is published
 *
 * Who is killed before the rename leaves a directory below .staging and nothing else; after it
 * there is nothing left to do but to take the right to write away. */
static int publish_work(struct publishing *p, struct err *err)
{
    int r = publish_stage(p, err);

    if (r == 0 && p->what->if_changed)
        r = publish_unchanged(p, err);
    if (r < 0 || p->ret->unchanged)
        return r;
    if (fiber_cancelled(p->r->loop))
        return err_set(err, -ECANCELED, "interrupted");
    fiber_shield(p->r->loop, true); /* a call that is cut off could still be carried out */
    r = publish_appear(p, err);
    fiber_shield(p->r->loop, false);
    return r;
}

static void publish_done(struct publishing *p)
{
    if (p->staging)
        (void)model_store_remove(p->r, p->staging, NULL);
    free(p->staging);
    free(p->id);
    free(p->dir);
    free(p->by);
    free(p->git);
    format_facts_done(&p->facts);
    model_store_rows_done(&p->rows);
}

int model_publish_files(const struct models *r, const struct model_publish *what,
                        const struct model_files *files, struct model_published *ret,
                        struct err *err)
{
    struct publishing p = {
        .r = r, .what = what, .files = files, .version = what->version, .ret = ret
    };
    int x = model_name_check("model", what->name, err);

    *ret = (struct model_published){ 0 };
    if (x == 0)
        x = publish_first(&p, err);
    if (x < 0 || ret->unchanged) {
        publish_done(&p);
        return x;
    }
    if (x == 0)
        x = model_files_format(files, &p.facts, err);
    if (x == 0 && fs_is_local(files->fs) && !what->commit)
        x = git_head(files->root, &p.git, err);
    if (x == 0)
        x = publish_early(&p, err);
    if (x == 0)
        x = publish_prepare(&p, err);
    if (x == 0)
        x = publish_work(&p, err);
    publish_done(&p);
    if (x < 0)
        model_published_done(ret);
    return x;
}

int model_publish(const struct models *r, const struct model_publish *what,
                  struct model_published *ret, struct err *err)
{
    AUTO_MODEL_FILES files = { 0 };
    int x = model_files_find(r->set, what->path, &files, err);

    return x < 0 ? x : model_publish_files(r, what, &files, ret, err);
}
