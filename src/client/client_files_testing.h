/* client_files_testing.h - a directory for each test, and files in it. */
#pragma once
#include "base/path.h"
#include "hadoop/fs/fs.h"
#include "test.h"

#include <string.h>

static inline int make_dir(void **state)
{
    char name[TEST_PATH];

    *state = test_dir(name, "job") ? strdup(name) : NULL;
    return *state ? 0 : -1;
}

static inline int remove_dir(void **state)
{
    int r = path_remove(*state, NULL);

    free(*state);
    return r;
}

static inline void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct err err = ERR_INIT;

    assert_non_null(path);
    assert_int_equal(path_write(path, text, strlen(text), 0600, &err), 0);
}

/* The local files of a set that is the caller's. They need no loop. */
static inline struct fs *local_files(struct fs_set **set)
{
    AUTO_FREE char *path = NULL;
    struct fs *fs = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(fs_set_new(NULL, NULL, set, &err), 0);
    assert_int_equal(fs_find(*set, "/", FS_ON_LOCAL, &fs, &path, &err), 0);
    return fs;
}
