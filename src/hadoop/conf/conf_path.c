/* conf_path.c - takes a path apart as Hadoop does, fills in scheme and host from fs.defaultFS,
 * makes it absolute, and follows viewfs mount points until it lies on a real file system. See
 * conf_path.h. */
#include "hadoop/conf/conf_path.h"
#include "base/buf.h"
#include "hadoop/conf/viewfs.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#define PATH_BYTES_MAX (64 * KIB) /* the NameNode takes 8000 characters */
#define MOUNTS_MAX 8              /* mount tables that lead to mount tables */

void fs_path_done(struct fs_path *p)
{
    free(p->scheme);
    free(p->authority);
    free(p->path);
    *p = (struct fs_path){ 0 };
}

/* Appends one name; ".." takes the last one away again. */
static int add_name(struct buf *b, const char *name, size_t n)
{
    int r;

    if (n == 0 || (n == 1 && *name == '.'))
        return 0;
    if (n == 2 && memcmp(name, "..", 2) == 0) {
        if (b->len == 0)
            return -EINVAL;
        while (b->data[--b->len] != '/')
            ;
        return 0;
    }
    r = buf_add_u8(b, '/');
    return r < 0 ? r : buf_add(b, name, n);
}

static int conf_path_add_names(struct buf *b, const char *path)
{
    int r = 0;

    while (r == 0 && *path) {
        size_t n = strcspn(path, "/");

        r = add_name(b, path, n);
        path += n + (path[n] == '/');
    }
    return r;
}

int fs_path_join(const char *base, const char *path, char **ret)
{
    AUTO_BUF b = { .max = PATH_BYTES_MAX };
    int r = 0;

    if (*path != '/')
        r = conf_path_add_names(&b, base);
    if (r == 0)
        r = conf_path_add_names(&b, path);
    if (r == 0 && b.len == 0)
        r = buf_add_u8(&b, '/');
    if (r < 0)
        return r;
    *ret = buf_text(&b) ? strdup(buf_text(&b)) : NULL;
    return *ret ? 0 : -ENOMEM;
}

/* A text taken apart. What is not in it is NULL; the path may be empty or relative. */
struct parts {
    char *scheme, *authority, *path;
};

static void conf_path_parts_done(struct parts *p)
{
    free(p->scheme);
    free(p->authority);
    free(p->path);
}

/* Where a scheme ends: before a colon that comes before every slash. NULL when there is none. */
static const char *scheme_end(const char *text)
{
    const char *end = text + strcspn(text, ":/");

    return *end == ':' && end > text ? end : NULL;
}

/* Hadoop's way of splitting: scheme, then "//" and all up to the next slash, then the rest. Unlike
 * it we take "//a/b" without a scheme for "/a/b": nobody writes a host that way. */
static int conf_path_split(const char *text, struct parts *ret)
{
    const char *end = scheme_end(text), *slash;

    if (end) {
        ret->scheme = strndup(text, (size_t)(end - text));
        if (!ret->scheme)
            return -ENOMEM;
        for (char *s = ret->scheme; *s; s++)
            *s = (char)tolower((unsigned char)*s);
        text = end + 1;
        if (str_starts(text, "//")) {
            text += 2;
            slash = text + strcspn(text, "/");
            ret->authority = strndup(text, (size_t)(slash - text));
            if (!ret->authority)
                return -ENOMEM;
            text = slash;
        }
    }
    ret->path = strdup(text);
    return ret->path ? 0 : -ENOMEM;
}

static bool is_known_scheme(const char *scheme)
{
    return str_eq(scheme, "hdfs") || str_eq(scheme, "viewfs") || str_eq(scheme, "file");
}

/* A scheme in front must be one, and be followed by an absolute path or by nothing. */
static int check_parts(const struct parts *p, const char *text, struct err *err)
{
    if (!p->scheme)
        return 0;
    if (!is_known_scheme(p->scheme)) {
        if (p->authority)
            return err_set(err, -EOPNOTSUPP,
                           "'%s': the file system '%s' is not supported (hdfs, viewfs, file are)",
                           text, p->scheme);
        return err_set(err, -EINVAL, "'%s': names cannot contain ':'", text);
    }
    if (*p->path != '/' && (*p->path || !p->authority))
        return err_set(err, -EINVAL, "'%s' needs an absolute path after '%s:'", text, p->scheme);
    if (p->authority && (strchr(p->authority, '@') || strchr(p->authority, ',')))
        return err_set(err, -EINVAL, "'%s': '%s' is not a host or name service", text,
                       p->authority);
    return 0;
}

/* fs.defaultFS, also in the forms of old configurations: "local", "host:port". */
static int default_fs(const struct conf *c, struct parts *ret, struct err *err)
{
    static const char key[] = "fs.defaultFS";
    AUTO_FREE char *text = NULL, *fixed = NULL;
    int r;

    r = conf_str(c, key, &text, err);
    if (r < 0)
        return r;
    if (str_eq(text, "local"))
        fixed = strdup("file:///");
    else
        fixed = str_printf("%s%s", strchr(text, '/') ? "" : "hdfs://", text);
    if (!fixed || conf_path_split(fixed, ret) < 0)
        return err_oom(err);
    if (!ret->scheme)
        return conf_bad(c, key, text, "which has no scheme such as hdfs://", err);
    r = check_parts(ret, fixed, err);
    return r < 0 ? err_wrap(err, r, "'%s'", key) : 0;
}

static int take_text(char **where, const char *value, struct err *err)
{
    free(*where);
    *where = strdup(value);
    if (*where)
        return 0;
    (void)err_oom(err);
    return -ENOMEM;
}

/* Fills in what the text leaves to the default file system. The authority is filled in only where
 * the scheme is that of fs.defaultFS: "hdfs:/x" on a cluster of file:/// names no host. */
static int conf_path_complete(const struct conf *c, const char *text, struct parts *p,
                              struct err *err)
{
    AUTO_DONE(conf_path_parts_done) struct parts d = { 0 };
    int r;

    if (p->scheme && p->authority && *p->authority)
        return 0;
    r = default_fs(c, &d, err);
    if (r < 0)
        return r;
    r = p->scheme ? 0 : take_text(&p->scheme, d.scheme ? d.scheme : "", err);
    if (r == 0)
        r = take_text(&p->authority, str_eq(p->scheme, d.scheme) && d.authority ? d.authority : "",
                      err);
    if (r < 0)
        return r;
    if (str_eq(p->scheme, "hdfs") && !*p->authority)
        return err_set(err, -EINVAL, "'%s' names no host, and neither does 'fs.defaultFS'", text);
    return 0;
}

static int mount_table(const struct conf *c, const char *authority, char **ret, struct err *err)
{
    if (!*authority)
        return conf_str(c, "fs.viewfs.mounttable.default.name.key", ret, err);
    *ret = strdup(authority);
    return *ret ? 0 : err_oom(err);
}

/* Where the home directories of a file system are. */
static int home_prefix(const struct conf *c, const struct parts *p, char **ret, struct err *err)
{
    AUTO_FREE char *table = NULL, *key = NULL;
    int r;

    if (str_eq(p->scheme, "hdfs"))
        return conf_str(c, "dfs.user.home.dir.prefix", ret, err);
    r = mount_table(c, p->authority, &table, err);
    if (r < 0)
        return r;
    key = str_printf("fs.viewfs.mounttable.%s.homedir", table);
    if (!key)
        return err_oom(err);
    r = conf_str(c, key, ret, err);
    if (r == 0 && !*ret)
        r = take_text(ret, "/user", err);
    return r;
}

/* The directory that a relative path begins in. */
static int start_dir(const struct conf *c, const struct parts *p, const char *user, char **ret,
                     struct err *err)
{
    AUTO_FREE char *prefix = NULL;
    int r;

    if (str_eq(p->scheme, "file")) {
        *ret = getcwd(NULL, 0);
        return *ret ? 0 : err_sys(err, "working directory");
    }
    r = home_prefix(c, p, &prefix, err);
    if (r < 0)
        return r;
    *ret = str_printf("%s/%s", prefix, user);
    return *ret ? 0 : err_oom(err);
}

/* Makes the path absolute and plain. */
static int straighten(const struct conf *c, const char *text, const char *user, struct parts *p,
                      struct err *err)
{
    AUTO_FREE char *base = NULL, *path = NULL;
    int r;

    if (*p->path != '/' && *p->path) {
        r = start_dir(c, p, user, &base, err);
        if (r < 0)
            return r;
    }
    r = fs_path_join(base ? base : "/", p->path, &path);
    if (r == -EINVAL)
        return err_set(err, r, "'%s' leads above the root", text);
    if (r == -E2BIG)
        return err_set(err, -ENAMETOOLONG, "'%.80s…' is too long", text);
    if (r < 0)
        return err_oom(err);
    free(p->path);
    p->path = take(path);
    return 0;
}

/* Bytes of the character at `p`, 0 when it is not one. Control characters, which a terminal may not
 * show, are legal in names. */
static size_t conf_path_utf8_len(const char *p)
{
    if ((*p & 0x80) == 0)
        return 1;
    return (*p & 0xff) == 0xc2 && (p[1] & 0xe0) == 0x80 ? 2 : str_utf8_len(p);
}

/* What the NameNode refuses (a colon), and what it would silently turn into another name. */
static int conf_path_check_hdfs(const struct conf *c, const char *path, struct err *err)
{
    AUTO_FREE char *impl = NULL;
    size_t n;
    int r;

    if (strchr(path, ':'))
        return err_set(err, -EINVAL, "'%s': HDFS allows no ':' in a name", path);
    for (const char *p = path; *p; p += n) {
        n = conf_path_utf8_len(p);
        if (n == 0)
            return err_set(err, -EILSEQ, "'%s': names in HDFS are UTF-8, this one is not", path);
    }
    r = conf_str(c, "fs.hdfs.impl", &impl, err);
    if (r < 0)
        return r;
    if (impl && (strstr(impl, "ViewFileSystemOverload") || strstr(impl, "ViewDistributed")))
        return err_set(err, -EOPNOTSUPP,
                       "'fs.hdfs.impl' is '%s': mount tables behind hdfs:// are "
                       "not supported",
                       impl);
    return 0;
}

static int hex_value(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* The target of a mount point is a URI, with %20 for a blank, unlike what people type. In place. */
static int percent_decode(char *text)
{
    char *out = text;

    for (; *text; out++) {
        if (*text != '%') {
            *out = *text++;
            continue;
        }
        if (!isxdigit((unsigned char)text[1]) || !isxdigit((unsigned char)text[2]))
            return -EINVAL;
        *out = (char)(hex_value(text[1]) << 4 | hex_value(text[2]));
        if (!*out)
            return -EINVAL;
        text += 3;
    }
    *out = '\0';
    return 0;
}

/* Replaces a path on viewfs by where its mount point leads. */
static int follow_mount(const struct conf *c, struct parts *p, struct err *err)
{
    AUTO_DONE(conf_path_parts_done) struct parts t = { 0 };
    AUTO_FREE char *table = NULL, *target = NULL, *path = NULL;
    const char *rest = "";
    bool has_scheme;
    int r;

    r = mount_table(c, p->authority, &table, err);
    if (r == 0)
        r = viewfs_resolve(c, table, p->path, &target, &rest, err);
    if (r < 0)
        return r;
    if (conf_path_split(target, &t) < 0)
        return err_oom(err);
    has_scheme = t.scheme != NULL;
    r = check_parts(&t, target, err);
    if (r == 0)
        r = conf_path_complete(c, target, &t, err);
    if (r < 0)
        return err_wrap(err, r, "mount table '%s'", table);
    if (!has_scheme || percent_decode(t.path) < 0)
        return err_set(err, -EINVAL, "mount table '%s': '%s' is not a URI", table, target);
    r = fs_path_join(*t.path ? t.path : "/", rest + (*rest == '/'), &path);
    if (r < 0)
        return r == -ENOMEM
                   ? err_oom(err)
                   : err_set(err, r, "mount table '%s': '%s' is not a path", table, target);
    free(t.path);
    t.path = take(path);
    conf_path_parts_done(p);
    *p = t;
    t = (struct parts){ 0 };
    return 0;
}

/* A mount table may lead to another one, so it is followed until the path lies on a file system
 * that is none; a bound, because tables can lead in a circle. */
static int land(const struct conf *c, const char *text, struct parts *p, struct err *err)
{
    int r = 0;

    for (int i = 0; r == 0 && str_eq(p->scheme, "viewfs"); i++) {
        if (i == MOUNTS_MAX)
            return err_set(err, -ELOOP, "'%s': mount tables refer to each other in a loop", text);
        r = follow_mount(c, p, err);
    }
    if (r < 0)
        return r;
    if (str_eq(p->scheme, "file"))
        return *p->authority ? err_set(err, -EINVAL, "'%s': a local file has no host", text) : 0;
    return conf_path_check_hdfs(c, p->path, err);
}

/* Scheme, authority and absolute path, before any mount table. */
static int conf_path_parse(const struct conf *c, const char *text, const char *user,
                           struct parts *p, struct err *err)
{
    int r;

    if (!*text)
        return err_set(err, -EINVAL, "a path is empty");
    if (conf_path_split(text, p) < 0)
        return err_oom(err);
    r = check_parts(p, text, err);
    if (r == 0)
        r = conf_path_complete(c, text, p, err);
    return r == 0 ? straighten(c, text, user, p, err) : r;
}

int conf_mounts(const struct conf *c, const char *text, const char *user, struct strs *ret,
                char **ret_path, struct err *err)
{
    AUTO_DONE(conf_path_parts_done) struct parts p = { 0 };
    AUTO_FREE char *table = NULL;
    size_t before = ret->n;
    int r = conf_path_parse(c, text, user, &p, err);

    *ret_path = NULL;
    if (r < 0 || !str_eq(p.scheme, "viewfs"))
        return r;
    r = mount_table(c, p.authority, &table, err);
    if (r == 0)
        r = viewfs_children(c, table, p.path, ret, err);
    if (r == 0 && ret->n > before)
        *ret_path = take(p.path);
    return r;
}

/*     split ──► complete (fs.defaultFS) ──► straighten (home directory, "..") ──► land (viewfs) */
int conf_path(const struct conf *c, const char *text, const char *user, struct fs_path *ret,
              struct err *err)
{
    AUTO_DONE(conf_path_parts_done) struct parts p = { 0 };
    int r = conf_path_parse(c, text, user, &p, err);

    if (r == 0)
        r = land(c, text, &p, err);
    if (r < 0)
        return r;
    *ret = (struct fs_path){ p.scheme, p.authority, p.path };
    p = (struct parts){ 0 };
    return 0;
}
