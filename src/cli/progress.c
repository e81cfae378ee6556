/* progress.c - one line at the bottom of a terminal that is drawn over and over: "\r", the line,
 * and "erase to the end". Without a terminal there is none, and nothing of it ends in a file. How
 * the line reads is decided in progress_line.c. See progress.h. */
#include "cli/progress.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define REDRAW_MS 100
#define RATE_MS 3000 /* the rate is that of about the last three seconds */

struct progress {
    char *label;
    uint64_t done, total;
    int64_t drawn_at, rated_at; /* monotonic milliseconds; drawn_at 0 when no line is there */
    uint64_t rated_done;
    double rate;
    bool utf8, colour;
};

static int64_t progress_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool progress_has_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *v = getenv(names[i]);

        if (v && *v) /* the first that is set decides */
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

int progress_begin(const char *label, uint64_t total, bool quiet, struct progress **ret,
                   struct err *err)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    AUTO_FREE struct progress *p = NULL;

    *ret = NULL;
    if (quiet || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
        return 0;
    p = calloc(1, sizeof(*p));
    if (!p)
        return err_oom(err);
    p->label = strdup(label);
    if (!p->label)
        return err_oom(err);
    p->total = total;
    p->rated_at = progress_now_ms();
    p->utf8 = progress_has_utf8();
    p->colour = !no_color || !*no_color;
    *ret = take(p);
    return 0;
}

/* A moving average that forgets what is older than a few seconds. */
static void progress_measure(struct progress *p, int64_t now)
{
    double ms = (double)(now - p->rated_at), weight, rate;

    if (ms < REDRAW_MS)
        return;
    rate = (double)(p->done - p->rated_done) * 1000 / ms;
    weight = p->rate > 0 ? ms / (ms + RATE_MS) : 1;
    p->rate += (rate - p->rate) * weight;
    p->rated_at = now;
    p->rated_done = p->done;
}

/* At most ten times a second, whatever the caller does: drawing must not cost more than the
 * work. */
static void progress_draw(struct progress *p)
{
    struct progress_view v = { .label = p->label, .utf8 = p->utf8, .colour = p->colour };
    char line[PROGRESS_LINE_MAX], all[PROGRESS_LINE_MAX + 8];
    struct winsize w = { 0 };
    int64_t now = progress_now_ms();
    int n;

    if (p->drawn_at && now - p->drawn_at < REDRAW_MS)
        return;
    progress_measure(p, now);
    p->drawn_at = now;
    v.done = p->done;
    v.total = p->total;
    v.rate = p->rate;
    v.width = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
    progress_line(&v, line);
    n = snprintf(all, sizeof(all), "\r%s\033[K", line);
    (void)path_write_fd(STDERR_FILENO, all, (size_t)n); /* a line less on the screen */
}

void progress_set(struct progress *p, uint64_t done)
{
    if (!p)
        return;
    if (done < p->done) { /* begun anew: the old rate says nothing */
        p->rated_done = done;
        p->rate = 0;
    }
    p->done = done;
    progress_draw(p);
}

void progress_add(struct progress *p, uint64_t more)
{
    if (p)
        progress_set(p, p->done + more);
}

void progress_total(struct progress *p, uint64_t total)
{
    if (p)
        p->total = total;
}

void progress_label(struct progress *p, const char *label)
{
    char *copy = p ? strdup(label) : NULL;

    if (!copy)
        return; /* the old name is better than an error */
    free(p->label);
    p->label = copy;
}

void progress_wipe(struct progress *p)
{
    if (!p || !p->drawn_at)
        return;
    p->drawn_at = 0;
    (void)path_write_fd(STDERR_FILENO, "\r\033[K", 4);
}

struct progress *progress_end(struct progress *p)
{
    if (!p)
        return NULL;
    progress_wipe(p);
    free(p->label);
    free(p);
    return NULL;
}
