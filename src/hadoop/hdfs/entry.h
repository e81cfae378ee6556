/* entry.h - what a file system says of one file, the same for HDFS and for local files.
 *
 * Plain data. An entry owns its strings in one block; an entry that a list lends is borrowed. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fs_type { FS_FILE, FS_DIRECTORY, FS_SYMLINK, FS_OTHER /* device, socket, pipe; local only */ };

struct fs_entry {
    char *path;        /* absolute, without scheme and authority; owns the strings below too */
    const char *name;  /* its last part; "" for the root */
    const char *owner; /* a name, or a number where there is no name */
    const char *group;
    const char *target; /* of a symbolic link, else NULL */
    enum fs_type type;
    uint32_t mode;        /* permission bits with sticky, setuid, setgid: 01777, no type bits */
    uint64_t length;      /* bytes; 0 for directories */
    int64_t mtime, atime; /* milliseconds since 1970; atime is 0 where it is not kept */
    uint32_t replication; /* 0 for directories and local files */
    uint64_t block_size;  /* 0 for directories */
    uint64_t file_id;     /* number of the inode */
    bool acl;             /* it has more permissions than `mode` shows */
    bool encrypted;       /* in an encryption zone: its content cannot be read by us */
    bool erasure_coded;   /* striped: its content cannot be read by us */
};

/* The strings of an entry, before they are copied into it. Each is `n` bytes and need not end. */
struct fs_text {
    const char *p;
    size_t n;
};

/* Fills path, name, owner, group and target of `e` (the other fields stay) with copies. The path
 * is `dir` and `name` joined by one slash; with an empty `name` it is `dir` itself. */
int fs_entry_text(struct fs_entry *e, const char *dir, struct fs_text name, struct fs_text owner,
                  struct fs_text group, struct fs_text target);
/* A copy that owns its strings. */
int fs_entry_copy(struct fs_entry *to, const struct fs_entry *from);
/* Frees the strings and zeroes the entry. Safe on a zeroed one. */
void fs_entry_done(struct fs_entry *e);

#define AUTO_FS_ENTRY AUTO_DONE(fs_entry_done) struct fs_entry

/* A whole tree, counted. */
struct fs_summary {
    uint64_t length;      /* bytes of all files */
    uint64_t space;       /* bytes on disks: with all replicas */
    uint64_t files, dirs; /* `dirs` counts the directory itself */
    int64_t quota;        /* most names below it, -1 for no limit */
    int64_t space_quota;  /* most bytes on disks, -1 for no limit */
};

/* Permission bits of a new file or directory: everything that the umask leaves. */
#define FS_MODE_DEFAULT UINT32_MAX

/* How a file is made. All zero but `mode` means: fail if it exists, and the server's defaults. */
struct fs_create {
    bool overwrite;       /* replace a file that is there */
    bool parents;         /* make the directories above it */
    bool keep;            /* an abort, or a close that fails, leaves what was written */
    uint32_t mode;        /* exact bits, the umask is not applied; or FS_MODE_DEFAULT */
    uint32_t replication; /* 0 for the default */
    uint64_t block_size;  /* 0 for the default */
};
