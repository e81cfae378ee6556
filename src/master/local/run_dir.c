/* run_dir.c - the run directory of a job on this machine (platform/local/local_jobs.h), kept as it
 * is.
 *
 * It is in a directory for temporary files, and some machines remove what is old there. systemd's
 * cleaner leaves a directory alone that somebody has locked; what others take away is put back:
 * files with what was in them, and sockets as links to the descriptors that we still listen on,
 *
 *     RUN/api.sock -> /proc/1234/fd/17
 *
 * which whoever may look into our process can connect to: this user and root, as before.
 * Connections notice nothing. */
#include "base/log.h"
#include "base/path.h"
#include "master/local/master_local_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOOK_MS 1000
#define KEPT_MAX (8 * MIB)

struct kept_file {
    char *path;
    struct buf text;
    struct timespec since; /* what tells files of before the job from those of it */
    bool there;
};

struct kept_socket {
    char *path;
    int fd; /* of its name, not the one that is listened on; -1: there is none */
};

struct run_dir {
    struct master *m;
    struct fiber *fiber;
    int fd; /* of the directory, with our lock */
    struct kept_file files[3];
    struct kept_socket sockets[2];
    bool told; /* that it could not be put back */
};

static int keep_file(struct run_dir *x, struct kept_file *f, const char *name, struct err *err)
{
    struct stat st;

    f->text.max = KEPT_MAX;
    f->path = path_join(x->m->opt->dir->run, name);
    if (!f->path)
        return err_oom(err);
    if (stat(f->path, &st) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", f->path);
    f->since = st.st_mtim;
    f->there = true;
    return path_read(f->path, &f->text, err);
}

/* O_PATH gives a descriptor of the name itself, through which /proc leads to the socket even when
 * the name is gone. */
static int keep_socket(struct run_dir *x, struct kept_socket *s, const char *name, struct err *err)
{
    s->path = path_join(x->m->opt->dir->run, name);
    if (!s->path)
        return err_oom(err);
    s->fd = open(s->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return s->fd < 0 && errno != ENOENT ? err_sys(err, "look at '%s'", s->path) : 0;
}

/* The directory, ours and locked; made where it is missing.
 * After a cleaner has removed it, anybody can make one of that name in /tmp: it is used only if it
 * belongs to us and nobody else can write to it. The shared lock is what systemd-tmpfiles looks
 * for. */
static int hold_directory(struct run_dir *x, struct err *err)
{
    const char *run = x->m->opt->dir->run;
    AUTO_CLOSE int fd = -1;
    struct stat st;

    if (mkdir(run, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make directory '%s'", run);
    fd = open(run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "open '%s'", run);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return err_set(err, -EPERM, "'%s' is somebody else's by now", run);
    (void)flock(fd, LOCK_SH | LOCK_NB);
    if (x->fd >= 0)
        close(x->fd);
    x->fd = take_fd(fd);
    if (mkdir(x->m->paths.work, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make directory '%s'", x->m->paths.work);
    return 0;
}

static bool run_dir_is_missing(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 && errno == ENOENT;
}

static bool is_complete(const struct run_dir *x)
{
    bool whole = !run_dir_is_missing(x->m->paths.work);

    for (size_t i = 0; i < COUNT_OF(x->files); i++)
        whole &= !x->files[i].there || !run_dir_is_missing(x->files[i].path);
    for (size_t i = 0; i < COUNT_OF(x->sockets); i++)
        whole &= x->sockets[i].fd < 0 || !run_dir_is_missing(x->sockets[i].path);
    return whole;
}

static int run_dir_put_file(const struct kept_file *f, struct err *err)
{
    const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, f->since };
    int r = path_write_new(f->path, f->text.data, f->text.len, 0600, err);

    if (r == 0)
        (void)utimensat(AT_FDCWD, f->path, times, AT_SYMLINK_NOFOLLOW);
    return r;
}

static int put_socket(const struct kept_socket *s, struct err *err)
{
    char target[64];

    (void)snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), s->fd);
    return symlink(target, s->path) < 0 ? err_sys(err, "make '%s'", s->path) : 0;
}

static int put_back(struct run_dir *x, struct err *err)
{
    int r = hold_directory(x, err);

    for (size_t i = 0; i < COUNT_OF(x->files) && r == 0; i++)
        if (x->files[i].there && run_dir_is_missing(x->files[i].path))
            r = run_dir_put_file(&x->files[i], err);
    for (size_t i = 0; i < COUNT_OF(x->sockets) && r == 0; i++)
        if (x->sockets[i].fd >= 0 && run_dir_is_missing(x->sockets[i].path))
            r = put_socket(&x->sockets[i], err);
    return r;
}

static void run_keeper(void *arg)
{
    struct run_dir *x = arg;

    while (fiber_sleep(x->m->loop, LOOK_MS) == 0) {
        struct err err = ERR_INIT;

        if (is_complete(x))
            continue;
        if (put_back(x, &err) == 0)
            log_warn(LOG_MASTER, "something removed files from '%s'; they were put back",
                     x->m->opt->dir->run);
        else if (!x->told)
            log_error(LOG_MASTER, "something removed files from '%s': %s", x->m->opt->dir->run,
                      err.text);
        x->told = err.code < 0;
    }
    x->fiber = NULL;
}

int run_dir_start(struct master *m, struct err *err)
{
    static const char *const files[] = { "join.json", JOBS_CLUSTER, JOBS_TOKENS };
    static const char *const sockets[] = { "api.sock", "agents.sock" };
    struct run_dir *x = calloc(1, sizeof(*x));
    int r;

    if (!x)
        return err_oom(err);
    local_of(m)->run_dir = x;
    x->m = m;
    x->fd = x->sockets[0].fd = x->sockets[1].fd = -1;
    r = hold_directory(x, err);
    for (size_t i = 0; i < COUNT_OF(files) && r == 0; i++)
        r = keep_file(x, &x->files[i], files[i], err);
    for (size_t i = 0; i < COUNT_OF(sockets) && r == 0; i++)
        r = keep_socket(x, &x->sockets[i], sockets[i], err);
    return r == 0 ? fiber_start(m->loop, run_keeper, x, &x->fiber, err) : r;
}

/* Called before the directory is removed, or the keeper would put it back. */
void run_dir_stop(struct master *m)
{
    struct run_dir *x = local_of(m)->run_dir;

    if (!x)
        return;
    if (x->fiber)
        fiber_cancel(x->fiber);
    while (x->fiber)
        (void)fiber_yield(m->loop);
    for (size_t i = 0; i < COUNT_OF(x->files); i++) {
        if (x->files[i].text.data) /* keys and tokens */
            explicit_bzero(x->files[i].text.data, x->files[i].text.len);
        buf_done(&x->files[i].text);
        free(x->files[i].path);
    }
    for (size_t i = 0; i < COUNT_OF(x->sockets); i++) {
        if (x->sockets[i].fd >= 0)
            close(x->sockets[i].fd);
        free(x->sockets[i].path);
    }
    if (x->fd >= 0)
        close(x->fd);
    free(x);
    local_of(m)->run_dir = NULL;
}
