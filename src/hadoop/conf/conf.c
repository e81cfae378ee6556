/* conf.c - finding and reading the files of a conf; see conf.h. Values are read in conf_get.c.
 * Later files win over earlier ones, as in Hadoop, except over a value that was marked final. A
 * file that is missing is left out; a file that is there and cannot be read is an error. */
#include "hadoop/conf/conf.h"
#include "base/buf.h"
#include "base/log.h"
#include "hadoop/conf/conf_store.h"
#include "hadoop/conf/xml.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 16  /* files that include files */
#define FILES_MAX 200 /* so that files that include each other twice cannot double 16 times */

/* One file being read; `up` is the one that includes it. */
struct reading {
    struct conf *conf;
    const struct reading *up;
    const char *path;
    size_t file; /* index in conf->files */
    dev_t dev;
    ino_t ino;
    int depth;
};

static int conf_read_path(struct conf *c, const struct reading *up, const char *path,
                          struct err *err);

/* How errors call a file: by its name alone when it is in the given directory. */
static const char *conf_do_short_name(const struct conf *c, const char *path)
{
    size_t n = strlen(c->dir);

    if (n > 0 && strncmp(path, c->dir, n) == 0 && path[n] == '/')
        return path + n + 1;
    return path;
}

static int on_property(void *arg, const struct xml_property *p, struct err *err)
{
    const struct reading *r = arg;

    return store_add(r->conf, p, r->file, err);
}

/* The file that `href` means for a file at `path`, or NULL in *ret when there is none. Hadoop
 * looks into the configuration directory first and only then beside the including file. */
static int find_included(const struct reading *r, const char *href, char **ret, struct err *err)
{
    const char *slash = strrchr(r->path, '/');
    AUTO_FREE char *in_dir = str_printf("%s/%s", r->conf->dir, href);
    AUTO_FREE char *beside = str_printf("%.*s/%s", (int)(slash - r->path), r->path, href);
    AUTO_FREE char *as_is = strdup(href);

    if (!in_dir || !beside || !as_is)
        return err_oom(err);
    if (*href == '/')
        *ret = access(as_is, F_OK) == 0 ? take(as_is) : NULL;
    else if (access(in_dir, F_OK) == 0)
        *ret = take(in_dir);
    else
        *ret = access(beside, F_OK) == 0 ? take(beside) : NULL;
    return 0;
}

/* "file:" URLs become paths; every other URL is refused: a configuration does not dial out. */
static int local_href(const struct reading *r, const char **href, int line, struct err *err)
{
    size_t n = 0;

    if (str_starts(*href, "file:")) {
        *href += strlen("file:");
        if (str_starts(*href, "///"))
            *href += 2;
        if (**href == '/' && (*href)[1] != '/' && !strchr(*href, '%'))
            return 0;
        return err_set(err, -EINVAL, "%s:%d: cannot include '%s': not a plain file: URL", r->path,
                       line, *href);
    }
    while (isalnum((unsigned char)(*href)[n]) || ((*href)[n] && strchr("+.-", (*href)[n])))
        n++;
    if (n > 1 && (*href)[n] == ':')
        return err_set(err, -EPROTONOSUPPORT,
                       "%s:%d: cannot include '%s': only files can be included", r->path, line,
                       *href);
    return 0;
}

static int on_include(void *arg, const char *href, int line, bool *found, struct err *err)
{
    const struct reading *r = arg;
    AUTO_FREE char *path = NULL;
    int rc;

    rc = local_href(r, &href, line, err);
    if (rc == 0)
        rc = find_included(r, href, &path, err);
    if (rc < 0)
        return rc;
    if (!path) {
        trace(LOG_CONF, "%s includes '%s', which is not there", r->path, href);
        *found = false;
        return 0;
    }
    return conf_read_path(r->conf, r, path, err);
}

static int conf_read_bytes(int fd, const struct stat *st, struct buf *b, struct err *err)
{
    uint8_t *room;
    ssize_t n;
    int r;

    do {
        size_t want = b->len == 0 && st->st_size > 0 ? (size_t)st->st_size + 1 : 4096;

        if (want > b->max - b->len)
            want = b->max - b->len;
        r = buf_room(b, want, &room);
        if (r < 0)
            return err_oom(err);
        do
            n = read(fd, room, want);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return err_sys(err, "cannot read");
        b->len += (size_t)n;
    } while (n > 0 && b->len < b->max);
    return 0;
}

/* Opens and reads a regular file, one byte more than is allowed at most. O_NONBLOCK for the open
 * alone: a named pipe would hang us there before fstat() can refuse it. */
static int conf_slurp(const char *path, struct buf *b, struct stat *st, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int r;

    if (fd < 0)
        return err_sys(err, "cannot read '%s'", path);
    if (fstat(fd, st) < 0)
        return err_sys(err, "cannot read '%s'", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, -EINVAL, "cannot read '%s': not a regular file", path);
    r = conf_read_bytes(fd, st, b, err);
    return r < 0 ? err_wrap(err, r, "'%s'", path) : 0;
}

/* By device and inode, so that a file is known under whatever path or link. Only the files that are
 * open count: the same file included twice, one after the other, is allowed. */
static int check_nesting(const struct reading *r, struct err *err)
{
    for (const struct reading *up = r->up; up; up = up->up)
        if (up->dev == r->dev && up->ino == r->ino)
            return err_set(err, -ELOOP, "'%s' includes itself", r->path);
    if (r->depth > DEPTH_MAX)
        return err_set(err, -ELOOP, "'%s': files include each other more than %d deep", r->path,
                       DEPTH_MAX);
    if (r->conf->files.n >= FILES_MAX)
        return err_set(err, -E2BIG, "'%s': more than %d files are included", r->path, FILES_MAX);
    return 0;
}

static int conf_do_parse(struct reading *r, const struct buf *b, struct err *err)
{
    const struct xml_reader reader = { on_property, on_include, r };

    r->file = r->conf->files.n;
    if (strs_add(&r->conf->files, conf_do_short_name(r->conf, r->path)) < 0)
        return err_oom(err);
    return xml_read(r->path, b->data, b->len, &reader, err);
}

static int conf_read_path(struct conf *c, const struct reading *up, const char *path,
                          struct err *err)
{
    struct reading now = { .conf = c, .up = up, .path = path, .depth = up ? up->depth + 1 : 0 };
    AUTO_BUF b = { .max = XML_FILE_MAX + 1 };
    struct stat st = { 0 };
    int r;

    r = conf_slurp(path, &b, &st, err);
    if (r < 0)
        return r;
    now.dev = st.st_dev;
    now.ino = st.st_ino;
    r = check_nesting(&now, err);
    if (r < 0)
        return r;
    trace(LOG_CONF, "reading %s", path);
    return conf_do_parse(&now, &b, err);
}

static const struct {
    const char *name;
    bool counts; /* a directory with none of these is no configuration */
} site_files[] = {
    { "core-site.xml", true },
    { "hdfs-site.xml", true },
    { "yarn-site.xml", true },
    { "resource-types.xml", false },
};

static int no_files(const char *dir, struct err *err)
{
    err_set(err, -ENOENT, "'%s' has no core-site.xml, hdfs-site.xml or yarn-site.xml", dir);
    err_hint(err, "name the directory with the cluster's configuration by --conf or "
                  "HADOOP_CONF_DIR");
    return -ENOENT;
}

static int check_dir(const char *dir, struct err *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return err_sys(err, "configuration directory '%s'", dir);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "configuration directory '%s': not a directory", dir);
    return 0;
}

int conf_load(const char *dir, struct conf **ret, struct err *err)
{
    AUTO_CONF *c = NULL;
    int r, seen = 0;

    r = check_dir(dir, err);
    if (r == 0)
        r = store_new(dir, &c, err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(site_files); i++) {
        AUTO_FREE char *path = str_printf("%s/%s", dir, site_files[i].name);

        if (!path)
            return err_oom(err);
        if (access(path, F_OK) < 0 && errno == ENOENT) {
            trace(LOG_CONF, "%s is not there, ignoring", path);
            continue;
        }
        seen += site_files[i].counts;
        r = conf_read_path(c, NULL, path, err);
    }
    if (r < 0)
        return r;
    if (seen == 0)
        return no_files(dir, err);
    store_seal(c);
    *ret = take(c);
    return 0;
}

static int refuse_include(void *arg, const char *href, int line, bool *found, struct err *err)
{
    const struct reading *r = arg;

    *found = false;
    return err_set(err, -EPROTONOSUPPORT, "%s:%d: cannot include '%s' here", r->path, line, href);
}

int conf_parse(const char *name, const void *p, size_t n, struct conf **ret, struct err *err)
{
    struct reading now = { .path = name };
    const struct xml_reader reader = { on_property, refuse_include, &now };
    AUTO_CONF *c = NULL;
    int r;

    r = store_new("", &c, err);
    if (r < 0)
        return r;
    now.conf = c;
    if (strs_add(&c->files, name) < 0)
        return err_oom(err);
    r = xml_read(name, p, n, &reader, err);
    if (r < 0)
        return r;
    store_seal(c);
    *ret = take(c);
    return 0;
}

const char *conf_dir(const struct conf *c)
{
    return c->dir;
}
