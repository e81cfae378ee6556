/* writable.h - Hadoop's own way of writing numbers, texts and bytes ("Writable"): in credentials
 * files and inside the identifiers of HDFS tokens.
 *
 *     VLong  one byte for -112 … 127; else a byte that says sign and length, then big endian,
 *            negative numbers as their one's complement
 *     Text   VInt length, UTF-8        (not to be confused with the next)
 *     string int32 length, UTF-8
 *     bytes  VInt length, bytes
 *
 * Readers follow struct view: past the end, a length below zero or a number too large set `bad`,
 * and zeroes come from then on. Writers return 0, -E2BIG or -ENOMEM. Pure. */
#pragma once
#include "base/buf.h"
#include <stdint.h>

int64_t writable_vlong(struct view *v);
int32_t writable_vint(struct view *v);
/* The content; borrowed from what `v` reads. */
struct view writable_bytes(struct view *v);
struct view writable_text(struct view *v);
struct view writable_string(struct view *v);

/* A text as a C string of the caller's. -ENOMEM, or -EBADMSG when there is a NUL in it. */
int writable_dup(struct view text, char **ret);

int writable_add_vlong(struct buf *b, int64_t n);
int writable_add_bytes(struct buf *b, const void *p, size_t n); /* n up to INT32_MAX */
int writable_add_text(struct buf *b, const char *s);
