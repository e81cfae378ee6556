/* mounts.h - directories that only a mount table of viewfs has: "/" there, and all above a mount
 * point. */
#pragma once
#include "cmd/fs/fs_files.h"

/* What is in such a directory: mount points as the directories they lead to, others as directories
 * that nobody can write to; and below a fallback what else it has there. Returns 1, or 0 when
 * `operand` is no such directory, and nothing was found. `ret` is the caller's: fs_entries_done().
 * Fibers only. */
int mounts_list(struct files *f, const char *operand, struct fs_entries *ret, struct err *err);
/* The directory itself; the same. */
int mounts_stat(struct files *f, const char *operand, struct fs_entry *ret, struct err *err);
