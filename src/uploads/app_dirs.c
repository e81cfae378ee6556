/* app_dirs.c - asks YARN about one application after the other, and stops asking at the first
 * sign that the answers will not come. See app_dirs.h. */
#include "uploads/app_dirs.h"
#include "base/array.h"
#include "base/log.h"
#include "base/path.h"
#include "hadoop/yarn/records.h"
#include "hadoop/yarn/rm_client.h"
#include "loop/loop.h"
#include "uploads/cache_private.h"

#include <string.h>

#define USES_MOST (4 * MIB)

/* ---- what an application needs ---- */

/* Replaced as a whole: prune reads either no list, which means that the submit is still under way,
 * or all of it. */
int cache_use(struct cache *c, const char *app, const struct cache_files *files, struct err *err)
{
    const struct fs_create how = { .mode = 0600, .overwrite = true };
    AUTO_FREE char *path = str_printf("%s/jobs/%s/uses", c->base, app);
    AUTO_BUF text = { .max = USES_MOST };
    int r = path ? 0 : err_oom(err);

    for (size_t i = 0; r == 0 && i < files->n; i++)
        if (files->v[i].key && buf_printf(&text, "%s\n", files->v[i].key) < 0)
            r = err_set(err, -E2BIG, "too many files");
    return r < 0 ? r : fs_replace(c->fs, path, &how, text.data, text.len, err);
}

/* ---- directories of applications ---- */

int app_dirs_ask_yarn(void *user, const char *app, struct err *err)
{
    AUTO_RPC Yarn__GetApplicationReportResponse *answer = NULL;
    struct yarn_app_id id;
    int r = yarn_app_id_parse(app, &id, err);

    if (r < 0)
        return r;
    r = yarn_report(user, id, &answer, err);
    if (r == -ENOENT) {
        err_clear(err);
        return APP_DIRS_UNKNOWN;
    }
    if (r < 0)
        return r;
    return yarn_app_state_final(answer->report->state) ? APP_DIRS_ENDED : APP_DIRS_LIVES;
}

/* The applications' directories in BASE/jobs; nothing when there is no such directory. */
struct job_dir {
    char *app, *path;
    int64_t since;
};
struct job_dirs {
    struct job_dir *v;
    size_t n;
};

static void job_dirs_done(struct job_dirs *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].app);
        free(l->v[i].path);
    }
    free(l->v);
}
static int push_dir(struct job_dirs *l, const struct fs_entry *e, struct err *err)
{
    struct job_dir *d;

    if (ARRAY_ADD(l->v, l->n, (struct job_dir){ strdup(e->name), strdup(e->path), e->mtime }) < 0)
        return err_oom(err);
    d = &l->v[l->n - 1];
    return d->app && d->path ? 0 : err_oom(err);
}

static int list_dirs(struct fs *fs, const char *base, struct job_dirs *ret, struct err *err)
{
    AUTO_FREE char *jobs = path_join(base, "jobs");
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    struct yarn_app_id id;
    int r = jobs ? fs_list_open(fs, jobs, &list, err) : err_oom(err);

    if (r < 0)
        return err_forgive(err, r, -ENOENT);
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        r = 0;
        if (e->type == FS_DIRECTORY && yarn_app_id_parse(e->name, &id, NULL) == 0)
            r = push_dir(ret, e, err);
    }
    return r;
}

/* 1 when its application has ended or will never be, 0 when not, or why that is not known.
 * Unknown to YARN means ended long ago, or not submitted yet: the age of the directory decides. */
static int is_over(const struct app_dirs_alive *alive, const struct job_dir *d, struct err *err)
{
    int state = alive->state(alive->user, d->app, err);

    if (state < 0)
        return state;
    return state == APP_DIRS_ENDED ||
           (state == APP_DIRS_UNKNOWN && loop_wall() - d->since > APP_DIRS_UNKNOWN_MS);
}

/* Whether asking for the next one makes sense. */
static bool app_dirs_hopeless(int r)
{
    return r == -ECANCELED || r == -ETIMEDOUT || r == -ECONNREFUSED || r == -EHOSTUNREACH ||
           r == -ENOMEM;
}

/* A directory that cannot be removed is left for the next sweep; nobody is told, as this is
 * housekeeping. */
int app_dirs_sweep(struct fs *fs, const char *base, const struct app_dirs_alive *alive, size_t *ret,
                   struct err *err)
{
    AUTO_DONE(job_dirs_done) struct job_dirs dirs = { 0 };
    size_t swept = 0;
    int r = list_dirs(fs, base, &dirs, err);

    for (size_t i = 0; r >= 0 && i < dirs.n; i++) {
        r = is_over(alive, &dirs.v[i], err);
        if (r > 0)
            r = fs_delete(fs, dirs.v[i].path, true, err) < 0 ? 0 : (int)(swept++, 1);
        if (r > 0)
            trace(LOG_HDFS, "removed '%s': its application has ended", dirs.v[i].path);
        if (r < 0 && !app_dirs_hopeless(r)) {
            err_clear(err);
            r = 0;
        }
    }
    if (ret)
        *ret = swept;
    return r < 0 ? r : 0;
}

/* ---- those that live ---- */

void app_dirs_done(struct app_dirs *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].app);
        strs_done(&l->v[i].uses);
    }
    free(l->v);
    *l = (struct app_dirs){ 0 };
}

/* Without the file the submit is still under way, and `settled` stays false. It appears whole or
 * not at all (cache_use()), so an empty one means that the job uses nothing of the cache. */
static int read_uses(struct fs *fs, const char *dir, struct app_dir *j, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, "uses");
    AUTO_FS_READER *reader = NULL;
    AUTO_BUF text = { .max = USES_MOST };
    const void *p;
    ssize_t n;
    int r = path ? fs_open(fs, path, &reader, err) : err_oom(err);

    if (r < 0)
        return err_forgive(err, r, -ENOENT);
    while ((n = fs_read_next(reader, &p, 0, err)) > 0)
        if (buf_add(&text, p, (size_t)n) < 0)
            return err_set(err, -E2BIG, "'%s' is too large", path);
    if (n < 0)
        return (int)n;
    j->settled = true;
    if (text.len == 0)
        return 0;
    return buf_text(&text) && strs_split(&j->uses, (const char *)text.data, "\n") == 0
               ? 0
               : err_oom(err);
}

static int push_job(struct fs *fs, struct app_dirs *l, struct job_dir *d, struct err *err)
{
    if (ARRAY_ADD(l->v, l->n, (struct app_dir){ .app = take(d->app), .since = d->since }) < 0)
        return err_oom(err);
    return read_uses(fs, d->path, &l->v[l->n - 1], err);
}

int app_dirs(struct fs *fs, const char *base, const struct app_dirs_alive *alive,
             struct app_dirs *ret, struct err *err)
{
    AUTO_DONE(job_dirs_done) struct job_dirs dirs = { 0 };
    int r = list_dirs(fs, base, &dirs, err);

    for (size_t i = 0; r == 0 && i < dirs.n; i++) {
        r = is_over(alive, &dirs.v[i], err);
        if (r == 0)
            r = push_job(fs, ret, &dirs.v[i], err);
        else if (r > 0)
            r = 0;
    }
    return r;
}
