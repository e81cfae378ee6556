/* hdfs_driver_verbs.c - what hdfs_driver can do. */
#include "base/str.h"
#include "hadoop/fs/fdwait.h"
#include "hadoop/hdfs/hdfs.h"
#include "hdfs_driver.h"
#include "loop/fiber.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where a path argument lies. */
struct place {
    struct fs *fs;
    char *path;
};

static void place_done(struct place *p)
{
    free(p->path);
}
#define PLACE __attribute__((cleanup(place_done))) struct place

static int find(struct driver *d, const char *text, struct place *ret)
{
    return fs_find(d->set, text, FS_ON_CLUSTER, &ret->fs, &ret->path, &d->err);
}

static int open_local(const char *name, int flags, struct err *err)
{
    int fd;

    if (str_eq(name, "-"))
        return dup(flags & O_WRONLY ? 1 : 0);
    fd = open(name, flags | O_CLOEXEC, 0666);
    return fd < 0 ? err_sys(err, "open '%s'", name) : fd;
}

AUTO_DEFINE(fdwait, struct fdwait *, fdwait_free);

/* ---- verbs ---- */

/* Copies in pieces, with flushes and pauses between. */
static int copy_slowly(struct driver *d, struct fs_writer *w, int fd)
{
    int64_t piece = d->o.hflush ? d->o.hflush : 65536;
    AUTO_FREE char *buffer = malloc((size_t)piece);
    AUTO(fdwait) struct fdwait *wait = NULL;
    int r = buffer ? fdwait_new(d->loop, fd, false, &wait, &d->err) : err_oom(&d->err);

    while (r == 0) {
        ssize_t n = fdwait_read(wait, fd, buffer, (size_t)piece);

        if (n <= 0)
            return n < 0 ? err_code(&d->err, (int)n, "read") : 0;
        r = fs_write(w, buffer, (size_t)n, &d->err);
        if (r == 0 && d->o.hflush)
            r = fs_hflush(w, &d->err);
        if (r == 0 && d->o.hflush) {
            printf("flushed %llu\n", (unsigned long long)fs_written(w));
            fflush(stdout);
        }
        if (r == 0 && d->o.delay)
            r = fiber_sleep(d->loop, d->o.delay);
        if (r == 0 && d->o.abort_at && fs_written(w) >= (uint64_t)d->o.abort_at)
            r = err_set(&d->err, -ECANCELED, "given up as asked");
    }
    return r;
}

static int put_one(struct driver *d, const char *from, const struct place *to, struct err *err)
{
    AUTO_FS_WRITER *w = NULL;
    AUTO_CLOSE int fd = open_local(from, O_RDONLY, err);
    bool slow = d->o.hflush || d->o.delay || d->o.abort_at;
    int r;

    if (fd < 0)
        return fd;
    r = fs_create(to->fs, to->path, &d->o.create, &w, err);
    if (r == 0)
        r = slow ? copy_slowly(d, w, fd) : fs_copy_in(w, fd, NULL, NULL, err);
    return r < 0 ? r : fs_close(take(w), err);
}

static int do_put(struct driver *d)
{
    PLACE to = { 0 };
    int r = find(d, d->args[1], &to);

    return r < 0 ? r : put_one(d, d->args[0], &to, &d->err);
}

static int get_one(struct driver *d, const struct place *from, const char *to, struct err *err)
{
    AUTO_FS_READER *reader = NULL;
    AUTO_CLOSE int fd = -1;
    int r = fs_open(from->fs, from->path, &reader, err);

    if (r < 0)
        return r;
    fd = open_local(to, O_WRONLY | O_CREAT | O_TRUNC, err);
    if (fd < 0)
        return fd;
    if (d->o.offset)
        fs_seek(reader, (uint64_t)d->o.offset);
    return fs_copy_out(reader, fd, NULL, NULL, err);
}

static int do_get(struct driver *d)
{
    PLACE from = { 0 };
    int r = find(d, d->args[0], &from);

    return r < 0 ? r : get_one(d, &from, d->args[1], &d->err);
}

static int do_pread(struct driver *d)
{
    PLACE from = { 0 };
    AUTO_FS_READER *reader = NULL;
    AUTO_FREE char *buffer = malloc((size_t)d->o.length + 1);
    ssize_t n;
    int r = find(d, d->args[0], &from);

    if (r == 0)
        r = fs_open(from.fs, from.path, &reader, &d->err);
    if (r < 0 || !buffer)
        return r < 0 ? r : -ENOMEM;
    n = fs_pread(reader, (uint64_t)d->o.offset, buffer, (size_t)d->o.length, &d->err);
    if (n > 0)
        fwrite(buffer, 1, (size_t)n, stdout);
    return n < 0 ? (int)n : 0;
}

/* Reads a file that somebody is writing until it is closed. */
static int do_follow(struct driver *d)
{
    PLACE from = { 0 };
    uint64_t seen = 0;
    int r = find(d, d->args[0], &from);

    for (bool growing = true; r == 0 && growing;) {
        AUTO_FS_READER *reader = NULL;

        r = fs_open(from.fs, from.path, &reader, &d->err);
        if (r < 0)
            return r;
        growing = fs_growing(reader);
        fs_seek(reader, seen);
        seen = fs_length(reader);
        r = fs_copy_out(reader, 1, NULL, NULL, &d->err);
        if (r == 0 && growing)
            r = fiber_sleep(d->loop, 50);
    }
    return r;
}

static void print_entry(const struct fs_entry *e)
{
    static const char types[] = "-dlo";
    char name[4096];

    str_clean(name, sizeof(name), e->path);
    printf("%c %04o %u %s %s %llu %llu %s%s%s\n", types[e->type], e->mode, e->replication, e->owner,
           e->group, (unsigned long long)e->length, (unsigned long long)e->block_size,
           e->encrypted ? "encrypted " : "", e->erasure_coded ? "erasure-coded " : "", name);
}

static int do_ls(struct driver *d)
{
    PLACE at = { 0 };
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = find(d, d->args[0], &at);

    if (r == 0)
        r = fs_list_open(at.fs, at.path, &list, &d->err);
    if (r < 0)
        return r;
    while ((r = fs_list_next(list, &e, &d->err)) > 0)
        print_entry(e);
    return r;
}

static int do_glob(struct driver *d)
{
    PLACE at = { 0 };
    AUTO_FS_ENTRIES found = { 0 };
    int r = find(d, d->args[0], &at);

    if (r == 0)
        r = fs_glob(at.fs, at.path, &found, &d->err);
    for (size_t i = 0; i < found.n; i++)
        print_entry(&found.v[i]);
    return r;
}

static int do_stat(struct driver *d)
{
    PLACE at = { 0 };
    AUTO_FS_ENTRY e = { 0 };
    int r = find(d, d->args[0], &at);

    if (r == 0)
        r = fs_stat(at.fs, at.path, &e, &d->err);
    if (r == 0)
        print_entry(&e);
    return r;
}

static int do_mkdir(struct driver *d)
{
    PLACE at = { 0 };
    int r = find(d, d->args[0], &at);

    return r < 0 ? r : fs_mkdirs(at.fs, at.path, d->o.create.mode, d->o.parents, &d->err);
}

static int do_rm(struct driver *d)
{
    PLACE at = { 0 };
    int r = find(d, d->args[0], &at);

    return r < 0 ? r : fs_delete(at.fs, at.path, d->o.recursive, &d->err);
}

static int do_mv(struct driver *d)
{
    PLACE from = { 0 };
    PLACE to = { 0 };
    int r = find(d, d->args[0], &from);

    if (r == 0)
        r = find(d, d->args[1], &to);
    return r < 0 ? r : fs_rename(from.fs, from.path, to.path, d->o.create.overwrite, &d->err);
}

static int do_chmod(struct driver *d)
{
    PLACE at = { 0 };
    int r = find(d, d->args[0], &at);

    return r < 0 ? r : fs_chmod(at.fs, at.path, d->o.create.mode, &d->err);
}

static int do_du(struct driver *d)
{
    PLACE at = { 0 };
    struct fs_summary s;
    int r = find(d, d->args[0], &at);

    if (r == 0)
        r = fs_summary(at.fs, at.path, &s, &d->err);
    if (r == 0)
        printf("%llu %llu %llu %llu %lld %lld\n", (unsigned long long)s.length,
               (unsigned long long)s.space, (unsigned long long)s.files, (unsigned long long)s.dirs,
               (long long)s.quota, (long long)s.space_quota);
    return r;
}

static int do_recover(struct driver *d)
{
    PLACE at = { 0 };
    int r = find(d, d->args[0], &at);

    return r < 0 ? r : fs_recover_lease(at.fs, at.path, loop_in(d->loop, 60000), &d->err);
}

/* Gets a token, has it renewed by ourselves, and drops it. ARG: authority renewer file. */
static int do_token(struct driver *d)
{
    AUTO_TOKEN t = { 0 };
    struct hdfs *fs = NULL;
    int64_t expiry = 0;
    int r = session_find_user(d->session, &d->err);

    if (r == 0)
        r = hdfs_open(d->session, d->args[0], &fs, &d->err);
    if (r == 0)
        r = hdfs_get_token(fs, d->args[1], &t, &d->err);
    if (r > 0) {
        printf("%s %s\n", t.kind, t.service);
        r = credentials_add(session_credentials(d->session), t.service, &t, &d->err);
        if (r == 0)
            r = credentials_save(session_credentials(d->session), d->args[2], &d->err);
        if (r == 0 && str_eq(d->args[1], session_user(d->session)))
            r = hdfs_renew_token(fs, &t, &expiry, &d->err);
        printf("expiry %lld\n", (long long)expiry);
    } else if (r == 0) {
        printf("none\n");
    }
    hdfs_close(fs);
    return r;
}

/* ---- trees ---- */

struct job {
    struct driver *d;
    struct place place;
    char *local;
    bool put;
};

static void job_free(struct job *j)
{
    free(j->local);
    free(j->place.path);
    free(j);
}

static int run_job(void *arg, struct err *err)
{
    struct job *j = arg;
    int r =
        j->put ? put_one(j->d, j->local, &j->place, err) : get_one(j->d, &j->place, j->local, err);

    job_free(j);
    return r;
}

static int start_job(struct group *g, struct driver *d, const struct fs_entry *e, const char *other,
                     bool put)
{
    struct job *j = calloc(1, sizeof(*j));
    PLACE to = { 0 };
    int r;

    if (!j)
        return -ENOMEM;
    j->d = d;
    j->put = put;
    r = find(d, put ? other : e->path, &to);
    if (r == 0) {
        j->place = to;
        to.path = NULL;
        j->local = strdup(put ? e->path : other);
        r = group_go(g, run_job, j, &d->err);
    }
    if (r < 0)
        job_free(j);
    return r;
}

/* Copies a tree, several files in flight. */
static int copy_tree(struct driver *d, bool put)
{
    AUTO_STRS from = { 0 };
    AUTO_STRS to = { 0 };
    PLACE source = { 0 };
    PLACE target = { 0 };
    struct group g;
    int r = fs_find(d->set, d->args[0], put ? FS_ON_LOCAL : FS_ON_CLUSTER, &source.fs, &source.path,
                    &d->err);

    if (r == 0)
        r = fs_find(d->set, d->args[1], put ? FS_ON_CLUSTER : FS_ON_LOCAL, &target.fs, &target.path,
                    &d->err);
    if (r < 0 || strs_add(&from, source.path) < 0 || strs_add(&to, target.path) < 0)
        return r < 0 ? r : -ENOMEM;
    group_init(&g, d->loop, (size_t)d->o.jobs);
    for (size_t i = 0; r == 0 && i < from.n; i++) {
        AUTO_FS_LIST *list = NULL;
        const struct fs_entry *e;

        r = fs_mkdirs(target.fs, to.v[i], FS_MODE_DEFAULT, true, &d->err);
        if (r == 0)
            r = fs_list_open(source.fs, from.v[i], &list, &d->err);
        while (r == 0 && fs_list_next(list, &e, &d->err) > 0) {
            AUTO_FREE char *other = str_printf("%s/%s", to.v[i], e->name);

            if (e->type == FS_DIRECTORY)
                r = strs_add(&from, e->path) < 0 || strs_add(&to, other) < 0 ? -ENOMEM : 0;
            else
                r = start_job(&g, d, e, other, put);
        }
    }
    if (r < 0)
        group_cancel(&g);
    return group_wait(&g, r < 0 ? NULL : &d->err) < 0 && r == 0 ? d->err.code : r;
}

static int do_puttree(struct driver *d)
{
    return copy_tree(d, true);
}

static int do_gettree(struct driver *d)
{
    return copy_tree(d, false);
}

/* ---- the table ---- */

static const struct verb verbs[] = {
    { "put", 2, do_put },         { "get", 2, do_get },         { "pread", 1, do_pread },
    { "follow", 1, do_follow },   { "ls", 1, do_ls },           { "glob", 1, do_glob },
    { "stat", 1, do_stat },       { "mkdir", 1, do_mkdir },     { "rm", 1, do_rm },
    { "mv", 2, do_mv },           { "chmod", 1, do_chmod },     { "du", 1, do_du },
    { "recover", 1, do_recover }, { "puttree", 2, do_puttree }, { "gettree", 2, do_gettree },
    { "token", 3, do_token },
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (str_eq(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}
