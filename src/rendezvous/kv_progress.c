/* kv_progress.c - the verb "progress STEP [TOTAL] [NAME=NUMBER …]": checked, made into JSON, and
 * passed on to the job's events. Nothing of it is kept here, so asking twice does no harm. */
#include "rendezvous/kv_private.h"

#include <math.h>
#include <string.h>

#define NAME_MAX_ 64
#define NUMBER_MAX 40

/* A name can stand in JSON as it is: printable, no blank, no quote, no backslash. */
static bool kv_progress_good_name(const char *p, size_t n)
{
    if (n == 0 || n > NAME_MAX_)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] <= ' ' || p[i] > '~' || p[i] == '"' || p[i] == '\\')
            return false;
    }
    return true;
}

static bool kv_progress_same_name(const struct kv_word *a, const struct kv_word *b, size_t n)
{
    return a->n > n && b->n > n && memcmp(a->p, b->p, n + 1) == 0; /* with its "=" */
}

static int kv_progress_add_number(struct buf *out, const char *p, size_t n)
{
    char text[NUMBER_MAX], *end = NULL;
    double v;

    if (n == 0 || n >= sizeof(text) || memchr(p, 0, n) || *p == ' ')
        return -EINVAL;
    memcpy(text, p, n);
    text[n] = 0;
    v = strtod(text, &end);
    if (*end)
        return -EINVAL;
    if (!isfinite(v))
        return buf_add_str(out, "null"); /* JSON has no word for it; a loss does become NaN */
    return buf_printf(out, "%.15g", v);
}

/* Adds word `i` of the request as a member. -EINVAL when it is not one. */
static int add_metric(struct buf *out, const struct kv_ask *a, size_t i, size_t first)
{
    const struct kv_word *w = &a->words[i];
    const char *p = w->p, *equals = w->n ? memchr(p, '=', w->n) : NULL;
    size_t n = equals ? (size_t)(equals - p) : 0;
    int r;

    if (!equals || !kv_progress_good_name(p, n))
        return -EINVAL;
    for (size_t j = first; j < i; j++) {
        if (kv_progress_same_name(&a->words[j], w, n))
            return -EINVAL;
    }
    r = buf_printf(out, "%s\"%.*s\":", i > first ? "," : "", (int)n, p);
    return r < 0 ? r : kv_progress_add_number(out, equals + 1, w->n - n - 1);
}

int kv_progress(struct kv *k, const struct kv_ask *a, struct err *err)
{
    int64_t step = 0, total = 0;
    size_t first = 2;
    char shown[KV_SHOWN];
    AUTO_BUF json = { .max = 16 * KIB };
    const char *text;
    int r;

    if (kv_number(&a->words[1], 0, INT64_MAX, &step) < 0) {
        kv_answer_error(k, a, "progress: '%s' is not a step", kv_show(&a->words[1], shown));
        return 0;
    }
    if (a->n > 2 && kv_number(&a->words[2], 0, INT64_MAX, &total) == 0)
        first = 3;
    r = buf_add_str(&json, "{");
    for (size_t i = first; i < a->n && r == 0; i++) {
        r = add_metric(&json, a, i, first);
        if (r != -EINVAL)
            continue;
        kv_answer_error(k, a, "progress: '%s' is not NAME=NUMBER with a new name",
                        kv_show(&a->words[i], shown));
        return 0;
    }
    if (r == 0)
        r = buf_add_str(&json, "}");
    text = r == 0 ? buf_text(&json) : NULL;
    if (!text)
        return err_oom(err);
    k->on.on_progress(k->on.user, a->task, step, total, text);
    kv_answer(k, a, "ok");
    return 0;
}
