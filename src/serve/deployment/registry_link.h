/* registry_link.h - a deployment and the registry that its models are from: which versions it uses
 * is written there, so that they are not removed, and aliases that it follows are read. Fibers
 * only. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

struct registry_link; /* opaque */

struct session;

/* `registry` NULL: there is none, and everything here does nothing. `session` (borrowed) is for one
 * on a cluster; NULL: as a task signs in (registry_session.h), again with each newer token.
 * Contacts nobody. */
int registry_link_new(struct loop *l, struct session *session, const char *registry,
                      struct registry_link **ret, struct err *err);
struct registry_link *registry_link_free(struct registry_link *x); /* NULL is fine; always NULL */
AUTO_DEFINE(registry_link, struct registry_link *, registry_link_free);

/* Writes which versions the plan uses, where that has changed or was written long ago; then looks
 * whether they are still there: -ENOENT with a sentence. Who may only read a registry can serve
 * from it all the same: then nothing is written. */
int registry_link_say(struct registry_link *x, const json_t *plan, struct err *err);
/* A cluster that did not answer is left alone for a while, and what is asked of it fails at once,
 * as does what could not be said for another reason; the next question is asked all the same. */
void registry_link_hurry(struct registry_link *x);
bool registry_link_is_read_only(const struct registry_link *x); /* that was so */
/* Deletes what was written, for a deployment that has ended. */
int registry_link_forget(struct registry_link *x, const json_t *plan, struct err *err);

/* What an alias stands for: 1, and *ret is the version as a request wants it (path, format), the
 * caller's; 0: it is `known`. */
int registry_link_alias(struct registry_link *x, const json_t *model, int64_t known, json_t **ret,
                        struct err *err);
