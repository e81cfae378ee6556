/* hdfs_driver.h - what the parts of hdfs_driver share. */
#pragma once
#include "hadoop/fs/fs.h"
#include "hadoop/session/session.h"

struct options {
    struct fs_create create;
    int64_t hflush; /* flush after every so many bytes, 0 for never */
    int64_t delay;  /* then wait so many milliseconds */
    int64_t offset, length;
    int64_t jobs;
    int64_t abort_at; /* give up after so many bytes, 0 for never */
    bool recursive, parents;
};

struct driver {
    struct loop *loop;
    struct session *session;
    struct fs_set *set;
    struct options o;
    char **args;
    int count;
    struct err err;
};

struct verb {
    const char *name;
    int args;
    int (*run)(struct driver *d);
};

/* The row of a name, or NULL. */
const struct verb *verb_find(const char *name);
