/* node_lock.h - the lock file of a version in a node's cache. It has two locks, which the kernel
 * releases when their last holder has ended: one is shared by those who use the version, one is of
 * the process that fetches it, which writes there how far it is. Any thread; nothing waits. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

enum node_lock { NODE_LOCK_USE, NODE_LOCK_FETCH };
enum node_lock_how { NODE_LOCK_NONE, NODE_LOCK_SHARED, NODE_LOCK_ALONE };

/* Makes the file where there is none. *ret is the caller's; it is closed on exec. */
int node_lock_open(const char *path, int *ret, struct err *err);
/* 1: taken (or given back, with NODE_LOCK_NONE); 0: others have it. */
int node_lock_take(int fd, enum node_lock which, enum node_lock_how how, struct err *err);
/* Is this still the file of that name? Whoever prunes removes it. */
bool node_lock_is_there(int fd, const char *path);
/* Now is the time of the last use. */
void node_lock_used(int fd);

/* How far a fetch is, in bytes; `told` is false where nobody has written that. */
void node_lock_tell(int fd, uint64_t done, uint64_t total);
bool node_lock_told(int fd, uint64_t *ret_done, uint64_t *ret_total);
