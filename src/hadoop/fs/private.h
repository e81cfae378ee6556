/* private.h - what the files of this directory share: a set, a file system, open files. */
#pragma once
#include "hadoop/fs/fs.h"
#include "hadoop/fs/fs_local.h"
#include "hadoop/hdfs/hdfs.h"

struct fs {
    struct fs_set *set;
    struct hdfs *hdfs; /* NULL for local files */
    struct fs *next;
    char *home;
    struct local_names names;
};

struct fs_set {
    struct loop *loop;
    struct session *session; /* NULL for local files only */
    struct fs local;
    struct fs *remote; /* one per authority */
};

/* ---- trust.c ---- */

/* Can everybody exchange what is in this directory of HDFS? Pure. */
bool trust_everybody_writes(const struct fs_entry *e);

/* An open file: of its two handles one is set. */
struct fs_writer {
    struct loop *loop;
    struct hdfs_writer *hdfs;
    struct local_file *local;
    uint64_t written;
    size_t since_turn;
};

struct fs_reader {
    struct loop *loop;
    struct hdfs_reader *hdfs;
    struct local_file *local;
    size_t since_turn;
};
