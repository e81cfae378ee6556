/* access_log.c - a line is put together on the stack and written by one call, so that lines of
 * several servers do not mix in one file. See access_log.h. */
#include "serve/engine/access_log.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/loop.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TARGET_MAX 1024

int access_log_open(struct access_log *l, const char *path, struct err *err)
{
    l->fd = -1;
    if (!path)
        return 0;
    l->fd = strcmp(path, "-") == 0
                ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
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

void access_log_write(const struct access_log *l, const struct access_line *line)
{
    char when[48], target[TARGET_MAX], text[TARGET_MAX + 512];
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
    if (n > 0 && (size_t)n < sizeof(text))
        (void)path_write_fd(l->fd, text, (size_t)n);
}
