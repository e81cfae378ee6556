/* output_target.c - asks the NameNode, or tries it with an empty file. See output_target.h. */
#include "launch/targets/output_target.h"
#include "hadoop/conf/conf_path.h"
#include "hadoop/fs/fs.h"
#include "hadoop/hdfs/explain.h"
#include "hadoop/hdfs/hdfs.h"
#include "hadoop/namenode.pb-c.h"
#include "hadoop/session/session.h"

#include <string.h>
#include <sys/random.h>

static const struct rpc_method check_access = {
    .name = "checkAccess",
    .request = &hdfs__check_access_request__descriptor,
    .response = &hdfs__check_access_response__descriptor,
    .retry = RPC_IDEMPOTENT,
};

/* The NameNode knows groups, access lists and superusers; permission bits alone would not do. */
static int output_target_ask(struct session *s, const char *uri, const char *dir, struct err *err)
{
    Hdfs__CheckAccessRequest request = HDFS__CHECK_ACCESS_REQUEST__INIT;
    AUTO_RPC Hdfs__CheckAccessResponse *answer = NULL;
    AUTO_FS_PATH p = { 0 };
    struct hdfs *fs = NULL;
    int r = conf_path(session_conf(s), uri, session_user(s), &p, err);

    if (r < 0)
        return r;
    r = hdfs_open(s, p.authority, &fs, err);
    if (r < 0)
        return r;
    request.path = dir;
    request.mode = HDFS__FS_ACTION__ACTION_WRITE_EXECUTE;
    r = rpc_call(hdfs_namenode(fs), &check_access, &request, &answer, 0, err);
    hdfs_close(fs);
    return r < 0 ? explain("write to", dir, r, err) : 0;
}

static int probe(struct fs *fs, const char *dir, struct err *err)
{
    const struct fs_create options = { .mode = 0600 };
    AUTO_FREE char *path = NULL;
    uint64_t random = 0;
    int r;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return err_sys(err, "random number");
    path = str_printf("%s/.ydl-probe-%016llx", str_eq(dir, "/") ? "" : dir,
                      (unsigned long long)random);
    if (!path)
        return err_oom(err);
    r = fs_put(fs, path, &options, NULL, 0, err);
    return r < 0 ? r : fs_delete(fs, path, false, err);
}

/* The directory itself, or its nearest existing parent; cuts `path` down to it. */
static int output_target_nearest(struct fs *fs, const char *uri, char *path, struct err *err)
{
    while (true) {
        AUTO_FS_ENTRY e = { 0 };
        int r = fs_exists(fs, path, &e, err);
        char *slash = strrchr(path, '/');

        if (r < 0)
            return r;
        if (r > 0 && e.type != FS_DIRECTORY)
            return err_set(err, -ENOTDIR, "'%s' is not a directory", path);
        if (r > 0)
            return 0;
        if (!slash || str_eq(path, "/"))
            return err_set(err, -ENOENT, "'%s': no such directory, and no parent of it exists",
                           uri);
        slash[slash == path] = '\0';
    }
}

int deploy_check_place(struct session *s, struct fs_set *set, const char *uri,
                       enum deploy_look look, struct err *err)
{
    AUTO_FREE char *path = NULL;
    struct fs *fs = NULL;
    int r = fs_find(set, uri, FS_ON_CLUSTER, &fs, &path, err);

    if (r < 0 || fs_is_local(fs)) /* on the nodes' own disks: nothing that can be seen from here */
        return r;
    r = output_target_nearest(fs, uri, path, err);
    if (r == 0)
        r = look == DEPLOY_PROBE ? probe(fs, path, err) : output_target_ask(s, uri, path, err);
    return r;
}

int deploy_check_target(struct session *s, struct fs_set *set, const char *uri,
                        enum deploy_look look, struct err *err)
{
    int r = deploy_check_place(s, set, uri, look, err);

    return r < 0 ? err_wrap(err, r, "results cannot go to '%s'", uri) : 0;
}
