/* retention.c - decides version by version, with a reason for each; removing is withdraw.c. See
 * retention.h. */
#include "model/retention.h"
#include "base/array.h"
#include "base/path.h"
#include "loop/loop.h"
#include "model/layout.h"
#include "model/store.h"
#include "model/uses.h"
#include "model/withdraw.h"
#include "uploads/cache_name.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

void retention_done(struct retention *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].reason);
    }
    free(l->v);
    *l = (struct retention){ 0 };
}

/* `reason` is used up. */
static int retention_add(struct retention *l, const char *name, const struct retention_row *row,
                         char *reason, struct err *err)
{
    struct retention_row one = *row;

    one.name = strdup(name);
    one.reason = reason;
    if (one.name && one.reason && ARRAY_ADD(l->v, l->n, one) == 0)
        return 0;
    free(one.name);
    free(reason);
    return err_oom(err);
}

/* ---- versions ---- */

struct retaining {
    const struct models *r;
    const char *model;
    unsigned keep;
    bool dry;
    struct use_list uses;
    unsigned kept; /* newest ones so far */
    struct retention *ret;
};

static int retention_withdraw(struct retaining *t, const struct manifest *m,
                              struct retention_row *row, struct err *err)
{
    char *reason = str_printf("not among the newest %u, and not in use", t->keep);
    int x = t->dry ? 0 : model_withdraw(t->r, t->model, m->version, err);

    row->removed = true;
    if (x == -ENOENT) { /* somebody else has removed it since */
        free(reason);
        err_clear(err);
        return 0;
    }
    if (x == -EBUSY) { /* somebody has begun to use it since */
        free(reason);
        reason = strdup("in use now");
        row->removed = false;
        err_clear(err);
        x = 0;
    }
    if (x < 0) {
        free(reason);
        return x;
    }
    return retention_add(t->ret, t->model, row, reason, err);
}

static int retention_published(struct retaining *t, const struct manifest *m, struct err *err)
{
    struct retention_row row = { .version = m->version, .bytes = m->bytes };
    const struct use *u = uses_find(&t->uses, m->version);

    if (t->kept < t->keep) {
        t->kept++;
        return retention_add(t->ret, t->model, &row, str_printf("among the newest %u", t->keep),
                             err);
    }
    if (u)
        return retention_add(t->ret, t->model, &row,
                             str_printf("%s %s", u->deployment ? "deployment" : "alias", u->name),
                             err);
    return retention_withdraw(t, m, &row, err);
}

static int retention_rest(struct retaining *t, int64_t version, struct err *err)
{
    struct retention_row row = { .version = version, .removed = true };
    const char *why = "its removal was interrupted";
    int x = model_withdraw_rest(t->r, t->model, version, t->dry, err);

    if (x == -ENOENT) { /* whoever removes it is still at it */
        err_clear(err);
        return 0;
    }
    if (x == -EBUSY) {
        err_clear(err);
        row.removed = false;
        why = "its removal was interrupted, and it is in use";
        x = 1;
    }
    return x <= 0 ? x : retention_add(t->ret, t->model, &row, strdup(why), err);
}

static int retention_version(struct retaining *t, int64_t version, struct err *err)
{
    struct retention_row row = { .version = version };
    AUTO_MANIFEST m = { 0 };
    int x = models_manifest(t->r, t->model, version, &m, err);

    if (x == -EBADMSG || x == -EPROTONOSUPPORT) {
        err_clear(err);
        return retention_add(t->ret, t->model, &row, strdup("its manifest cannot be understood"),
                             err);
    }
    if (x < 0)
        return x;
    return x > 0 ? retention_published(t, &m, err) : retention_rest(t, version, err);
}

int retention_model(const struct models *r, const char *model, unsigned keep, bool dry,
                    struct retention *ret, struct err *err)
{
    struct retaining t = { .r = r, .model = model, .keep = keep, .dry = dry, .ret = ret };
    AUTO_VERSION_LIST all = { 0 };
    int x = models_versions(r, model, &all, err);

    if (x == 0)
        x = uses_of(r, model, &t.uses, err);
    for (size_t i = all.n; x == 0 && i > 0; i--)
        x = retention_version(&t, all.v[i - 1], err);
    use_list_done(&t.uses);
    return x;
}

/* ---- what was left behind ---- */

/* Did anything in a tree change since? A directory's own time says nothing of what is written
 * deeper inside. */
static int retention_changed(const struct models *r, const struct fs_entry *top, int64_t since,
                             struct err *err)
{
    AUTO_STRS dirs = { 0 };
    bool changed = top->mtime >= since;
    int x = top->type != FS_DIRECTORY ? 0 : strs_add(&dirs, top->path) < 0 ? err_oom(err) : 0;

    for (size_t i = 0; x == 0 && !changed && i < dirs.n; i++) {
        AUTO_FS_LIST *list = NULL;
        const struct fs_entry *e;

        x = fs_list_open(r->fs, dirs.v[i], &list, err);
        while (x == 0 && !changed && (x = fs_list_next(list, &e, err)) > 0) {
            changed = e->mtime >= since;
            x = e->type == FS_DIRECTORY && !model_store_is_link(r->fs, e->path) &&
                        strs_add(&dirs, e->path) < 0
                    ? err_oom(err)
                    : 0;
        }
    }
    return x < 0 ? x : changed;
}

/* *ret stays NULL when it stays.
 *
 * The name says who made it (cache_name.h). A process of this machine can be asked; of another
 * machine only time tells, and a copy of gigabytes may change nothing at the top for hours: so all
 * of the tree is looked at before it is called abandoned. */
static int retention_why(const struct models *r, const struct fs_entry *e, const char **ret,
                         struct err *err)
{
    enum cache_temp_maker maker = cache_temp_maker(e->name);
    int64_t since = loop_wall() - DAY_MS;
    int x = 0;

    if (maker == CACHE_TEMP_DEAD)
        *ret = "its writer has ended";
    else if (maker == CACHE_TEMP_FAR && e->mtime < since)
        x = model_store_is_link(r->fs, e->path) ? 0 : retention_changed(r, e, since, err);
    else
        return 0;
    if (x == 0 && maker == CACHE_TEMP_FAR)
        *ret = "its writer was silent for a day";
    return x < 0 ? x : 0;
}

/* Somebody else's are theirs to sweep, and what is gone was swept by them. */
static bool retention_passes(int x)
{
    return x == -EACCES || x == -EPERM || x == -ENOENT;
}

static int retention_sweep(const struct models *r, const struct fs_entry *e, bool dry,
                           struct retention *ret, struct err *err)
{
    struct retention_row row = { .removed = true };
    const char *why = NULL;
    AUTO_FREE char *name = strdup(e->name);
    struct fs_summary sum = { 0 };
    int x = name ? retention_why(r, e, &why, err) : err_oom(err);

    if (retention_passes(x)) {
        err_clear(err);
        return 0;
    }
    if (x < 0 || !why)
        return x;
    if (!model_store_is_link(r->fs, e->path) && fs_summary(r->fs, e->path, &sum, NULL) == 0)
        row.bytes = sum.length;
    if (!dry)
        x = model_store_remove(r, e->path, err);
    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    if (retention_passes(x)) {
        err_clear(err);
        row.removed = false;
        why = "it belongs to somebody else";
        x = 0;
    }
    return x < 0 ? x : retention_add(ret, name, &row, strdup(why), err);
}

int retention_staging(const struct models *r, bool dry, struct retention *ret, struct err *err)
{
    AUTO_FREE char *dir = path_join(r->root, LAYOUT_STAGING);
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int x = dir ? fs_list_open(r->fs, dir, &list, err) : err_oom(err);

    if (x == -ENOENT) {
        err_clear(err);
        return 0;
    }
    while (x == 0 && (x = fs_list_next(list, &e, err)) > 0)
        x = retention_sweep(r, e, dry, ret, err);
    return x;
}
