/* fdwait.h - waits for a descriptor that other programs share, without changing its flags. Private
 * to this directory; fibers only.
 *
 * Standard input may be shared with other programs, so it must not be made non-blocking. It is
 * watched through an epoll descriptor of our own instead. */
#pragma once
#include "loop/loop.h"
#include <sys/types.h>

struct fdwait; /* opaque */

/* `fd` is borrowed. For a descriptor that never blocks (a file, /dev/null) *ret is NULL. */
int fdwait_new(struct loop *l, int fd, bool writing, struct fdwait **ret, struct err *err);
/* NULL is fine; always NULL. */
struct fdwait *fdwait_free(struct fdwait *w);

/* Like read() and write(), but the fiber waits, not the loop. `w` may be NULL. */
ssize_t fdwait_read(struct fdwait *w, int fd, void *p, size_t n);
ssize_t fdwait_write(struct fdwait *w, int fd, const void *p, size_t n);
