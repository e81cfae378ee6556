/* process_tree.c - reads the processes below one process.
 *
 * Where the kernel lists the children of a process (CONFIG_PROC_CHILDREN) those lists are followed;
 * elsewhere all of /proc is read and sorted out by parents. Before a signal the process's start
 * time is compared again, through a pidfd: a number that was given out anew is not hit. */
#include "agent/tasks/process_tree.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define PATH_SIZE 256
#define ENVIRON_MAX (2 * MIB) /* what the kernel allows a process to be started with */

void tree_init(struct tree *t)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    *t = (struct tree){ .scan = access(path, R_OK) < 0, .proc = "/proc" };
}

void tree_done(struct tree *t)
{
    free(t->v);
    t->v = NULL;
    t->n = t->cap = 0;
}

/* ---- one process ---- */

/* "pid (name) S ppid pgrp session …": the name may contain anything, so the last ')' counts. */
static bool parse_stat(char *line, struct tree_proc *ret)
{
    char *at = strrchr(line, ')');
    unsigned long long field[25] = { 0 };

    if (!at || at[1] != ' ' || !at[2])
        return false;
    ret->state = at[2];
    at += 3;
    for (int i = 4; i < 25; i++) /* numbered from 1, as in the manual */
        field[i] = strtoull(at, &at, 10);
    ret->parent = (pid_t)field[4];
    ret->group = (pid_t)field[5];
    ret->session = (pid_t)field[6];
    ret->ticks = field[14] + field[15];
    ret->start = field[22];
    ret->rss = field[24] * (unsigned long)sysconf(_SC_PAGESIZE);
    return true;
}

static bool process_tree_look(const char *proc, pid_t pid, struct tree_proc *ret)
{
    char path[PATH_SIZE], line[1024];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (n <= 0)
        return false;
    line[n] = '\0';
    *ret = (struct tree_proc){ .pid = pid };
    return parse_stat(line, ret);
}

bool tree_look(pid_t pid, struct tree_proc *ret)
{
    return process_tree_look("/proc", pid, ret);
}

/* Without a `top` it is its own. */
#define OWN_TOP SIZE_MAX
static int tree_add(struct tree *t, pid_t pid, size_t top)
{
    struct tree_proc p;

    if (!process_tree_look(t->proc, pid, &p))
        return 0; /* gone meanwhile */
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        struct tree_proc *v = reallocarray(t->v, cap, sizeof(*v));

        if (!v)
            return -ENOMEM;
        t->v = v;
        t->cap = cap;
    }
    p.top = top == OWN_TOP ? t->n : top;
    t->v[t->n++] = p;
    return 0;
}

/* ---- by lists of children ---- */

struct below {
    struct tree *t;
    size_t top;
    tree_skip *skip;
    void *user;
};

static int tree_add_list(struct below *b, char *list)
{
    char *at = list, *end;
    int r = 0;

    while (r == 0) {
        pid_t pid = (pid_t)strtol(at, &end, 10);

        if (end == at)
            break;
        at = end;
        if (!b->skip || !b->skip(b->user, pid))
            r = tree_add(b->t, pid, b->top);
    }
    return r;
}

/* Each thread of a process has its own list. */
static int add_children(struct below *b, pid_t of)
{
    AUTO_BUF list = { .max = 4 * MIB };
    char path[PATH_SIZE];
    struct dirent *e;
    int r = 0;
    AUTO_DIR DIR *d = NULL;

    snprintf(path, sizeof(path), "%s/%d/task", b->t->proc, (int)of);
    d = opendir(path);
    if (!d)
        return 0;
    while (r == 0 && (e = readdir(d))) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "%s/%d/task/%.16s/children", b->t->proc, (int)of, e->d_name);
        buf_reset(&list);
        if (path_read(path, &list, NULL) < 0)
            continue; /* the thread has gone */
        r = buf_text(&list) ? tree_add_list(b, (char *)list.data) : -ENOMEM;
    }
    return r;
}

/* The list is its own queue: children are added behind while it is walked. `skip` holds for the
 * root's children alone. */
static int read_lists(struct tree *t, pid_t root, tree_skip *skip, void *user)
{
    struct below b = { .t = t, .top = OWN_TOP, .skip = skip, .user = user };
    int r = add_children(&b, root);

    b.skip = NULL;
    for (size_t i = 0; r == 0 && i < t->n; i++) { /* grows while it runs */
        b.top = t->v[i].top;
        r = add_children(&b, t->v[i].pid);
    }
    return r;
}

/* ---- by looking at everything ---- */

static int by_pid(const void *a, const void *b)
{
    const struct tree_proc *x = a, *y = b;

    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct tree_proc *tree_find(const struct tree *t, pid_t pid)
{
    struct tree_proc key = { .pid = pid };

    return t->n ? bsearch(&key, t->v, t->n, sizeof(*t->v), by_pid) : NULL;
}

/* The child of the root that `p` descends from; NULL when it is not below the root. */
static const struct tree_proc *find_top(const struct tree *t, const struct tree_proc *p, pid_t root)
{
    for (size_t i = 0; p && i <= t->n; i++) { /* a snapshot may contain cycles */
        if (p->parent == root)
            return p;
        p = tree_find(t, p->parent);
    }
    return NULL;
}

/* Drops what is not below the root. Whatever stands between a process and the root stays too, so
 * each can be looked for among those that are left. */
static void keep_ours(struct tree *t, pid_t root)
{
    size_t n = 0;

    qsort(t->v, t->n, sizeof(*t->v), by_pid);
    for (size_t i = 0; i < t->n; i++)
        t->v[i].top = find_top(t, &t->v[i], root) ? 1 : 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].top)
            t->v[n++] = t->v[i];
    t->n = n;
    for (size_t i = 0; i < t->n; i++)
        t->v[i].top = (size_t)(find_top(t, &t->v[i], root) - t->v);
}

static int tree_read_all(struct tree *t, pid_t root, tree_skip *skip, void *user)
{
    struct dirent *e;
    int r = 0;
    AUTO_DIR DIR *d = opendir(t->proc);

    if (!d)
        return -errno;
    while (r == 0 && (e = readdir(d))) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (pid > 1 && pid != root && !(skip && skip(user, pid)))
            r = tree_add(t, pid, OWN_TOP);
    }
    if (r == 0 && t->n > 0)
        keep_ours(t, root);
    return r;
}

int tree_read(struct tree *t, pid_t root, tree_skip *skip, void *user)
{
    t->n = 0;
    return t->scan ? tree_read_all(t, root, skip, user) : read_lists(t, root, skip, user);
}

/* ---- what one may ask of a process ---- */

int tree_signal(const struct tree_proc *p, int signum)
{
    AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct tree_proc now;

    if (fd < 0)
        return -errno;
    /* The descriptor is of whoever has the number now: is it still the same one? */
    if (!tree_look(p->pid, &now) || now.start != p->start)
        return -ESRCH;
    return syscall(SYS_pidfd_send_signal, fd, signum, NULL, 0) < 0 ? -errno : 0;
}

bool tree_env(pid_t pid, const char *name, char *out, size_t cap)
{
    AUTO_BUF env = { .max = ENVIRON_MAX };
    size_t len = strlen(name), at = 0;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (path_read(path, &env, NULL) < 0 || !buf_text(&env))
        return false;
    while (at < env.len) {
        const char *v = (const char *)env.data + at;

        if (strncmp(v, name, len) == 0 && v[len] == '=' && strlen(v + len + 1) < cap) {
            snprintf(out, cap, "%s", v + len + 1);
            return true;
        }
        at += strlen(v) + 1;
    }
    return false;
}

uint64_t tree_pss(pid_t pid)
{
    AUTO_BUF text = { .max = 64 * KIB };
    const char *at;
    char path[40];

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    if (path_read(path, &text, NULL) < 0 || !buf_text(&text))
        return 0;
    at = strstr((const char *)text.data, "\nPss:");
    return at ? strtoull(at + 5, NULL, 10) * 1024 : 0;
}

uint64_t tree_now(void)
{
    struct timespec t;
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * hz + (uint64_t)t.tv_nsec * hz / 1000000000;
}
