/* archive_files_testing.h - a directory for each test, files in it, and a fiber to run on. */
#pragma once
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static inline int make_dir(void **state)
{
    char name[TEST_PATH];

    *state = test_dir(name, "deploy") ? realpath(name, NULL) : NULL;
    return *state ? 0 : -1;
}

static inline int remove_dir(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

/* A path in a directory. */
static inline char *in(const char *dir, const char *name)
{
    char *path = path_join(dir, name);

    assert_non_null(path);
    return path;
}

/* A file, with the directories above it. */
static inline void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = in(dir, name);
    AUTO_FREE char *above = path_dir(path);

    assert_non_null(above);
    assert_int_equal(path_mkdirs(above, 0700, NULL), 0);
    (void)unlink(path);
    assert_int_equal(path_write_new(path, text, strlen(text), 0600, NULL), 0);
}

/* As if it had been written a minute ago; its ctime stays. */
static inline void age(const char *dir, const char *name)
{
    AUTO_FREE char *path = in(dir, name);
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1700000000 } };

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline void link_to(const char *text, const char *dir, const char *name)
{
    AUTO_FREE char *path = in(dir, name);

    assert_int_equal(symlink(text, path), 0);
}
