/* unzip.h - single files out of a zip archive, whoever made it.
 *
 * For a look into a package before it is sent: what is in it, and the text of a few files. Whole
 * archives are unpacked where tasks run. Nothing of the archive is trusted: every length is checked
 * against the file, every member against the ceiling of the caller's buffer and its checksum.
 * Plain and deflated members only; no ZIP64 (4 GB, or 65,535 members), nothing encrypted.
 *
 * Blocks on the local disk; any thread, one at a time per archive. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

#define UNZIP_LIST_MAX (16 * MIB) /* bytes of an archive's table of contents */

struct unzip; /* opaque */

/* Reads the table of contents. -EINVAL for what is no zip archive, -EOPNOTSUPP for ZIP64, and what
 * opening the file gives. *ret is the caller's: unzip_close(). */
int unzip_open(const char *path, struct unzip **ret, struct err *err);
struct unzip *unzip_close(struct unzip *z); /* NULL is fine; always NULL */
AUTO_DEFINE(unzip, struct unzip *, unzip_close);
#define AUTO_UNZIP AUTO(unzip) struct unzip

size_t unzip_count(const struct unzip *z);
/* The i-th name as it is in the archive; a directory's ends in a slash. Borrowed. */
const char *unzip_name(const struct unzip *z, size_t i);
/* Is there a file of that name, or a directory that files are in? */
bool unzip_has(const struct unzip *z, const char *name);

/* Appends the content of a file. -ENOENT when it is not there, -E2BIG past the buffer's ceiling,
 * -EINVAL for bytes that are damaged. */
int unzip_read(struct unzip *z, const char *name, struct buf *ret, struct err *err);
