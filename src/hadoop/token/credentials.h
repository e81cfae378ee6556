/* credentials.h - Hadoop's credentials: tokens and secrets under aliases, and the file that carries
 * them ("HDTS"). Reads both formats, writes version 0, which every release reads.
 *
 * Loading and saving block on the local disk; the rest is pure. One thread at a time. Secrets are
 * wiped when freed. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "hadoop/token/token.h"

struct credentials; /* opaque */

/* An empty set. *ret is the caller's: credentials_free(). */
int credentials_new(struct credentials **ret, struct err *err);
struct credentials *credentials_free(struct credentials *c); /* NULL is fine; always NULL */
AUTO_DEFINE(credentials, struct credentials *, credentials_free);
#define AUTO_CREDENTIALS AUTO(credentials) struct credentials

/* From bytes or from a file; the error names the file and the place. *ret is the caller's. */
int credentials_parse(const void *p, size_t n, struct credentials **ret, struct err *err);
int credentials_load(const char *path, struct credentials **ret, struct err *err);
/* Appends the bytes; or writes a file of mode 0600, which appears whole or not at all. */
int credentials_write(const struct credentials *c, struct buf *out, struct err *err);
int credentials_save(const struct credentials *c, const char *path, struct err *err);

/* Adds a copy; one with the same alias is replaced. Without an alias (NULL) the token's service is
 * the alias, as in Hadoop. */
int credentials_add(struct credentials *c, const char *alias, const struct token *t,
                    struct err *err);
int credentials_add_secret(struct credentials *c, const char *alias, const void *p, size_t n,
                           struct err *err);

size_t credentials_count(const struct credentials *c);
/* Borrowed, until `c` changes. *ret_alias may be NULL. */
const struct token *credentials_at(const struct credentials *c, size_t i, const char **ret_alias);
/* The first token of this kind, and, when `service` is not NULL, for this service; or NULL. */
const struct token *credentials_find(const struct credentials *c, const char *kind,
                                     const char *service);
const void *credentials_secret(const struct credentials *c, const char *alias, size_t *ret_n);

/* Drops the secret of this alias, if there is one. */
void credentials_remove_secret(struct credentials *c, const char *alias);
/* Adds copies of everything in `from` but tokens of the kinds named (NULL-terminated, or NULL). */
int credentials_copy(struct credentials *c, const struct credentials *from,
                     const char *const *without_kinds, struct err *err);
