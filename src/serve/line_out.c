/* line_out.c - looks whether there is room before each piece, of no more than a pipe takes whole.
 * See line_out.h. */
#include "serve/line_out.h"
#include "base/auto.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define WAITING_MAX (256 * KIB)

static bool can_open_again(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/* O_NONBLOCK belongs to what was opened, not to the descriptor: set on a standard error that was
 * inherited, it would make the shell and every other process on that terminal fail with EAGAIN.
 * Opened once more by its link in /proc it is ours alone. For a socket, which cannot be opened so,
 * each send says MSG_DONTWAIT. */
static int open_again(int fd)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

int line_out_again(int fd)
{
    int again = can_open_again(fd) ? open_again(fd) : -1;

    if (again < 0)
        again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return again < 0 ? -errno : again;
}

void line_out_never_wait(int fd)
{
    AUTO_CLOSE int again = can_open_again(fd) ? open_again(fd) : -1;

    if (again >= 0)
        (void)dup2(again, fd);
}

void line_out_open(struct line_out *o, int fd)
{
    struct stat st;

    *o = (struct line_out){ .fd = line_out_again(fd) };
    buf_init(&o->waiting, WAITING_MAX);
    o->socket = o->fd >= 0 && fstat(o->fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

void line_out_done(struct line_out *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    o->fd = -1;
    buf_done(&o->waiting);
}

/* ---- writing ---- */

/* Nobody will ever read it. */
static void give_up(struct line_out *o)
{
    (void)close(take_fd(o->fd));
    buf_done(&o->waiting);
}

/* Bytes that went; 0: there is no room now, or never will be.
 *
 * Up to PIPE_BUF a write to a pipe is done whole or not at all, so that lines of several processes
 * do not mix; and poll(2) says that a pipe is writable when it has room for as much. */
static size_t write_some(struct line_out *o, const void *p, size_t n)
{
    struct pollfd f = { .fd = o->fd, .events = POLLOUT };
    size_t most = n < PIPE_BUF ? n : PIPE_BUF;
    ssize_t done;

    if (o->fd < 0 || poll(&f, 1, 0) != 1)
        return 0;
    done = o->socket ? send(o->fd, p, most, MSG_DONTWAIT | MSG_NOSIGNAL) : write(o->fd, p, most);
    if (done < 0 && errno != EAGAIN && errno != EINTR)
        give_up(o);
    return done > 0 ? (size_t)done : 0;
}

static void tell_dropped(struct line_out *o)
{
    char text[128];
    int n = snprintf(text, sizeof(text),
                     "[%llu lines of output were dropped: nobody has read what came before]\n",
                     (unsigned long long)o->dropped);

    if (n > 0 && write_some(o, text, (size_t)n) == (size_t)n)
        o->dropped = 0;
}

void line_out_go(struct line_out *o)
{
    size_t at = 0, n = 1;

    while (at < o->waiting.len && n > 0) {
        n = write_some(o, o->waiting.data + at, o->waiting.len - at);
        at += n;
    }
    if (o->fd < 0)
        return;
    buf_eat(&o->waiting, at);
    if (o->waiting.len == 0 && o->dropped > 0)
        tell_dropped(o);
}

static uint64_t count_lines(const char *text, size_t n)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

void line_out_add(struct line_out *o, const char *text, size_t n)
{
    if (line_out_waits(o))
        line_out_go(o);
    while (!line_out_waits(o) && n > 0) {
        size_t done = write_some(o, text, n);

        if (done == 0)
            break;
        text += done;
        n -= done;
    }
    if (n == 0 || o->fd < 0)
        return;
    /* Once something was dropped, all is, until that was told: what is read stays in order. */
    if (o->dropped > 0 || buf_add(&o->waiting, text, n) < 0) {
        uint64_t lines = count_lines(text, n);

        o->dropped += lines;
        o->lost += lines;
    }
}

bool line_out_waits(const struct line_out *o)
{
    return o->fd >= 0 && (o->waiting.len > 0 || o->dropped > 0);
}
