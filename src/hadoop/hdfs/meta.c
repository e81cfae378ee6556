/* meta.c - names and attributes: the NameNode's calls that move no data. See hdfs.h. */
#include "base/str.h"
#include "hadoop/hdfs/file_status.h"
#include "hadoop/hdfs/private.h"

#include <string.h>

#define PART_MAX 255
#define RECOVER_FIRST_MS 20
#define RECOVER_PAUSE_MS 1000

/* One part of a path; returns where the next begins, or NULL with the reason in *why. 255 bytes is
 * dfs.namenode.fs-limits.max-component-length. A name that is not UTF-8 would arrive as another
 * name, because the NameNode reads it as a Java string. */
static const char *check_part(const char *p, const char **why)
{
    size_t n = strcspn(p, "/"), at = 0;

    *why = n > PART_MAX ? "a part of it is longer than 255 bytes" : NULL;
    while (!*why && at < n) {
        size_t step = (unsigned char)p[at] < 0x80 ? 1 : str_utf8_len(p + at);

        if (step == 0 && (p[at] & 0xff) == 0xc2 && (p[at + 1] & 0xc0) == 0x80)
            step = 2; /* control characters from 0x80 on are legal in names */
        if (step == 0)
            *why = "it is not UTF-8";
        else if (p[at] == ':')
            *why = "HDFS allows no colon in names";
        at += step;
    }
    return *why ? NULL : p[n] ? p + n + 1 : p + n;
}

int hdfs_check_path(const char *path, struct err *err)
{
    const char *why = "it does not begin with a slash", *p = path;
    char shown[300];

    if (*p++ == '/') {
        while (p && *p)
            p = check_part(p, &why);
        if (p)
            return 0;
    }
    str_clean(shown, sizeof(shown), path);
    return err_set(err, -EINVAL, "'%s' cannot be a path in HDFS: %s", shown, why);
}

/* A file that is not there is an answer without a status, not an exception. */
int hdfs_stat(struct hdfs *fs, const char *path, struct fs_entry *ret, struct err *err)
{
    Hdfs__GetFileInfoRequest request = HDFS__GET_FILE_INFO_REQUEST__INIT;
    AUTO_RPC Hdfs__GetFileInfoResponse *answer = NULL;
    int r;

    request.src = path;
    r = hdfs_call(fs, NN_GET_FILE_INFO, path, &request, &answer, err);
    if (r < 0)
        return r;
    if (!answer->status)
        return 0;
    r = status_entry(answer->status, path, true, ret);
    return r < 0 ? err_code(err, r, "look at '%s'", path) : 1;
}

/* Of the two modes the NameNode takes the unmasked one where the directory above has a default ACL,
 * as in create.c. */
static int mkdirs(struct hdfs *fs, const char *path, uint32_t mode, bool parents, struct err *err)
{
    Hdfs__MkdirsRequest request = HDFS__MKDIRS_REQUEST__INIT;
    AUTO_RPC Hdfs__MkdirsResponse *answer = NULL;
    Hdfs__Permission masked = HDFS__PERMISSION__INIT, unmasked = HDFS__PERMISSION__INIT;
    int r;

    masked.perm = hdfs_mode(fs, mode, 0777);
    unmasked.perm = mode == FS_MODE_DEFAULT ? 0777 : masked.perm;
    request.src = path;
    request.masked = &masked;
    request.unmasked = &unmasked;
    request.create_parent = parents;
    r = hdfs_call(fs, NN_MKDIRS, path, &request, &answer, err);
    if (r < 0)
        return r;
    if (!answer->ok)
        return err_set(err, -EIO, "make directory '%s': the NameNode did not", path);
    return 0;
}

/* The parent directories, which get another mode than the last one. */
static int hdfs_make_parents(struct hdfs *fs, const char *path, struct err *err)
{
    size_t n = (size_t)(strrchr(path, '/') - path);
    AUTO_FREE char *dir = strndup(path, n);

    if (!dir)
        return err_oom(err);
    return n > 0 ? mkdirs(fs, dir, FS_MODE_DEFAULT, true, err) : 0;
}

int hdfs_mkdirs(struct hdfs *fs, const char *path, uint32_t mode, bool parents, struct err *err)
{
    AUTO_FS_ENTRY there = { 0 };
    int r = hdfs_check_path(path, err);

    if (r == 0 && !parents) {
        /* The NameNode is content with a directory that exists; we were asked for a new one. */
        r = hdfs_stat(fs, path, &there, err);
        if (r > 0)
            return err_set(err, -EEXIST, "make directory '%s': it exists already", path);
    }
    if (r == 0 && parents && mode != FS_MODE_DEFAULT)
        r = hdfs_make_parents(fs, path, err);
    return r < 0 ? r : mkdirs(fs, path, mode, parents, err);
}

int hdfs_delete(struct hdfs *fs, const char *path, bool recursive, struct err *err)
{
    Hdfs__DeleteRequest request = HDFS__DELETE_REQUEST__INIT;
    AUTO_RPC Hdfs__DeleteResponse *answer = NULL;
    int r;

    if (str_eq(path, "/"))
        return err_set(err, -EBUSY, "delete '/': the root is never deleted");
    request.src = path;
    request.recursive = recursive;
    r = hdfs_call(fs, NN_DELETE, path, &request, &answer, err);
    if (r < 0)
        return r;
    if (!answer->deleted)
        return err_set(err, -ENOENT, "delete '%s': no such file or directory", path);
    return 0;
}

int hdfs_rename(struct hdfs *fs, const char *from, const char *to, bool overwrite, struct err *err)
{
    Hdfs__Rename2Request request = HDFS__RENAME2_REQUEST__INIT;
    AUTO_RPC Hdfs__Rename2Response *answer = NULL;
    int r = hdfs_check_path(from, err);

    if (r == 0)
        r = hdfs_check_path(to, err);
    if (r < 0)
        return r;
    request.src = from;
    request.dst = to;
    request.overwrite = overwrite;
    r = nn_call(fs->nn, NN_RENAME2, &request, &answer, err);
    if (r < 0 && err && err->detail == RPC_EX_FILE_EXISTS)
        return explain("move onto", to, r, err);
    return r < 0 ? explain("move", from, r, err) : 0;
}

int hdfs_chmod(struct hdfs *fs, const char *path, uint32_t mode, struct err *err)
{
    Hdfs__SetPermissionRequest request = HDFS__SET_PERMISSION_REQUEST__INIT;
    AUTO_RPC Hdfs__SetPermissionResponse *answer = NULL;
    Hdfs__Permission bits = HDFS__PERMISSION__INIT;

    bits.perm = mode & 01777;
    request.src = path;
    request.permission = &bits;
    return hdfs_call(fs, NN_SET_PERMISSION, path, &request, &answer, err);
}

int hdfs_set_times(struct hdfs *fs, const char *path, int64_t mtime, int64_t atime, struct err *err)
{
    Hdfs__SetTimesRequest request = HDFS__SET_TIMES_REQUEST__INIT;
    AUTO_RPC Hdfs__SetTimesResponse *answer = NULL;

    request.src = path;
    request.mtime = (uint64_t)mtime;
    request.atime = (uint64_t)atime;
    return hdfs_call(fs, NN_SET_TIMES, path, &request, &answer, err);
}

int hdfs_summary(struct hdfs *fs, const char *path, struct fs_summary *ret, struct err *err)
{
    Hdfs__GetContentSummaryRequest request = HDFS__GET_CONTENT_SUMMARY_REQUEST__INIT;
    AUTO_RPC Hdfs__GetContentSummaryResponse *answer = NULL;
    const Hdfs__ContentSummary *s;
    int r;

    request.path = path;
    r = hdfs_call(fs, NN_GET_CONTENT_SUMMARY, path, &request, &answer, err);
    if (r < 0)
        return r;
    s = answer->summary;
    *ret = (struct fs_summary){
        .length = s->length,
        .space = s->space_consumed,
        .files = s->file_count,
        .dirs = s->directory_count,
        .quota = (int64_t)s->quota,
        .space_quota = (int64_t)s->space_quota,
    };
    return 0;
}

/* The first call starts the recovery and is answered with false: a DataNode has to agree on the
 * length of the last block first. The same call, repeated, tells when the file is closed. */
int hdfs_recover_lease(struct hdfs *fs, const char *path, int64_t deadline, struct err *err)
{
    Hdfs__RecoverLeaseRequest request = HDFS__RECOVER_LEASE_REQUEST__INIT;
    int64_t pause = RECOVER_FIRST_MS;
    int r = 0;

    request.src = path;
    request.client_name = fs->client_name;
    while (r == 0) {
        AUTO_RPC Hdfs__RecoverLeaseResponse *answer = NULL;

        r = hdfs_call(fs, NN_RECOVER_LEASE, path, &request, &answer, err);
        if (r < 0)
            return r;
        if (answer->closed)
            return 0;
        if (loop_in(fs->loop, pause) > deadline)
            return err_set(err, -ETIMEDOUT, "recover '%s': its last block is not closed yet", path);
        r = fiber_sleep(fs->loop, pause);
        pause = pause * 2 < RECOVER_PAUSE_MS ? pause * 2 : RECOVER_PAUSE_MS;
    }
    return r == -ECANCELED ? err_set(err, r, "recover '%s': stopped", path) : r;
}
