/* log_segments.c - files of a log in HDFS, as log_mirror.c writes them: the segments of
 * job/segment.h. */
#include "master/yarn/log_segments.h"
#include "base/log.h"
#include "base/path.h"
#include "job/segment.h"
#include "master/yarn/master_yarn_private.h"
#include "platform/log/log_files.h"

#include <string.h>

#define PART_MAX ((size_t)256 * MIB)
#define LEASE_MS 30000

char *parts_name(const struct parts *p, int attempt, unsigned number)
{
    const struct segment s = { attempt, number };
    AUTO_FREE char *name = segment_name(p->head, p->tail, &s);

    return name ? path_join(p->dir, name) : NULL;
}

/* Those of the attempts before ours. */
static int parts_find(struct master *m, const struct parts *p, struct log_files *ret,
                      struct err *err)
{
    const struct log_name name = { p->dir, p->head, p->tail };

    ret->fs = yarn_of(m)->container->fs;
    return log_files_find(ret, &name, yarn_of(m)->container->attempt, err);
}

/* The file of a master that died is still open for the NameNode: its last bytes are known only
 * once it has been taken from that master. */
static void take_from_writer(void *arg, const char *path)
{
    struct master *m = arg;
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
    AUTO_LOG_FILES list = { 0 };
    int r = parts_find(m, p, &list, err);

    for (size_t i = 0; r == 0 && i < list.n; i++) {
        take_from_writer(m, list.v[i].path);
        r = read_whole(m, list.v[i].path, fn, arg, err);
    }
    return r;
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

/* On the way to the first that has to be read each is taken from its writer, also those that are
 * then read: one pass does both. */
int parts_lines(struct master *m, const struct parts *p, fs_line_fn *fn, void *arg, struct err *err)
{
    AUTO_LOG_FILES list = { 0 };
    int r = parts_find(m, p, &list, err);

    for (size_t i = r == 0 ? log_files_first(&list, take_from_writer, m) : 0; r == 0 && i < list.n;
         i++) {
        struct cut_part x = { fn, arg, log_files_end(&list, i) };

        r = fs_lines(list.fs, list.v[i].path, parts_on_line, &x, err);
    }
    return r;
}
