/* cache_source.h - the bytes of one upload, and their SHA-256.
 *
 * A file is its own bytes; a directory, and what was found, are those of an archive that is made
 * while it is read. They can be read several times; every time they are hashed.
 *
 * Blocks on the local disk: for worker threads, one at a time per source. */
#pragma once
#include "uploads/cache_hashes.h"
#include "uploads/uploads.h"

struct source; /* opaque */

/* Looks at it. `item` NULL: the bundle of the list. Both are borrowed. *ret is the caller's. */
int source_new(struct uploads_list *list, const struct uploads_item *item, struct source **ret,
               struct err *err);
struct source *source_free(struct source *s); /* NULL is fine; always NULL */
AUTO_DEFINE(source, struct source *, source_free);
#define AUTO_SOURCE AUTO(source) struct source

uint64_t source_size(const struct source *s); /* bytes that will come */
const char *source_name(const struct source *s);
bool source_packed(const struct source *s); /* the bytes are an archive of ours */

/* What it is now, for struct hashes. False when that would not tell the next change from this one:
 * something was written within the last two seconds. Not while it is read. */
bool source_key(struct source *s, char ret[SHA256_TEXT]);

/* From the beginning. */
int source_begin(struct source *s, struct err *err);
/* The next bytes, hashed; as many as asked for unless it ends. 0 at the end. */
ssize_t source_read(struct source *s, void *p, size_t n, struct err *err);
/* After the end: the hash of all of it. -ESTALE when it has changed since source_new(). */
int source_end(struct source *s, char ret[SHA256_TEXT], struct err *err);
