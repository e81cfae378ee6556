/* fs.c - see fs.h: finding the file system of a path, and handing calls on to it. */
#include "hadoop/fs/fs.h"
#include "base/str.h"
#include "hadoop/conf/conf_path.h"
#include "hadoop/fs/private.h"
#include "loop/work.h"

#include <limits.h>
#include <string.h>

int fs_set_new(struct loop *l, struct session *session, struct fs_set **ret, struct err *err)
{
    struct fs_set *set = calloc(1, sizeof(*set));

    if (!set)
        return err_oom(err);
    set->loop = l;
    set->session = session;
    set->local.set = set;
    *ret = set;
    return 0;
}

struct fs_set *fs_set_free(struct fs_set *set)
{
    if (!set)
        return NULL;
    while (set->remote) {
        struct fs *fs = set->remote;

        set->remote = fs->next;
        hdfs_close(fs->hdfs);
        free(fs->home);
        free(fs);
    }
    free(set->local.home);
    free(set);
    return NULL;
}

int fs_set_take_tokens(struct fs_set *set, struct err *err)
{
    int r = 0;

    for (struct fs *fs = set->remote; fs && r == 0; fs = fs->next)
        r = hdfs_take_token(fs->hdfs, err);
    return r;
}

int fs_set_cancel_token(struct fs_set *set, const struct token *t, struct err *err)
{
    for (struct fs *fs = set->remote; fs; fs = fs->next) {
        const struct token *own = NULL;
        int r = hdfs_find_token(fs->hdfs, &own, err);

        if (r < 0)
            return r;
        if (own && str_eq(own->service, t->service))
            return hdfs_cancel_token(fs->hdfs, t, err);
    }
    return err_set(err, -ENOENT, "no file system of '%s' is open", t->service);
}

/* ---- finding ---- */

/* One for each authority, kept until the end: paths of the same cluster share its connection and
 * its tokens. */
static int open_remote(struct fs_set *set, const char *authority, struct fs **ret, struct err *err)
{
    struct hdfs *hdfs = NULL;
    struct fs *fs;
    int r;

    for (fs = set->remote; fs; fs = fs->next) {
        if (str_eq(hdfs_authority(fs->hdfs), authority)) {
            *ret = fs;
            return 0;
        }
    }
    r = hdfs_open(set->session, authority, &hdfs, err);
    if (r < 0)
        return r;
    for (fs = set->remote; fs; fs = fs->next) { /* opening may have waited */
        if (str_eq(hdfs_authority(fs->hdfs), authority)) {
            hdfs_close(hdfs);
            *ret = fs;
            return 0;
        }
    }
    fs = calloc(1, sizeof(*fs));
    if (!fs) {
        hdfs_close(hdfs);
        return err_oom(err);
    }
    fs->set = set;
    fs->hdfs = hdfs;
    fs->next = set->remote;
    set->remote = fs;
    *ret = fs;
    return 0;
}

/* "hdfs://…", "file:/…": names of local files may have a colon in them as well. */
static bool has_scheme(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

    return n > 0 && (str_starts(text + n, "://") || str_starts(text, "file:/"));
}

static int find_local(const char *text, char **ret, struct err *err)
{
    char cwd[PATH_MAX] = "/";
    int r;

    if (str_starts(text, "file://") && text[7] != '/')
        return err_set(err, -EINVAL, "'%s': a local file has no host; write file:///…", text);
    if (str_starts(text, "file:"))
        text += str_starts(text, "file://") ? 7 : 5;
    if (!*text)
        return err_set(err, -EINVAL, "a file name is empty");
    if (*text != '/' && !getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "the working directory");
    r = fs_path_join(cwd, text, ret);
    return r < 0 ? err_code(err, r, "'%s'", text) : 0;
}

/* With Kerberos our name is in the ticket; only a path in the home directory needs it. */
static int find_on_cluster(struct fs_set *set, const char *text, struct fs_path *ret,
                           struct err *err)
{
    int r = 0;

    if (*text != '/' && !has_scheme(text))
        r = session_find_user(set->session, err);
    if (r < 0)
        return r;
    return conf_path(session_conf(set->session), text, session_user(set->session), ret, err);
}

/*     hdfs://NS/x, viewfs://T/x     there, wherever mount tables lead
 *     file:/x                       here
 *     x                             as `where` says; without a cluster here */
int fs_find(struct fs_set *set, const char *text, enum fs_default where, struct fs **ret,
            char **ret_path, struct err *err)
{
    AUTO_FS_PATH p = { 0 };
    int r;

    if (!has_scheme(text) ? where == FS_ON_LOCAL || !set->session : str_starts(text, "file:")) {
        *ret = &set->local;
        return find_local(text, ret_path, err);
    }
    if (!set->session)
        return err_set(err, -EINVAL, "'%s': there is no cluster configuration", text);
    r = find_on_cluster(set, text, &p, err);
    if (r < 0)
        return r;
    if (str_eq(p.scheme, "file"))
        *ret = &set->local;
    else
        r = open_remote(set, p.authority, ret, err);
    if (r == 0)
        *ret_path = take(p.path);
    return r;
}

int fs_uri(const struct fs *fs, const char *path, char **ret, struct err *err)
{
    *ret = fs->hdfs ? str_printf("hdfs://%s%s", hdfs_authority(fs->hdfs), path)
                    : str_printf("file://%s", path);
    return *ret ? 0 : err_oom(err);
}

bool fs_is_local(const struct fs *fs)
{
    return !fs->hdfs;
}

static char *home_of(const struct fs *fs)
{
    AUTO_FREE char *prefix = NULL;
    const char *home = getenv("HOME");

    if (!fs->hdfs)
        return strdup(home && *home == '/' ? home : "/");
    if (conf_str(session_conf(fs->set->session), "dfs.user.home.dir.prefix", &prefix, NULL) < 0)
        return NULL;
    return str_printf("%s/%s", prefix ? prefix : "/user", session_user(fs->set->session));
}

/* Worked out again each time, because the user may be learned late, but the same text stays where
 * it is: callers hold on to it. */
const char *fs_home(struct fs *fs)
{
    AUTO_FREE char *now = home_of(fs);

    if (now && !str_eq(now, fs->home)) {
        free(fs->home);
        fs->home = take(now);
    }
    return fs->home ? fs->home : "/";
}

/* ---- looking ---- */

int fs_exists(struct fs *fs, const char *path, struct fs_entry *ret, struct err *err)
{
    return fs->hdfs ? hdfs_stat(fs->hdfs, path, ret, err) : local_stat(&fs->names, path, ret, err);
}

int fs_stat(struct fs *fs, const char *path, struct fs_entry *ret, struct err *err)
{
    int r = fs_exists(fs, path, ret, err);

    if (r == 0)
        return err_set(err, -ENOENT, "'%s': no such file or directory", path);
    return r < 0 ? r : 0;
}

struct fs_list {
    struct hdfs_list *hdfs;
    struct local_list *local;
    char *after; /* of a local one */
};

int fs_list_open_after(struct fs *fs, const char *path, const char *after, struct fs_list **ret,
                       struct err *err)
{
    AUTO_FS_LIST *l = calloc(1, sizeof(*l));
    int r = 0;

    if (!l)
        return err_oom(err);
    if (fs->hdfs)
        r = hdfs_list_open(fs->hdfs, path, after, &l->hdfs, err);
    else if (!(l->after = strdup(after)))
        r = err_oom(err);
    else
        r = local_list_open(&fs->names, path, &l->local, err);
    if (r == 0)
        *ret = take(l);
    return r;
}

int fs_list_open(struct fs *fs, const char *path, struct fs_list **ret, struct err *err)
{
    return fs_list_open_after(fs, path, "", ret, err);
}

/* HDFS begins behind `after` by itself; the local list is sorted in the same way, so its beginning
 * is left out here. */
int fs_list_next(struct fs_list *list, const struct fs_entry **ret, struct err *err)
{
    int r;

    if (list->hdfs)
        return hdfs_list_next(list->hdfs, ret, err);
    do
        r = local_list_next(list->local, ret, err);
    while (r > 0 && strcmp((*ret)->name, list->after) <= 0 && *list->after);
    return r;
}

struct fs_list *fs_list_close(struct fs_list *list)
{
    if (list) {
        hdfs_list_close(list->hdfs);
        local_list_close(list->local);
        free(list->after);
    }
    free(list);
    return NULL;
}

int fs_summary(struct fs *fs, const char *path, struct fs_summary *ret, struct err *err)
{
    return fs->hdfs ? hdfs_summary(fs->hdfs, path, ret, err) : local_summary(path, ret, err);
}

int fs_groups(struct fs *fs, const char *user, struct strs *ret, struct err *err)
{
    if (!fs->hdfs)
        return err_set(err, -EOPNOTSUPP, "no cluster to ask for the groups of '%.100s'", user);
    return hdfs_groups(fs->hdfs, user, ret, err);
}

/* ---- changing ---- */

int fs_mkdirs(struct fs *fs, const char *path, uint32_t mode, bool parents, struct err *err)
{
    return fs->hdfs ? hdfs_mkdirs(fs->hdfs, path, mode, parents, err)
                    : local_mkdirs(path, mode, parents, err);
}

struct deletion {
    const char *path;
    struct err *err;
};

static int delete_local_tree(void *arg)
{
    const struct deletion *d = arg;

    return local_delete(d->path, true, d->err);
}

/* A tree may be large: another thread deletes it. */
int fs_delete(struct fs *fs, const char *path, bool recursive, struct err *err)
{
    struct deletion d = { path, err };

    if (fs->hdfs)
        return hdfs_delete(fs->hdfs, path, recursive, err);
    return recursive ? work_run(fs->set->loop, delete_local_tree, &d)
                     : local_delete(path, false, err);
}

int fs_rename(struct fs *fs, const char *from, const char *to, bool overwrite, struct err *err)
{
    return fs->hdfs ? hdfs_rename(fs->hdfs, from, to, overwrite, err)
                    : local_rename(from, to, overwrite, err);
}

int fs_chmod(struct fs *fs, const char *path, uint32_t mode, struct err *err)
{
    return fs->hdfs ? hdfs_chmod(fs->hdfs, path, mode, err) : local_chmod(path, mode, err);
}

int fs_set_times(struct fs *fs, const char *path, int64_t mtime, int64_t atime, struct err *err)
{
    return fs->hdfs ? hdfs_set_times(fs->hdfs, path, mtime, atime, err)
                    : local_set_times(path, mtime, atime, err);
}

int fs_recover_lease(struct fs *fs, const char *path, int64_t deadline, struct err *err)
{
    return fs->hdfs ? hdfs_recover_lease(fs->hdfs, path, deadline, err) : 0;
}
