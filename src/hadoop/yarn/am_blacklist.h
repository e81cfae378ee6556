/* am_blacklist.h - the nodes on which an application refuses containers, and which of them the
 * ResourceManager knows. The RM is sent only changes, and everything again after it has restarted.
 * Pure. */
#pragma once
#include "hadoop/yarn_am.pb-c.h"
#include <stdbool.h>
#include <stddef.h>

struct am_blacklist {
    struct am_blacklist_name *v;
    size_t n;
};

void am_blacklist_done(struct am_blacklist *b); /* zero is a valid start */

/* Puts a host or a rack on the list, or takes it off. 0, -ENOMEM, or -EINVAL for "*" and "". */
int am_blacklist_set(struct am_blacklist *b, const char *name, bool on);
bool am_blacklist_changed(const struct am_blacklist *b);

/* Adds the changes to `request`, if there are any; -ENOMEM marks nothing. Then one of the next
 * two. */
int am_blacklist_build(struct am_blacklist *b, Yarn__AllocateRequest *request);
void am_blacklist_sent(struct am_blacklist *b);
void am_blacklist_failed(struct am_blacklist *b);
/* The RM knows nothing of it any more. */
void am_blacklist_forgotten(struct am_blacklist *b);
