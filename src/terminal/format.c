/* format.c - texts are made into buffers of a fixed size of the caller's, and whatever comes from
 * a job is cleaned of control characters on its way. See format.h. */
#include "terminal/format.h"
#include "base/str.h"
#include "loop/loop.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *format_span(int64_t ms, char out[FORMAT_SPAN])
{
    int64_t s = ms / 1000;

    if (ms < 0)
        snprintf(out, FORMAT_SPAN, "-");
    else if (ms < 1000)
        snprintf(out, FORMAT_SPAN, "%d ms", (int)ms);
    else if (s < 10)
        snprintf(out, FORMAT_SPAN, "%d.%d s", (int)s, (int)(ms / 100 % 10));
    else if (s < 60)
        snprintf(out, FORMAT_SPAN, "%d s", (int)s);
    else if (s < 3600)
        snprintf(out, FORMAT_SPAN, "%d:%02d", (int)(s / 60), (int)(s % 60));
    else
        snprintf(out, FORMAT_SPAN, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60),
                 (int)(s % 60));
    return out;
}

int format_age(const json_t *status, struct buf *out)
{
    int64_t created = json_int_or(status, "created", 0);
    int64_t ended = json_int_or(status, "ended", loop_wall());
    char span[FORMAT_SPAN];

    return buf_add_str(out, format_span(created > 0 ? ended - created : -1, span));
}

const char *format_clock(int64_t ms, char out[FORMAT_WHEN])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    size_t n =
        ms > 0 && localtime_r(&seconds, &tm) ? strftime(out, FORMAT_WHEN, "%H:%M:%S", &tm) : 0;

    if (n > 0)
        snprintf(out + n, FORMAT_WHEN - n, ".%03d", (int)(ms % 1000));
    else
        snprintf(out, FORMAT_WHEN, "-");
    return out;
}

const char *format_text(const json_t *v, const char *key)
{
    const char *s = json_string_value(json_object_get(v, key));

    return s ? s : "";
}

const char *format_lower(const char *s, char *out, size_t cap)
{
    size_t n = 0;

    for (; s[n] && n + 1 < cap; n++)
        out[n] = (char)tolower((unsigned char)s[n]);
    if (cap > 0)
        out[n] = '\0';
    return out;
}

int format_states(const json_t *states, struct buf *out)
{
    static const char *const order[] = { "RUNNING", "DONE",      "FAILED",  "LOST",
                                         "READY",   "PREPARING", "GRANTED", "WAITING" };
    bool any = false;
    char name[16];
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(order); i++) {
        int64_t n = json_int_or(states, order[i], 0);

        if (n <= 0)
            continue;
        r = buf_printf(out, "%s%lld %s", any ? ", " : "", (long long)n,
                       format_lower(order[i], name, sizeof(name)));
        any = true;
    }
    return r == 0 && !any ? buf_add_str(out, "-") : r;
}

int format_progress(const json_t *v, struct buf *out)
{
    int64_t step = json_int_or(v, "step", -1), total = json_int_or(v, "total", 0);

    if (total > 0 && step >= 0)
        return buf_printf(out, "%lld/%lld %d %%", (long long)step, (long long)total,
                          (int)((double)(step < total ? step : total) / (double)total * 100));
    return step > 0 ? buf_printf(out, "step %lld", (long long)step) : 0;
}

int format_clean(struct buf *out, const char *s)
{
    size_t n = strlen(s) * 4 + 1;
    AUTO_FREE char *clean = malloc(n);

    if (!clean)
        return -ENOMEM;
    str_clean(clean, n, s);
    return buf_add_str(out, clean);
}

int format_print(struct buf *out, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        text = NULL;
    return text ? format_clean(out, text) : -ENOMEM;
}

bool format_failed(const json_t *status)
{
    return str_eq(format_text(status, "state"), "FAILED") || *format_text(status, "unsaved");
}
