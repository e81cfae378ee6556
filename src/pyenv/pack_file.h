/* pack_file.h - an archive as a file: its bytes, compressed where that is wanted, and their hash.
 *
 * The hash is that of the archive before it is compressed, because what zlib makes of the same
 * bytes may differ from one version to the next. With one version the same content gives the same
 * file: a gzip header without name and time.
 *
 * Blocks on the local disk: for worker threads, one at a time per file. */
#pragma once
#include "base/sha256.h"
#include "pyenv/pack.h"

struct pack_file; /* opaque */

/* `list` and `fd` are borrowed. `level`: 1 to 9 of gzip, 0 for a plain tar. *ret is the caller's.
 */
int pack_file_new(struct pack_list *list, int fd, int level, struct pack_file **ret,
                  struct err *err);
/* Writes the next few megabytes: 1, and 0 when all of it is written. */
int pack_file_some(struct pack_file *f, struct err *err);
uint64_t pack_file_done(const struct pack_file *f); /* bytes of the archive that are written … */
uint64_t pack_file_written(const struct pack_file *f); /* … and what became of them */
/* At the end: the hash. */
int pack_file_hash(struct pack_file *f, char ret[SHA256_TEXT], struct err *err);
struct pack_file *pack_file_free(struct pack_file *f); /* NULL is fine; always NULL */

AUTO_DEFINE(pack_file, struct pack_file *, pack_file_free);
#define AUTO_PACK_FILE AUTO(pack_file) struct pack_file
