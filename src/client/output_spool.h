/* output_spool.h - output of many tasks that arrives in pieces, kept until it is read task by
 * task.
 *
 * All bytes go into one unnamed file, so that nothing is left behind however this process ends.
 * Pieces of one stream arrive in order; repeated bytes are kept once. Blocks on the local disk. */
#pragma once
#include "base/auto.h"
#include "base/str.h"
#include "terminal/stream_piece.h"

struct spool; /* opaque */

/* *ret is the caller's. */
int spool_new(struct spool **ret, struct err *err);
struct spool *spool_free(struct spool *s); /* NULL is fine; always NULL */
AUTO_DEFINE(spool, struct spool *, spool_free);

/* Keeps the bytes of a PIECE_OUTPUT, and of a PIECE_END what it says is missing; other pieces are
 * nothing. */
int spool_add(struct spool *s, const struct piece *p, struct err *err);
/* Output that could not be read, a sentence for each task: "worker:1: its agent has …". Borrowed.
 */
const struct strs *spool_missing(const struct spool *s);

/* The streams that came: task and stream of the i-th; false behind the last. */
bool spool_stream(const struct spool *s, size_t i, const char **ret_task,
                  enum piece_stream *ret_stream);
uint64_t spool_size(const struct spool *s, size_t i);  /* where the stream ends … */
uint64_t spool_begin(const struct spool *s, size_t i); /* … and what came of it begins */
uint64_t spool_saved(const struct spool *s, size_t i); /* `saved` of its pieces */
/* At most `n` bytes of the i-th from `offset` on; 0 at its end; negative errno. Bytes that never
 * came, before the first piece, are passed over: *offset is moved. */
ssize_t spool_read(const struct spool *s, size_t i, uint64_t *offset, void *p, size_t n);
