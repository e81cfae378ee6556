/* name_lock.h - machine-wide locks by name, and which user holds them.
 *
 * A lock is a socket with an abstract Unix name: it needs no directory that everybody may write to
 * and goes away with whoever held it. It keeps out programs that ask for it, not people who mean
 * harm: anybody can take any name first. So a failed attempt reports which user has the lock. Any
 * thread; nothing waits. */
#pragma once
#include "base/err.h"
#include <sys/types.h>

/* A descriptor that holds the lock, closed on exec; -EADDRINUSE when somebody has it. */
int name_lock(const char *name);

/* Calls `fn` for each lock whose name begins with `prefix`, with the rest of its name and the user
 * who holds it. What the kernel does not tell is left out. Takes milliseconds. */
typedef void name_lock_fn(void *arg, const char *rest, uid_t owner);
void name_lock_owners(const char *prefix, name_lock_fn *fn, void *arg);
