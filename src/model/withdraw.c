/* withdraw.c - see withdraw.h. Who sets an alias looks whether the version is there after the alias
 * is (aliases.c), we look for aliases after the version is hidden: whichever comes second, one of
 * the two notices and takes its step back. */
#include "model/withdraw.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "model/layout.h"
#include "model/store.h"
#include "model/uses.h"

#include <stdio.h>
#include <string.h>

#define HINT_PATH 160 /* longer ones would be cut off */

static int withdraw_check(const struct models *r, const char *model, int64_t version,
                          struct err *err)
{
    AUTO_USE_LIST uses = { 0 };
    const struct use *u;
    int x = uses_of(r, model, &uses, err);

    if (x < 0)
        return x;
    u = uses_find(&uses, version);
    if (!u)
        return 0;
    if (u->deployment) {
        err_set(err, -EBUSY, "%s:%lld is used by the deployment '%.100s'", model,
                (long long)version, u->name);
        if (strlen(u->path) < HINT_PATH)
            err_hint(err, "end it with 'ydl serve stop'; if it does not run any more: ydl fs rm %s",
                     u->path);
        else
            err_hint(err, "end it with 'ydl serve stop'; if it does not run any more, delete its "
                          "file in the model's directory " LAYOUT_DEPLOYMENTS);
    } else {
        err_set(err, -EBUSY, "%s:%lld is named by the alias '%s'", model, (long long)version,
                u->name);
        err_hint(err,
                 "move the alias first with 'ydl model alias %s@%s VERSION', or remove it with "
                 "--remove",
                 model, u->name);
    }
    return -EBUSY;
}

static int withdraw_dir(const struct models *r, const char *model, int64_t version, char **ret,
                        struct err *err)
{
    return models_path(r, model, ret, err, LAYOUT_VERSIONS "/%lld", (long long)version);
}

/* Hides it; `back`: takes that back.
 *
 * One rename within the version's directory: a version without MANIFEST.json is not published, and
 * what it was can still be read in REMOVED.json. The directory stays for ever, so that its number
 * is not used again. */
static int withdraw_hide(const struct models *r, const char *dir, bool back, struct err *err)
{
    AUTO_FREE char *manifest = path_join(dir, LAYOUT_MANIFEST);
    AUTO_FREE char *removed = path_join(dir, LAYOUT_REMOVED);
    int x = manifest && removed ? 0 : err_oom(err);

    if (x == 0)
        x = fs_rename(r->fs, back ? removed : manifest, back ? manifest : removed, false, err);
    return x < 0 ? x : model_store_sync_dir(r->fs, dir, err);
}

static int withdraw_files(const struct models *r, const char *model, int64_t version,
                          const char *dir, struct err *err)
{
    static const char *const names[] = { LAYOUT_MODEL, LAYOUT_WARMUP };
    AUTO_FREE char *tags = NULL;
    int x = models_path(r, model, &tags, err, LAYOUT_TAGS "/%lld", (long long)version);

    for (size_t i = 0; x == 0 && i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = path_join(dir, names[i]);

        x = path ? model_store_remove(r, path, err) : err_oom(err);
    }
    return x < 0 ? x : model_store_remove(r, tags, err);
}

/* The order of the three steps is what keeps a version in use from losing its files:
 *
 *     hide          whoever begins to use it from here on does not find it
 *     look again    whoever began before has said so by now: then the version comes back
 *     remove        files go only behind the second look
 *
 * One that is killed between the steps leaves REMOVED.json and files: model_withdraw_rest(). */
static int withdraw_all(const struct models *r, const char *model, int64_t version, const char *dir,
                        struct err *err)
{
    int x = fs_chmod(r->fs, dir, 0755, err);

    if (x == 0)
        x = withdraw_hide(r, dir, false, err);
    if (x < 0)
        return x;
    x = withdraw_check(r, model, version, err);
    if (x < 0)
        (void)withdraw_hide(r, dir, true, NULL);
    else
        x = withdraw_files(r, model, version, dir, err);
    (void)fs_chmod(r->fs, dir, 0555, NULL);
    return x;
}

int model_withdraw(const struct models *r, const char *model, int64_t version, struct err *err)
{
    struct model_ref ref = { .version = version };
    AUTO_FREE char *dir = NULL;
    AUTO_MANIFEST m = { 0 };
    int x;

    snprintf(ref.name, sizeof(ref.name), "%s", model);
    x = models_find(r, &ref, &m, err);
    if (x == -EBADMSG) { /* a damaged one can go as well */
        err_clear(err);
        x = 0;
    }
    if (x == 0)
        x = withdraw_check(r, model, version, err);
    if (x == 0)
        x = withdraw_dir(r, model, version, &dir, err);
    if (x < 0)
        return x;
    fiber_shield(r->loop, true);
    x = withdraw_all(r, model, version, dir, err);
    fiber_shield(r->loop, false);
    return x < 0 ? err_wrap(err, x, "remove %s:%lld", model, (long long)version) : 0;
}

int model_withdraw_rest(const struct models *r, const char *model, int64_t version, bool dry,
                        struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *removed = NULL;
    AUTO_FREE char *files = NULL;
    AUTO_FS_ENTRY e = { 0 };
    int x = withdraw_dir(r, model, version, &dir, err);

    if (x < 0)
        return x;
    removed = path_join(dir, LAYOUT_REMOVED);
    files = path_join(dir, LAYOUT_MODEL);
    x = removed && files ? fs_exists(r->fs, removed, &e, err) : err_oom(err);
    fs_entry_done(&e);
    if (x > 0)
        x = fs_exists(r->fs, files, &e, err);
    if (x <= 0)
        return x;
    x = withdraw_check(r, model, version, err);
    if (x < 0 || dry)
        return x < 0 ? x : 1;
    x = fs_chmod(r->fs, dir, 0755, err);
    if (x == 0)
        x = withdraw_files(r, model, version, dir, err);
    (void)fs_chmod(r->fs, dir, 0555, NULL);
    return x < 0 ? x : 1;
}
