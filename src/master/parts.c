/* parts.c - files of a log in HDFS, as mirror.c writes them: "HEAD-2.TAIL" and "HEAD-2.1.TAIL" of
 * the second attempt. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define PART_MAX ((size_t)256 * MIB)
#define LEASE_MS 30000

struct part {
    int64_t attempt, number;
    char *path;
};

struct list {
    struct part *v;
    size_t n;
};

char *parts_name(const struct parts *p, int attempt, unsigned number)
{
    return number == 0 ? str_printf("%s/%s-%d.%s", p->dir, p->head, attempt, p->tail)
                       : str_printf("%s/%s-%d.%u.%s", p->dir, p->head, attempt, number, p->tail);
}

/* Of an attempt before `before`. */
static bool is_part(const struct parts *p, const char *name, int before, struct part *ret)
{
    size_t head = strlen(p->head), tail = strlen(p->tail), n = strlen(name);
    AUTO_FREE char *numbers = NULL;
    char *dot;

    if (n < head + tail + 3 || !str_starts(name, p->head) || name[head] != '-' ||
        name[n - tail - 1] != '.' || !str_ends(name, p->tail))
        return false;
    numbers = strndup(name + head + 1, n - head - tail - 2);
    if (!numbers)
        return false;
    ret->number = 0;
    dot = strchr(numbers, '.');
    if (dot)
        *dot++ = '\0';
    if (dot && str_to_i64(dot, 0, INT32_MAX, &ret->number) < 0)
        return false;
    return str_to_i64(numbers, 1, before - 1, &ret->attempt) == 0;
}

static int by_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int find(struct container *c, const struct parts *p, struct list *ret, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int r = fs_list_open(c->fs, p->dir, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        struct part one, *v;

        r = 0;
        if (!is_part(p, e->name, c->attempt, &one))
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
        qsort(ret->v, ret->n, sizeof(*ret->v), by_order);
    return r;
}

/* The file of a master that died is still open for the NameNode: its last bytes are known only
 * once it has been taken from that master. */
static int load(struct master *m, const char *path, struct buf *ret, struct err *err)
{
    struct container *c = m->opt->container;

    if (fs_recover_lease(c->fs, path, loop_in(m->loop, LEASE_MS), err) < 0) {
        log_warn(LOG_MASTER, "%s: %s, read as far as it goes", path, err->text);
        err_clear(err);
    }
    return container_load(c, path, ret, err);
}

int parts_read(struct master *m, const struct parts *p,
               int (*fn)(void *arg, const struct buf *part, struct err *err), void *arg,
               struct err *err)
{
    struct list list = { 0 };
    int r = find(m->opt->container, p, &list, err);

    for (size_t i = 0; i < list.n; i++) {
        AUTO_BUF part = { .max = PART_MAX };

        if (r == 0)
            r = load(m, list.v[i].path, &part, err);
        if (r == 0 && part.len > 0)
            r = fn(arg, &part, err);
        free(list.v[i].path);
    }
    free(list.v);
    return r;
}
