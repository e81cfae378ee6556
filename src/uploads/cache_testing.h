/* cache_testing.h - a cache on this machine's disk, and a fiber to use it on. */
#pragma once
#include "loop/fiber.h"
#include "pyenv/archive_files_testing.h"
#include "uploads/app_dirs.h"
#include "uploads/cache.h"
#include "uploads/cache_private.h"

#define APP "application_1700000000000_0001"
#define OTHER_APP "application_1700000000000_0002"

struct bench {
    const char *dir; /* work files are in DIR/work, BASE is DIR/base */
    char *work, *base;
    struct loop *loop;
    struct fs_set *set;
    struct fs *fs;
    int state; /* of every application */
    void (*body)(struct bench *b);
};

static inline int bench_state(void *user, const char *app, struct err *err)
{
    const struct bench *b = user;

    (void)app;
    return b->state < 0 ? err_set(err, b->state, "nobody answers") : b->state;
}

static inline struct app_dirs_alive bench_alive(struct bench *b)
{
    return (struct app_dirs_alive){ bench_state, b };
}

static inline int bench_run(void *arg)
{
    struct bench *b = arg;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(b->loop, NULL, &b->set, NULL), 0);
    assert_int_equal(fs_find(b->set, b->base, FS_ON_LOCAL, &b->fs, &path, NULL), 0);
    b->body(b);
    b->set = fs_set_free(b->set);
    return 0;
}

static inline void with_bench(void **state, void (*body)(struct bench *b))
{
    struct bench b = { .dir = *state, .body = body, .state = APP_DIRS_LIVES };
    AUTO_FREE char *work = in(*state, "work");
    AUTO_FREE char *base = in(*state, "base");

    assert_true(work && base);
    b.work = work;
    b.base = base;
    assert_int_equal(setenv("XDG_CACHE_HOME", *state, 1), 0);
    assert_int_equal(path_mkdirs(work, 0700, NULL), 0);
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, bench_run, &b, false), 0);
    loop_free(b.loop);
}

static inline struct cache *bench_cache(struct bench *b)
{
    struct cache *c = NULL;

    assert_int_equal(cache_open(b->loop, b->set, b->base, &c, NULL), 0);
    return c;
}

/* Puts one file of DIR/work; the result in `ret`. */
static inline int put_one(struct bench *b, const char *name, struct cache_files *ret,
                          struct err *err)
{
    AUTO_CACHE *c = bench_cache(b);
    AUTO_FREE char *path = in(b->work, name);
    AUTO_UPLOADS l = { 0 };

    assert_non_null(path);
    assert_int_equal(uploads_add(&l, path, name, NULL), 0);
    return cache_put(c, &l, true, ret, err);
}

/* The path of a file in the cache. */
static inline char *path_of(const struct bench *b, const struct cache_file *f)
{
    char *path = str_printf("%s/cache/%s", b->base, f->key);

    assert_non_null(path);
    return path;
}

static inline void set_used(const struct bench *b, const struct cache_file *f, int64_t seconds)
{
    AUTO_FREE char *path = path_of(b, f);
    AUTO_FREE char *dir = path_dir(path);
    struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

    assert_non_null(dir);
    assert_int_equal(utimensat(AT_FDCWD, dir, times, 0), 0);
}
