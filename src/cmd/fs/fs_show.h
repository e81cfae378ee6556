/* fs_show.h - facts about files as people and programs read them. Pure but for the time zone. */
#pragma once
#include "base/json.h"
#include "hadoop/hdfs/entry.h"

/* "2026-11-16 04:12" in the zone of this machine; "-" for 0. */
#define SHOW_TIME 24
const char *show_time(int64_t ms, char out[SHOW_TIME]);
/* The same with seconds and zone: "2026-11-16 04:12:09 +0000". */
#define SHOW_TIME_LONG 40
const char *show_time_long(int64_t ms, char out[SHOW_TIME_LONG]);

/* "1536", or "1.5 KB" with `human`. */
#define SHOW_SIZE 24
const char *show_size(uint64_t bytes, bool human, char out[SHOW_SIZE]);

const char *show_type(enum fs_type type); /* "file", "directory", "symlink", "other" */

/* {path, type, mode, owner, group, size, replication, block_size, mtime_ms, atime_ms, acl,
 * encrypted, erasure_coded, target}. The caller's; NULL when out of memory. */
json_t *show_entry(const struct fs_entry *e);
