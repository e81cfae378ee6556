/* cache_hashes.h - remembered hashes of files, so that an unchanged file is not read again.
 *
 * A key stands for a file as it was (path, inode, size, times), so that an entry never goes out of
 * date: a file that has changed has another key. A file hashed less than two seconds after it was
 * written is not remembered, because a coarse clock could hide its next change.
 *
 *     ydl-hashes 1
 *     KEY HASH SECONDS          64 hexadecimal digits each; when it was last of use
 *
 * Blocks on the local disk. One thread. The file is only an optimization: if it cannot be read or
 * written, nothing fails. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/sha256.h"
#include <stdbool.h>
#include <stdint.h>

#define HASHES_MOST 2000

struct hashes; /* opaque */

/* `path` NULL: keeps nothing beyond this process. NULL when out of memory. */
struct hashes *hashes_open(const char *path);
/* Writes what is new, then frees. NULL is fine; always NULL. */
struct hashes *hashes_close(struct hashes *h);

bool hashes_find(struct hashes *h, const char key[SHA256_TEXT], char ret[SHA256_TEXT]);
/* Out of memory is no error: it is not remembered. */
void hashes_add(struct hashes *h, const char key[SHA256_TEXT], const char hash[SHA256_TEXT]);

AUTO_DEFINE(hashes, struct hashes *, hashes_close);
#define AUTO_HASHES AUTO(hashes) struct hashes

bool hashes_is_hash(const char *text, size_t n); /* 64 lower-case hexadecimal digits */
