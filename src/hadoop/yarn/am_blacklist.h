/* am_blacklist.h - the nodes an application will not have containers on, and what of that the
 * ResourceManager knows. The RM is told of changes only, and of everything again after it has
 * restarted. Pure. */
#pragma once
#include "hadoop/yarn_am.pb-c.h"
#include <stdbool.h>
#include <stddef.h>

struct blacklist {
    struct blacklist_name *v;
    size_t n;
};

void blacklist_done(struct blacklist *b); /* zero is a valid start */

/* Puts a host or a rack on the list, or takes it off. 0, -ENOMEM, or -EINVAL for "*" and "". */
int blacklist_set(struct blacklist *b, const char *name, bool on);
bool blacklist_has(const struct blacklist *b, const char *name);
bool blacklist_changed(const struct blacklist *b);
size_t blacklist_count(const struct blacklist *b);
/* The i-th of those, in the order they came; borrowed. */
const char *blacklist_name(const struct blacklist *b, size_t i);

/* Adds the changes to `request`, if there are any; -ENOMEM marks nothing. Then one of the next
 * two. */
int blacklist_build(struct blacklist *b, Yarn__AllocateRequest *request);
void blacklist_sent(struct blacklist *b);
void blacklist_failed(struct blacklist *b);
/* The RM knows nothing of it any more. */
void blacklist_forgotten(struct blacklist *b);
