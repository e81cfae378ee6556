/* access_log.c - a line is put together on the stack and written by one call, so that lines of
 * several servers do not mix in one file. See access_log.h. */
#include "serve/engine/access_log.h"
#include "base/str.h"
#include "loop/loop.h"
#include "serve/line_out.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TARGET_MAX 1024

static int open_stdout(struct access_log *l)
{
    struct stat st;

    l->socket = fstat(STDOUT_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
    return line_out_again(STDOUT_FILENO);
}

int access_log_open(struct access_log *l, const char *path, struct err *err)
{
    *l = (struct access_log){ .fd = -1 };
    if (!path)
        return 0;
    l->fd =
        strcmp(path, "-") == 0
            ? open_stdout(l)
            : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    return l->fd < 0 ? err_sys(err, "open the access log '%s'", path) : 0;
}

void access_log_close(struct access_log *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

static void access_time(char out[48])
{
    int64_t ms = loop_wall();
    time_t s = (time_t)(ms / 1000);
    char seconds[32] = "";
    struct tm tm;

    if (gmtime_r(&s, &tm))
        (void)strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, 48, "%s.%03uZ", seconds, (unsigned)(ms % 1000));
}

/* A quote would end the text that it stands in. */
static void clean(char *out, size_t cap, const char *s)
{
    (void)str_clean(out, cap, s);
    for (char *p = out; *p; p++)
        if (*p == '"')
            *p = '\'';
}

void access_log_write(struct access_log *l, const struct access_line *line)
{
    char when[48], target[TARGET_MAX], text[TARGET_MAX + 512];
    ssize_t done;
    int n;

    if (l->fd < 0)
        return;
    access_time(when);
    clean(target, sizeof(target), line->target);
    n = snprintf(text, sizeof(text),
                 "%s id=%s from=%s \"%s %s\" status=%d in=%llu out=%llu total_us=%lld "
                 "queue_us=%lld run_us=%lld rows=%lld\n",
                 when, line->id, line->from, line->method, target, line->status,
                 (unsigned long long)line->in, (unsigned long long)line->out,
                 (long long)line->total_ns / 1000, (long long)line->queue_ns / 1000,
                 (long long)line->run_ns / 1000, (long long)line->rows);
    if (n <= 0 || (size_t)n >= sizeof(text))
        return;
    done = l->socket ? send(l->fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL)
                     : write(l->fd, text, (size_t)n);
    l->lost += done != n; /* of a line on a pipe all goes or nothing */
}
