/* log_segments.c - files of a log in HDFS, as log_mirror.c writes them: the segments of
 * job/segment.h. */
#include "master/yarn/log_segments.h"
#include "base/log.h"
#include "base/path.h"
#include "job/segment.h"
#include "master/yarn/master_yarn_private.h"

#include <string.h>

#define PART_MAX ((size_t)256 * MIB)
#define LEASE_MS 30000

struct part {
    struct segment segment;
    char *path;
};

struct list {
    struct part *v;
    size_t n;
};

char *parts_name(const struct parts *p, int attempt, unsigned number)
{
    const struct segment s = { attempt, number };
    AUTO_FREE char *name = segment_name(p->head, p->tail, &s);

    return name ? path_join(p->dir, name) : NULL;
}

static int parts_by_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return segment_compare(&x->segment, &y->segment);
}

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i].path);
    free(list->v);
}

/* Those of the attempts before ours, in their order. */
static int find_parts(struct master_container *c, const struct parts *p, struct list *ret,
                      struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int r = fs_list_open(c->fs, p->dir, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        struct part one, *v;

        r = 0;
        if (!segment_parse(e->name, p->head, p->tail, &one.segment) ||
            one.segment.attempt >= c->attempt)
            continue;
        v = realloc(ret->v, (ret->n + 1) * sizeof(*v));
        if (!v)
            return err_oom(err);
        ret->v = v;
        one.path = strdup(e->path);
        if (!one.path)
            return err_oom(err);
        v[ret->n++] = one;
    }
    if (r == 0 && ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), parts_by_order);
    return r;
}

/* The file of a master that died is still open for the NameNode: its last bytes are known only
 * once it has been taken from that master. */
static void take_from_writer(struct master *m, const char *path)
{
    struct err err = ERR_INIT;

    if (fs_recover_lease(yarn_of(m)->container->fs, path, loop_in(m->loop, LEASE_MS), &err) < 0)
        log_warn(LOG_MASTER, "%s: %s, read as far as it goes", path, err.text);
}

static int read_whole(struct master *m, const char *path, parts_fn *fn, void *arg, struct err *err)
{
    AUTO_BUF part = { .max = PART_MAX };
    int r = master_container_load(yarn_of(m)->container, path, &part, err);

    return r < 0 || part.len == 0 ? r : fn(arg, &part, err);
}

int parts_read(struct master *m, const struct parts *p, parts_fn *fn, void *arg, struct err *err)
{
    struct list list = { 0 };
    int r = find_parts(yarn_of(m)->container, p, &list, err);

    for (size_t i = 0; r == 0 && i < list.n; i++) {
        take_from_writer(m, list.v[i].path);
        r = read_whole(m, list.v[i].path, fn, arg, err);
    }
    list_done(&list);
    return r;
}

static int parts_see_head(void *arg, const char *line, size_t n)
{
    return segment_head_line(arg, line, n);
}

static int parts_see_begin(void *arg, const char *line, size_t n)
{
    return segment_begin_line(arg, line, n);
}

/* Where the records of the next master begin, after this part's. */
static uint64_t part_end(struct master *m, const struct list *list, size_t part)
{
    struct segment_begin begin = { .at = UINT64_MAX };

    for (size_t i = part + 1; begin.at == UINT64_MAX && i < list->n; i++) {
        const struct part *other = &list->v[i];

        begin.attempt = other->segment.attempt;
        if (begin.attempt > list->v[part].segment.attempt)
            (void)fs_lines(yarn_of(m)->container->fs, other->path, parts_see_begin, &begin, NULL);
    }
    return begin.at;
}

/* The first that has to be read; from there on they are all ours.
 * From the newest back to one that begins with a whole summary. On the way each is taken from its
 * writer, also those that are then read: one pass does both. */
static size_t first_needed(struct master *m, const struct list *list)
{
    size_t i = list->n;

    while (i-- > 0) {
        struct segment_head head = { 0 };

        take_from_writer(m, list->v[i].path);
        (void)fs_lines(yarn_of(m)->container->fs, list->v[i].path, parts_see_head, &head, NULL);
        if (head.whole && head.next <= part_end(m, list, i))
            return i;
    }
    return 0;
}

struct cut_part {
    fs_line_fn *fn;
    void *arg;
    uint64_t end;
};

static int parts_on_line(void *arg, const char *line, size_t n)
{
    const struct cut_part *x = arg;

    return segment_is_beyond(line, n, x->end) ? 0 : x->fn(x->arg, line, n);
}

int parts_lines(struct master *m, const struct parts *p, fs_line_fn *fn, void *arg, struct err *err)
{
    struct list list = { 0 };
    int r = find_parts(yarn_of(m)->container, p, &list, err);

    for (size_t i = first_needed(m, &list); r == 0 && i < list.n; i++) {
        struct cut_part x = { fn, arg, part_end(m, &list, i) };

        r = fs_lines(yarn_of(m)->container->fs, list.v[i].path, parts_on_line, &x, err);
    }
    list_done(&list);
    return r;
}
