/* sha256.h - SHA-256 of bytes that come piece by piece, and of files, as the text that sha256sum(1)
 * prints. Hashing a file waits for the disk. Any thread, one at a time for each hash. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stddef.h>

#define SHA256_TEXT 65 /* 64 hexadecimal digits and a NUL */

struct sha256; /* opaque */

/* Begun and empty. *ret is the caller's: sha256_free(). */
int sha256_new(struct sha256 **ret, struct err *err);
struct sha256 *sha256_free(struct sha256 *s); /* NULL is fine; always NULL */
/* Forgets what was added. */
int sha256_begin(struct sha256 *s, struct err *err);
int sha256_add(struct sha256 *s, const void *p, size_t n, struct err *err);
/* Of all that was added. It can be used again after sha256_begin(). */
int sha256_end(struct sha256 *s, char ret[SHA256_TEXT], struct err *err);

/* Of a descriptor, from where it stands to its end; `path` is for messages. */
int sha256_fd(int fd, const char *path, char ret[SHA256_TEXT], struct err *err);
int sha256_file(const char *path, char ret[SHA256_TEXT], struct err *err);

/* To be called once on the main thread: what OpenSSL sets up when it is first used stays with the
 * thread that does so, and worker threads end too late to give it back. */
int sha256_prime(struct err *err);

AUTO_DEFINE(sha256, struct sha256 *, sha256_free);
#define AUTO_SHA256 AUTO(sha256) struct sha256
