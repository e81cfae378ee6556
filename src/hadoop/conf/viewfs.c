/* viewfs.c - see viewfs.h.
 *
 *     fs.viewfs.mounttable.TABLE.link./data     hdfs://ns1/data    /data/x is hdfs://ns1/data/x
 *     fs.viewfs.mounttable.TABLE.linkFallback   hdfs://ns2/        everything else
 *     fs.viewfs.mounttable.TABLE.linkMergeSlash hdfs://ns1/        instead of links: all of it */
#include "hadoop/conf/viewfs.h"
#include "base/buf.h"
#include "hadoop/conf/conf_path.h"

#include <string.h>

struct search {
    const struct conf *conf;
    const char *path;
    const char *key;      /* of the best link so far */
    size_t covered;       /* bytes of `path` that it covers */
    const char *fallback; /* key of the fallback, or NULL */
    const char *all;      /* key of the merge slash, or NULL */
    bool inside;          /* the path is a directory of the table itself */
    size_t links;
    struct buf known; /* the links, for an error */
};

/* Whether `link` is `path` or a directory above it. */
static bool covers(const char *link, const char *path)
{
    size_t n = strlen(link);

    return strncmp(link, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int viewfs_add_link(struct search *s, const char *key, const char *at, struct err *err)
{
    AUTO_FREE char *link = NULL;
    int r;

    r = fs_path_join("/", at, &link);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0 || str_eq(link, "/"))
        return err_set(err, -EINVAL,
                       "'%s' names no mount point; for all of a file system there "
                       "is linkMergeSlash",
                       key);
    s->links++;
    (void)buf_printf(&s->known, "%s%s", s->known.len ? ", " : "", link);
    if (covers(link, s->path) && (!s->key || strlen(link) > s->covered)) {
        s->key = key;
        s->covered = strlen(link);
    }
    if (str_eq(s->path, "/") || (covers(s->path, link) && !covers(link, s->path)))
        s->inside = true;
    return 0;
}

/* One key of the table; `what` is the part behind its name. */
static int viewfs_look_at(struct search *s, const char *key, const char *what, struct err *err)
{
    const char *slash;

    if (str_starts(what, "link."))
        return viewfs_add_link(s, key, what + strlen("link."), err);
    if (str_starts(what, "linkMerge.") || str_starts(what, "linkNfly.")) {
        slash = strchr(what, '/');
        return slash ? viewfs_add_link(s, key, slash, err) : 0;
    }
    if (str_starts(what, "linkRegex"))
        return err_set(err, -EOPNOTSUPP,
                       "'%s': mount points by regular expression are not "
                       "supported",
                       key);
    if (str_eq(what, "linkFallback"))
        s->fallback = key;
    else if (str_eq(what, "linkMergeSlash"))
        s->all = key;
    return 0;
}

/* The longest link wins, then the fallback. linkMergeSlash stands for the whole of another file
 * system and excludes links. */
static int viewfs_choose(struct search *s, const char *table, const char **ret_key, struct err *err)
{
    const char *links = buf_text(&s->known);

    if (s->all && s->links)
        return err_set(err, -EINVAL, "mount table '%s' has both '%s' and links", table, s->all);
    if (s->all || !s->key)
        s->covered = 0;
    *ret_key = s->all ? s->all : s->key ? s->key : s->fallback;
    if (*ret_key)
        return 0;
    if (s->links == 0)
        return err_set(err, -ENOENT, "there is no mount table '%s' for viewfs", table);
    if (s->inside)
        return err_set(err, -ENOENT,
                       "'%s' is a directory of the mount table '%s' itself, which has: %.200s",
                       s->path, table, links ? links : "");
    return err_set(err, -ENOENT, "no mount point of the table '%s' covers '%s'; it has: %.200s",
                   table, s->path, links ? links : "");
}

/* The target that the chosen key names. */
static int read_target(const struct search *s, const char *key, char **ret, struct err *err)
{
    if (strstr(key, ".linkMerge.") || strstr(key, ".linkNfly."))
        return err_set(err, -EOPNOTSUPP,
                       "'%s': mount points with several targets are not supported", key);
    return conf_str(s->conf, key, ret, err);
}

int viewfs_resolve(const struct conf *c, const char *table, const char *path, char **ret_target,
                   const char **ret_rest, struct err *err)
{
    AUTO_FREE char *prefix = str_printf("fs.viewfs.mounttable.%s.", table);
    struct search s = { .conf = c, .path = path };
    AUTO_STRS keys = { 0 };
    const char *key = NULL;
    int r;

    if (!prefix)
        return err_oom(err);
    buf_init(&s.known, 4096);
    r = conf_keys(c, prefix, &keys, err);
    for (size_t i = 0; r == 0 && i < keys.n; i++)
        r = viewfs_look_at(&s, keys.v[i], keys.v[i] + strlen(prefix), err);
    if (r == 0)
        r = viewfs_choose(&s, table, &key, err);
    if (r == 0 && key)
        r = read_target(&s, key, ret_target, err);
    if (r == 0)
        *ret_rest = path + s.covered;
    buf_done(&s.known);
    return r;
}

/* The mount point of a key of the table, "/data"; NULL for a key that is none. */
static const char *mount_point(const char *what)
{
    if (str_starts(what, "link."))
        return what + strlen("link.");
    return str_starts(what, "linkMerge.") || str_starts(what, "linkNfly.") ? strchr(what, '/')
                                                                           : NULL;
}

static int viewfs_add_child(const char *link, const char *path, struct strs *ret, struct err *err)
{
    size_t above = str_eq(path, "/") ? 0 : strlen(path);
    AUTO_FREE char *name = NULL;
    const char *rest;

    if (strncmp(link, path, above) != 0 || link[above] != '/' || !link[above + 1])
        return 0;
    rest = link + above + 1;
    name = strndup(rest, strcspn(rest, "/"));
    if (!name || (!strs_has(ret, name) && strs_add(ret, name) < 0))
        return err_oom(err);
    return 0;
}

/* A path behind a mount point has none here: what it has is the other file system's to say. */
int viewfs_children(const struct conf *c, const char *table, const char *path, struct strs *ret,
                    struct err *err)
{
    AUTO_FREE char *prefix = str_printf("fs.viewfs.mounttable.%s.", table);
    AUTO_STRS keys = { 0 };
    AUTO_STRS found = { 0 };
    bool behind = false;
    int r;

    if (!prefix)
        return err_oom(err);
    r = conf_keys(c, prefix, &keys, err);
    for (size_t i = 0; r == 0 && i < keys.n; i++) {
        const char *at = mount_point(keys.v[i] + strlen(prefix));
        AUTO_FREE char *link = NULL;

        if (!at)
            continue;
        r = fs_path_join("/", at, &link);
        behind |= r == 0 && covers(link, path);
        r = r == -ENOMEM ? err_oom(err) : r < 0 ? 0 : viewfs_add_child(link, path, &found, err);
    }
    for (size_t i = 0; r == 0 && !behind && i < found.n; i++)
        r = strs_add(ret, found.v[i]) < 0 ? err_oom(err) : 0;
    return r;
}
