/* log_files.c - lists the files of a log, and knows from which of them on it has to be read. See
 * log_files.h. */
#include "platform/log/log_files.h"
#include "base/array.h"

#include <string.h>

void log_files_done(struct log_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct log_files){ 0 };
}

/* ---- which there are ---- */

static int log_files_by_order(const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;

    return segment_compare(&x->segment, &y->segment);
}

int log_files_add(struct log_files *l, const struct segment *segment, const char *path,
                  struct err *err)
{
    AUTO_FREE char *copy = strdup(path);

    if (!copy || ARRAY_ADD(l->v, l->n, (struct log_file){ *segment, copy }) < 0)
        return err_oom(err);
    copy = NULL;
    return 0;
}

/* The directory of a large job has thousands of other files: what sorts before is not asked for. */
int log_files_find(struct log_files *l, const struct log_name *name, int before, struct err *err)
{
    AUTO_FREE char *head = str_printf("%s-", name->head);
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int r = head ? fs_list_open_after(l->fs, name->dir, head, &list, err) : err_oom(err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        struct segment s;

        r = 0;
        if (!str_starts(e->name, head))
            break;
        if (segment_parse(e->name, name->head, name->tail, &s) && s.attempt < before)
            r = log_files_add(l, &s, e->path, err);
    }
    if (r == 0 && l->n > 1)
        qsort(l->v, l->n, sizeof(l->v[0]), log_files_by_order);
    return r;
}

/* ---- what has to be read of them ---- */

static int log_files_see_head(void *arg, const char *line, size_t n)
{
    return segment_head_line(arg, line, n);
}

static int log_files_see_begin(void *arg, const char *line, size_t n)
{
    return segment_begin_line(arg, line, n);
}

uint64_t log_files_end(const struct log_files *l, size_t file)
{
    struct segment_begin begin = { .at = UINT64_MAX };

    for (size_t i = file + 1; begin.at == UINT64_MAX && i < l->n; i++) {
        begin.attempt = l->v[i].segment.attempt;
        if (begin.attempt > l->v[file].segment.attempt)
            (void)fs_lines(l->fs, l->v[i].path, log_files_see_begin, &begin, NULL);
    }
    return begin.at;
}

bool log_files_has_summary(const struct log_files *l, size_t file, uint64_t end)
{
    struct segment_head head = { 0 };

    (void)fs_lines(l->fs, l->v[file].path, log_files_see_head, &head, NULL);
    return head.whole && head.next <= end;
}

size_t log_files_first(const struct log_files *l, void (*look)(void *arg, const char *path),
                       void *arg)
{
    size_t i = l->n;

    while (i-- > 0) {
        if (look)
            look(arg, l->v[i].path);
        if (i > 0 && log_files_has_summary(l, i, log_files_end(l, i)))
            return i;
    }
    return 0;
}
