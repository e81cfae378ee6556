/* key_file.h - keys that clients must show, and other secrets, in files that nobody else can read.
 *
 * A file of keys has one on each line, of at least 16 characters; empty lines and those that begin
 * with a # do not count. What is kept of a key in memory is its SHA-256, which is also what is
 * compared: a guess that is nearly right takes no longer than any other. Waits for the disk. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

#define KEY_FILE_BYTES (64 * KIB)
#define KEY_LEAST 16
#define KEY_SUM 32

/* The whole of a file with a secret, appended: -EPERM when others may read it, with a hint. */
int secret_read(const char *path, struct buf *ret, struct err *err);
/* Calls each(user, key, n) for every key of a file; it is an error when there is none. */
int key_file_each(const char *path,
                  int (*each)(void *user, const char *key, size_t n, struct err *err), void *user,
                  struct err *err);
int key_sum(const char *key, size_t n, uint8_t ret[KEY_SUM], struct err *err);

/* Zeroed: no key is needed. */
struct key_set {
    uint8_t (*sums)[KEY_SUM];
    size_t n;
};
int key_set_read(const char *path, struct key_set *ret, struct err *err);
/* Does the header Authorization (NULL: there is none) show one of them? */
bool key_set_shown(const struct key_set *s, const char *authorization);
void key_set_done(struct key_set *s);
