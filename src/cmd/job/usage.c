/* usage.c - see usage.h */
#include "cmd/job/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Fields of /proc/PID/stat behind the name, counted from 0 at the state. */
enum { FIELD_SESSION = 3, FIELD_USER = 11, FIELD_SYSTEM = 12, FIELD_PAGES = 21, FIELDS };

bool usage_parse(const char *text, struct usage_stat *ret)
{
    const char *p = strrchr(text, ')'); /* a name may hold anything, also ") R 1" */
    uint64_t field[FIELDS] = { 0 };
    char *end;

    if (!p || p[1] != ' ' || !p[2])
        return false;
    p += 3; /* the state is a letter */
    for (size_t i = 1; i < FIELDS; i++) {
        field[i] = strtoull(p, &end, 10);
        if (end == p)
            return false;
        p = end;
    }
    *ret = (struct usage_stat){ .session = (pid_t)field[FIELD_SESSION],
                                .ticks = field[FIELD_USER] + field[FIELD_SYSTEM],
                                .pages = field[FIELD_PAGES] };
    return true;
}

static int by_session(const void *a, const void *b)
{
    const struct usage_of *x = a, *y = b;

    return (x->session > y->session) - (x->session < y->session);
}

const struct usage_of *usage_find(const struct usage *u, pid_t session)
{
    struct usage_of key = { .session = session };

    return u && u->n ? bsearch(&key, u->v, u->n, sizeof(*u->v), by_session) : NULL;
}

void usage_done(struct usage *u)
{
    free(u->v);
    *u = (struct usage){ 0 };
}

/* Processes come and go while we look: one that cannot be read is left out. */
static bool read_stat(int proc, const char *pid, struct usage_stat *ret)
{
    char path[64], text[1024];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "%.20s/stat", pid);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return usage_parse(text, ret);
}

static int add(struct usage *u, size_t *cap, const struct usage_stat *s)
{
    if (u->n == *cap) {
        size_t more = *cap ? *cap * 2 : 256;
        struct usage_of *v = reallocarray(u->v, more, sizeof(*v));

        if (!v)
            return -ENOMEM;
        u->v = v;
        *cap = more;
    }
    u->v[u->n++] = (struct usage_of){ .session = s->session,
                                      .memory = s->pages * (uint64_t)sysconf(_SC_PAGESIZE),
                                      .ticks = s->ticks };
    return 0;
}

/* One entry for each session, with what its share is since `before`. */
static void sum_up(struct usage *u, const struct usage *before)
{
    double seconds = before && before->n ? (double)(u->at - before->at) / 1000 : 0;
    size_t n = 0;

    qsort(u->v, u->n, sizeof(*u->v), by_session);
    for (size_t i = 0; i < u->n; i++) {
        if (n > 0 && u->v[n - 1].session == u->v[i].session) {
            u->v[n - 1].memory += u->v[i].memory;
            u->v[n - 1].ticks += u->v[i].ticks;
        } else {
            u->v[n++] = u->v[i];
        }
    }
    u->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct usage_of *was = seconds > 0 ? usage_find(before, u->v[i].session) : NULL;

        u->v[i].share = -1;
        if (was) /* less than before when a process of the session has ended */
            u->v[i].share = u->v[i].ticks > was->ticks ? (double)(u->v[i].ticks - was->ticks) /
                                                             (double)sysconf(_SC_CLK_TCK) / seconds
                                                       : 0;
    }
}

int usage_read(const struct usage *before, int64_t now, struct usage *ret, struct err *err)
{
    AUTO_USAGE u = { .at = now };
    DIR *proc = opendir("/proc");
    const struct dirent *e;
    size_t cap = 0;
    int r = 0;

    if (!proc)
        return err_sys(err, "look at /proc");
    while (r == 0 && (e = readdir(proc)) != NULL) {
        struct usage_stat s;

        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && read_stat(dirfd(proc), e->d_name, &s))
            r = add(&u, &cap, &s);
    }
    closedir(proc);
    if (r < 0)
        return err_oom(err);
    if (u.n > 0)
        sum_up(&u, before);
    *ret = u;
    u = (struct usage){ 0 };
    return 0;
}
