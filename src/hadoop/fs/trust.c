/* trust.c - whose a directory of the cluster is, and who else can write to it; see fs.h. */
#include "base/path.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "hadoop/fs/private.h"

#include <string.h>
#include <sys/stat.h>

#define OTHERS_WRITE 022
#define EVERYBODY_WRITES 0002
#define STICKY 01000

/* As whom we are known there. */
static int our_name(struct fs *fs, const char **ret, struct err *err)
{
    int r = session_find_user(fs->set->session, err);

    *ret = session_user(fs->set->session);
    return r;
}

int fs_is_ours(struct fs *fs, const struct fs_entry *e, struct err *err)
{
    const char *us = NULL;
    struct stat st;
    int r;

    if (fs_is_local(fs))
        return lstat(e->path, &st) == 0 && st.st_uid == geteuid() && !(e->mode & OTHERS_WRITE);
    r = our_name(fs, &us, err);
    return r < 0 ? r : str_eq(e->owner, us) && !(e->mode & OTHERS_WRITE);
}

/* A directory of a router's mount table, which is in no NameNode and has no number there, says 0777
 * whatever it is; only its administrator can replace what is in it. */
bool trust_everybody_writes(const struct fs_entry *e)
{
    return e->file_id != 0 && (e->mode & EVERYBODY_WRITES) && !(e->mode & STICKY);
}

/* Directories above may be anybody's, but not everybody may be able to exchange what is in them. */
static int trust_above_is_safe(struct fs *fs, const char *dir, struct err *err)
{
    AUTO_FREE char *path = path_dir(dir);
    int r = path ? 0 : err_oom(err);

    while (r == 0) {
        AUTO_FS_ENTRY e = { 0 };
        char *up;

        r = fs_stat(fs, path, &e, err);
        if (r == 0 && trust_everybody_writes(&e))
            r = err_set(err, -EPERM,
                        "anyone can replace '%s', because everybody can write to "
                        "'%s'",
                        dir, path);
        if (r < 0 || str_eq(path, "/") || str_eq(path, "."))
            break;
        up = path_dir(path);
        free(path);
        path = up;
        r = path ? 0 : err_oom(err);
    }
    return r;
}

static int check_owner_and_mode(struct fs *fs, const struct fs_entry *e, struct err *err)
{
    const char *us = NULL;
    int r = our_name(fs, &us, err);

    if (r < 0)
        return r;
    if (e->type != FS_DIRECTORY)
        return err_set(err, -ENOTDIR, "'%s' is not a directory", e->path);
    if (!str_eq(e->owner, us))
        return err_set(err, -EPERM, "'%s' belongs to '%s', and you are '%s'", e->path, e->owner,
                       us);
    if (e->mode & OTHERS_WRITE) {
        err_set(err, -EPERM, "others can write to '%s' (mode %o)", e->path, e->mode & 01777);
        err_hint(err, "'ydl fs chmod go-w %s' fixes that", e->path);
        return -EPERM;
    }
    return 0;
}

int fs_trusted(struct fs *fs, const char *dir, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r;

    if (fs_is_local(fs))
        return path_trusted(dir, err);
    r = fs_stat(fs, dir, &e, err);
    if (r == 0)
        r = check_owner_and_mode(fs, &e, err);
    return r < 0 ? r : trust_above_is_safe(fs, dir, err);
}
