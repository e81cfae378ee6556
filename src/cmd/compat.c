/* compat.c - functions that Debian's archives want from a newer glibc than ydl asks for. Linked
 * into the program itself, so that the archives find these before those of the C library. */
#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

void arc4random_buf(void *p, size_t n);

/* Of glibc 2.36; expat salts its hash tables with it. */
void arc4random_buf(void *p, size_t n)
{
    char *at = p;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno != EINTR)
            __builtin_trap(); /* it has no way to fail, and a salt that is known is none */
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}
