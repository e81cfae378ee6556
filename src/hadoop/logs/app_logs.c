/* app_logs.c - walks the places of where.h, opens each node's file with the reader of its format,
 * and goes on with the next node when one is broken: one damaged file does not hide the others.
 * See app_logs.h. */
#include "hadoop/logs/app_logs.h"
#include "base/array.h"
#include "base/buf.h"
#include "hadoop/logs/app_log_format.h"
#include "hadoop/logs/where.h"

#include <string.h>

#define NODES_MAX ((size_t)1 << 20)
#define CHECKSUM "-checksum"
#define CHECKSUM_MAX 4096 /* bytes of such a file */

/* One node's file. */
struct node {
    struct fs *fs;
    char *path;
    const char *name; /* in the path */
    uint64_t end;     /* see log_about */
};

struct logs {
    char *app;
    struct node *nodes;
    size_t n_nodes;
    size_t at;                /* the next node */
    struct node *node;        /* the present one, or NULL */
    struct fs_reader *reader; /* its file */
    struct log_source source;
    const struct log_format *format;
    void *file;
    struct logs_file present;
};

/* ---- which files there are ---- */

static int logs_add_node(struct logs *l, struct fs *fs, const struct fs_entry *e, struct err *err)
{
    struct node *n;

    if (l->n_nodes >= NODES_MAX || ARRAY_ROOM(l->nodes, l->n_nodes) < 0)
        return err_oom(err);
    n = &l->nodes[l->n_nodes];
    *n = (struct node){ .fs = fs, .path = strdup(e->path), .end = UINT64_MAX };
    if (!n->path)
        return err_oom(err);
    n->name = strrchr(n->path, '/') + 1;
    l->n_nodes++;
    return 0;
}

/* How far a node's file was complete when the node began to add to it: length of the name, the
 * name, the place. A file that is not whole says nothing. */
static void apply_checksum(struct logs *l, size_t first, const uint8_t *p, size_t size)
{
    struct view v = view_of(p, size);
    uint32_t n = view_be32(&v);
    struct view name = view_sub(&v, n);
    uint64_t end = view_be64(&v);

    for (size_t i = first; !v.bad && i < l->n_nodes; i++)
        if (strlen(l->nodes[i].name) == name.n && memcmp(l->nodes[i].name, name.p, name.n) == 0)
            l->nodes[i].end = end;
}

static int read_checksum(struct logs *l, size_t first, struct fs *fs, const char *path,
                         struct err *err)
{
    AUTO_FS_READER *r = NULL;
    uint8_t bytes[CHECKSUM_MAX];
    int rc = fs_open(fs, path, &r, err);
    ssize_t n;

    if (rc < 0)
        return err_forgive(err, rc, -ENOENT); /* the node was done with it in between */
    n = fs_pread(r, 0, bytes, sizeof(bytes), err);
    if (n >= 0)
        apply_checksum(l, first, bytes, (size_t)n);
    return n < 0 ? (int)n : 0;
}

/* Names that are not logs: an archive that the cluster made of many (which needs its own reader), a
 * note of how far a file was complete, and files that a node is just writing. */
static int logs_look_at(struct logs *l, struct fs *fs, const struct fs_entry *e,
                        struct strs *checksums, struct err *err)
{
    if (str_ends(e->name, ".har"))
        return err_set(err, -EOPNOTSUPP,
                       "'%s' is a Hadoop archive, which ydl cannot read; yarn logs can", e->path);
    if (str_ends(e->name, CHECKSUM))
        return strs_add(checksums, e->path) < 0 ? err_oom(err) : 0;
    if (e->type != FS_FILE || str_ends(e->name, ".tmp"))
        return 0;
    return logs_add_node(l, fs, e, err);
}

/* Notes of how far files were complete are read after the list, when all nodes that they may be
 * about are known. */
static int list_dir(struct logs *l, struct fs *fs, const char *path, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    AUTO_STRS checksums = { 0 };
    const struct fs_entry *e;
    size_t first = l->n_nodes;
    int r = fs_list_open(fs, path, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0)
        r = logs_look_at(l, fs, e, &checksums, err);
    if (r < 0)
        return err_forgive(err, r, -ENOENT);
    for (size_t i = 0; r == 0 && i < checksums.n; i++)
        r = read_checksum(l, first, fs, checksums.v[i], err);
    return r;
}

static int find_nodes(struct logs *l, struct fs_set *set, const struct strs *dirs, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < dirs->n && r == 0; i++) {
        AUTO_FREE char *path = NULL;
        struct fs *fs;

        r = fs_find(set, dirs->v[i], FS_ON_CLUSTER, &fs, &path, err);
        if (r == 0)
            r = list_dir(l, fs, path, err);
    }
    return r;
}

static int none_found(const struct conf *c, const char *app, const char *user, const char *place,
                      struct err *err)
{
    bool on = false;

    (void)conf_bool(c, "yarn.log-aggregation-enable", &on, NULL);
    err_set(err, -ENOENT, "no aggregated logs of '%s' of user '%s' were found, looking for '%s'",
            app, user, place);
    err_hint(err, on ? "they appear some seconds after the end, and are removed after the "
                       "cluster's retention time"
                     : "yarn.log-aggregation-enable is not true: this cluster keeps none");
    return -ENOENT;
}

int logs_open(struct fs_set *set, const struct conf *conf, const char *user, const char *app,
              struct logs **ret, struct err *err)
{
    AUTO_LOGS *l = calloc(1, sizeof(*l));
    AUTO_STRS dirs = { 0 };
    int r;

    if (!l)
        return err_oom(err);
    r = logs_where(conf, user, app, &dirs, err);
    if (r == 0)
        r = find_nodes(l, set, &dirs, err);
    if (r < 0)
        return r;
    if (l->n_nodes == 0)
        return none_found(conf, app, user, dirs.v[0], err);
    l->app = strdup(app);
    if (!l->app)
        return err_oom(err);
    *ret = take(l);
    return 0;
}

/* ---- one after the other ---- */

static void leave_node(struct logs *l)
{
    if (l->file)
        l->format->close(l->file);
    l->file = NULL;
    l->reader = fs_reader_close(l->reader);
    l->node = NULL;
}

struct logs *logs_close(struct logs *l)
{
    if (!l)
        return NULL;
    leave_node(l);
    for (size_t i = 0; i < l->n_nodes; i++)
        free(l->nodes[i].path);
    free(l->nodes);
    free(l->app);
    free(l);
    return NULL;
}

void logs_rewind(struct logs *l)
{
    leave_node(l);
    l->at = 0;
}

static ssize_t from_file(void *arg, uint64_t offset, void *p, size_t n, struct err *err)
{
    return fs_pread(arg, offset, p, n, err);
}

static int enter_node(struct logs *l, struct err *err)
{
    struct node *n = &l->nodes[l->at++];
    struct log_about about = { .app = l->app, .end = n->end };
    int r = fs_open(n->fs, n->path, &l->reader, err);

    l->node = n;
    if (r < 0)
        return r;
    l->source =
        (struct log_source){ .pread = from_file, .arg = l->reader, .length = fs_length(l->reader) };
    r = log_format_find(&l->source, &about, &l->format, err);
    return r == 0 ? l->format->open(&l->source, &about, &l->file, err) : r;
}

/* Wraps what went wrong with the present node's file, which is then left. */
static int give_up_node(struct logs *l, int r, struct err *err)
{
    r = err_wrap(err, r, "logs in '%s'", l->node->path);
    leave_node(l);
    return r;
}

/* A damaged file is an error of this call only: the next one goes on with the next node, so a
 * caller that wants all it can get calls on. */
int logs_next(struct logs *l, const struct logs_file **ret, struct err *err)
{
    struct log_item item = { 0 };

    for (;;) {
        int r = 0;

        if (!l->node && l->at == l->n_nodes)
            return 0;
        if (!l->node)
            r = enter_node(l, err);
        if (r == 0)
            r = l->format->next(l->file, &item, err);
        if (r < 0)
            return give_up_node(l, r, err);
        if (r > 0)
            break;
        leave_node(l);
    }
    l->present = (struct logs_file){ .node = l->node->name,
                                     .container = item.container,
                                     .name = item.name,
                                     .length = item.length,
                                     .mtime = item.mtime };
    *ret = &l->present;
    return 1;
}

int logs_find(struct logs *l, const char *container, const char *name, const struct logs_file **ret,
              struct err *err)
{
    int r;

    while ((r = logs_next(l, ret, err)) > 0)
        if (str_eq((*ret)->name, name) && (!container || str_eq((*ret)->container, container)))
            break;
    return r;
}

ssize_t logs_read(struct logs *l, void *p, size_t n, struct err *err)
{
    ssize_t got = l->file ? l->format->read(l->file, p, n, err) : 0;

    return got < 0 ? give_up_node(l, (int)got, err) : got;
}
