/* logfiles.c - see logfiles.h */
#include "cmd/job/logfiles.h"
#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK (64 * KIB)

bool logfiles_wanted(const struct strs *wanted, const char *task)
{
    size_t role = strcspn(task, ":");

    if (!wanted || wanted->n == 0)
        return true;
    for (size_t i = 0; i < wanted->n; i++) {
        const char *w = wanted->v[i];

        if (str_eq(w, task) || (strlen(w) == role && strncmp(w, task, role) == 0))
            return true;
    }
    return false;
}

/* "worker-12.err" as a task's name and stream. */
static bool parse_name(const char *name, struct logfile *ret)
{
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
    size_t role;

    if (!dash || !dot || dot < dash || (!str_eq(dot, ".out") && !str_eq(dot, ".err")) ||
        strlen(name) >= sizeof(ret->task))
        return false;
    ret->stream = str_eq(dot, ".err") ? PIECE_ERR : PIECE_OUT;
    snprintf(ret->task, sizeof(ret->task), "%.*s:%.*s", (int)(dash - name), name,
             (int)(dot - dash - 1), dash + 1);
    if (!piece_task(ret->task, &role, &ret->rank))
        return false;
    memcpy(ret->role, ret->task, role);
    ret->role[role] = '\0';
    return true;
}

static int in_order(const void *a, const void *b)
{
    const struct logfile *x = a, *y = b;
    int r = strcmp(x->role, y->role);

    if (r == 0)
        r = (x->rank > y->rank) - (x->rank < y->rank);
    return r ? r : (int)x->stream - (int)y->stream;
}

static int add(struct logfiles *l, const char *dir, const char *name, const struct logfile *f)
{
    if ((l->n & (l->n + 1)) == 0) { /* room doubles */
        struct logfile *v = reallocarray(l->v, (l->n + 1) * 2, sizeof(*v));

        if (!v)
            return -ENOMEM;
        l->v = v;
    }
    l->v[l->n] = *f;
    l->v[l->n].path = path_join(dir, name);
    return l->v[l->n++].path ? 0 : -ENOMEM;
}

int logfiles_list(const char *dir, const struct strs *wanted, struct logfiles *ret, struct err *err)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int r = 0;

    if (!d)
        return errno == ENOENT ? 0 : err_sys(err, "look at the logs in '%s'", dir);
    while (r == 0 && (e = readdir(d)) != NULL) {
        struct logfile f = { 0 };

        if (parse_name(e->d_name, &f) && logfiles_wanted(wanted, f.task))
            r = add(ret, dir, e->d_name, &f);
    }
    closedir(d);
    if (r < 0)
        return err_oom(err);
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), in_order);
    return 0;
}

void logfiles_done(struct logfiles *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct logfiles){ 0 };
}

int logfiles_tail(int fd, uint64_t lines, uint64_t *ret)
{
    AUTO_FREE char *p = malloc(BLOCK);
    struct stat st;
    off_t end;
    uint64_t seen = 0;

    *ret = 0;
    if (!p)
        return -ENOMEM;
    if (fstat(fd, &st) < 0)
        return -errno;
    /* The newline at the very end ends the last line and begins none. */
    for (end = st.st_size > 0 ? st.st_size - 1 : 0; end > 0;) {
        size_t some = end < (off_t)BLOCK ? (size_t)end : BLOCK;
        ssize_t n = pread(fd, p, some, end - (off_t)some);

        if (n < 0)
            return -errno;
        if ((size_t)n < some)
            return 0; /* became shorter: show all of it */
        for (size_t i = some; i > 0; i--)
            if (p[i - 1] == '\n' && ++seen == lines) {
                *ret = (uint64_t)end - some + i;
                return 0;
            }
        end -= (off_t)some;
    }
    return 0;
}
