/* buf.h - bytes that grow up to a ceiling, and a cursor for reading bytes that may be hostile.
 *
 * Every buffer is born with the most it may ever hold; past it, -E2BIG. Nothing here sets a
 * struct err: the caller knows what was too large. */
#pragma once
#include "base/auto.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data; /* NULL until the first byte */
    size_t len;    /* bytes in use */
    size_t cap;    /* bytes allocated */
    size_t max;    /* ceiling of len */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees; the buffer can be used again with the same ceiling */
void buf_wipe(struct buf *b);  /* the same for secrets: nothing of them stays in memory */
void buf_reset(struct buf *b); /* len = 0, keeps the memory */

/* Room for `n` more bytes at the end; *ret points to them. len is not changed. */
int buf_room(struct buf *b, size_t n, uint8_t **ret);
int buf_add(struct buf *b, const void *p, size_t n);
int buf_add_u8(struct buf *b, uint8_t v);
int buf_add_be16(struct buf *b, uint16_t v);
int buf_add_be32(struct buf *b, uint32_t v);
int buf_add_be64(struct buf *b, uint64_t v);
int buf_add_varint(struct buf *b, uint64_t v); /* protobuf's */
int buf_add_str(struct buf *b, const char *s); /* without its NUL */
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Drops the first `n` bytes. */
void buf_eat(struct buf *b, size_t n);

/* The text so far, NUL-terminated (the NUL is not counted); NULL when out of memory. Borrowed. */
const char *buf_text(struct buf *b);

#define AUTO_BUF AUTO_DONE(buf_done) struct buf

/* A cursor over somebody else's bytes. Reading past the end sets `bad`, returns zeroes from then
 * on and never touches memory outside, so that a parser may read a whole structure and look at
 * `bad` once. */
struct view {
    const uint8_t *p;
    size_t n; /* bytes left */
    bool bad;
};

static inline struct view view_of(const void *p, size_t n)
{
    return (struct view){ .p = p, .n = n };
}

uint8_t view_u8(struct view *v);
uint16_t view_be16(struct view *v);
uint32_t view_be32(struct view *v);
uint64_t view_be64(struct view *v);
uint64_t view_varint(struct view *v);                /* protobuf's, at most 10 bytes */
const uint8_t *view_bytes(struct view *v, size_t n); /* NULL when there are fewer */
struct view view_sub(struct view *v, size_t n);      /* the next n bytes as a view of their own */
