/* source.h - a file of aggregated logs as bytes by position, and a stretch of it as a stream that
 * may be compressed. Private to this directory.
 *
 * Everything read is hostile: stretches are checked against the file, a compressed one never gives
 * more bytes than were promised for it, and memory does not grow with either. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct log_source {
    /* As fs_pread(): exactly `n` bytes from `offset`, or fewer at the end. */
    ssize_t (*pread)(void *arg, uint64_t offset, void *p, size_t n, struct err *err);
    void *arg;
    uint64_t length;
};

/* Exactly `n` bytes, or -EBADMSG. */
int log_source_read(const struct log_source *s, uint64_t offset, void *p, size_t n,
                    struct err *err);

/* ---- a stretch of a file ---- */

struct log_region {
    uint64_t offset;
    uint64_t stored; /* bytes in the file */
    uint64_t length; /* bytes that they stand for; equal when not compressed */
};

struct log_codec; /* opaque, static */

/* By the name that the file gives: "none", "gz". -EOPNOTSUPP for "lzo" and anything else. */
int log_codec_find(const void *name, size_t n, const struct log_codec **ret, struct err *err);

struct log_stream; /* opaque */

/* `s` is borrowed for as long as the stream lives. -EBADMSG when the region is not in the file.
 * *ret is the caller's: log_stream_close(). */
int log_stream_open(const struct log_source *s, const struct log_region *r,
                    const struct log_codec *codec, struct log_stream **ret, struct err *err);
struct log_stream *log_stream_close(struct log_stream *s); /* NULL is fine; always NULL */
AUTO_DEFINE(log_stream, struct log_stream *, log_stream_close);

uint64_t log_stream_left(const struct log_stream *s); /* bytes that are still to come */
/* At least one and at most `n` bytes; 0 at the end only. */
ssize_t log_stream_read(struct log_stream *s, void *p, size_t n, struct err *err);
/* Exactly `n`, or -EBADMSG. */
int log_stream_exact(struct log_stream *s, void *p, size_t n, struct err *err);
int log_stream_skip(struct log_stream *s, uint64_t n, struct err *err);
