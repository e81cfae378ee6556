/* auto.h - release at the end of the scope, hand over with take().
 *
 *     AUTO_FREE char *name = NULL;
 *     AUTO_CLOSE int fd = open(…);
 *     AUTO_DIR DIR *d = opendir(…);
 *     *ret = take(name);          // now the caller's; nothing is freed here
 *
 * A module makes its own: for pointers AUTO_DEFINE(app, struct app *, app_free), used as
 * AUTO(app) struct app *a = NULL; for what is embedded and has a done() nothing but
 * AUTO_DONE(buf_done) struct buf b = { … }, mostly behind a name: AUTO_BUF. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define AUTO(name) __attribute__((cleanup(auto_##name##_)))
#define AUTO_DONE(fn) __attribute__((cleanup(fn)))

#define AUTO_DEFINE(name, type, fn)                                                                \
    __attribute__((unused)) static inline void auto_##name##_(type *p)                             \
    {                                                                                              \
        if (*p)                                                                                    \
            (void)fn(*p);                                                                          \
    }                                                                                              \
    struct auto_##name##_semicolon_

static inline void auto_free_(void *p)
{
    free(*(void **)p);
}

static inline void auto_close_(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

AUTO_DEFINE(dir, DIR *, closedir);

#define AUTO_FREE AUTO(free)
#define AUTO_CLOSE AUTO(close)
#define AUTO_DIR AUTO(dir)

/* Returns the value of `p`, which becomes NULL: ownership moves to the caller. */
#define take(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) take_ = (p);                                                                 \
        (p) = NULL;                                                                                \
        take_;                                                                                     \
    })

#define take_fd(fd)                                                                                \
    ({                                                                                             \
        int take_ = (fd);                                                                          \
        (fd) = -1;                                                                                 \
        take_;                                                                                     \
    })

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
