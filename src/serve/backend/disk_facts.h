/* disk_facts.h - what a model's files say of it, read from a local disk by model/format, which
 * trusts none of their bytes. Waits for the disk. Any thread. */
#pragma once
#include "base/str.h"
#include "model/format/formats.h"
#include "serve/signature.h"

/* Of the files `names` of a directory, and of no others; -EINVAL with a sentence when they are
 * damaged or no model. The facts are the caller's: format_facts_done(). */
int disk_facts_read(const char *dir, const struct strs *names, struct format_facts *ret,
                    struct err *err);

/* One of facts->signatures, into an empty one; the caller's also after a failure. A shape that is
 * not known is any; -EOPNOTSUPP for a type that cannot be served. */
int disk_facts_signature(const char *name, const json_t *v, struct signature *ret, struct err *err);
/* Its inputs or outputs alone. */
int disk_facts_slots(const json_t *list, struct signature_slots *to, struct err *err);
