/* doctor_report.c - what the doctor says; see doctor.h. */
#include "base/array.h"
#include "base/json.h"
#include "cli/exit.h"
#include "cmd/doctor/doctor.h"

#include <stdarg.h>

static const struct {
    const char *word, *colour;
} levels[] = {
    [LEVEL_OK] = { "ok", "\033[32m" },
    [LEVEL_WARNING] = { "warning", "\033[33m" },
    [LEVEL_FAILED] = { "failed", "\033[31m" },
};

/* Room for one more; NULL when out of memory. */
static struct finding *doctor_add(struct doctor *d, enum level level, const char *advice)
{
    struct finding *f;

    if (ARRAY_ADD(d->findings, d->n, (struct finding){ .check = d->check->name, .level = level }) <
        0) {
        d->out_of_memory = true;
        return NULL;
    }
    f = &d->findings[d->n - 1];
    snprintf(f->advice, sizeof(f->advice), "%s", advice ? advice : "");
    if (level == LEVEL_FAILED && !d->failed)
        d->failed = EXIT_OTHER;
    return f;
}

void doctor_say(struct doctor *d, enum level level, const char *advice, const char *fmt, ...)
{
    struct finding *f = doctor_add(d, level, advice);
    va_list ap;

    if (!f)
        return;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof(f->text), fmt, ap);
    va_end(ap);
}

void doctor_error(struct doctor *d, enum level level, int r, const struct err *err,
                  const char *advice)
{
    struct finding *f;

    if (level == LEVEL_FAILED && !d->failed)
        d->failed = r;
    f = doctor_add(d, level, err->hint[0] ? err->hint : advice ? advice : d->check->advice);
    if (f)
        snprintf(f->text, sizeof(f->text), "%s", err->text);
}

void doctor_print_text(const struct finding *f, bool colour)
{
    char clean[4 * sizeof(f->text)];

    str_clean(clean, sizeof(clean), f->text);
    printf("%s%-8s%s %-16s %s\n", colour ? levels[f->level].colour : "", levels[f->level].word,
           colour ? "\033[0m" : "", f->check, clean);
    if (f->advice[0]) {
        str_clean(clean, sizeof(clean), f->advice);
        printf("%-8s %-16s -> %s\n", "", "", clean);
    }
}

int doctor_print_json(const struct doctor *d, struct err *err)
{
    AUTO_JSON *v = NULL;
    json_t *list;
    int r = json_make(&v, err, "{s:b, s:i, s:[]}", "healthy", d->failed == 0, "exit",
                      exit_code(d->failed), "checks");

    if (r < 0)
        return r;
    list = json_object_get(v, "checks");
    for (size_t i = 0; i < d->n; i++) {
        const struct finding *f = &d->findings[i];
        json_t *row = NULL;

        r = json_make(&row, err, "{s:s, s:s, s:o, s:o}", "check", f->check, "level",
                      levels[f->level].word, "text", json_text(f->text), "advice",
                      f->advice[0] ? json_text(f->advice) : json_null());
        if (r < 0)
            return r;
        if (json_array_append_new(list, row) < 0)
            return err_oom(err);
    }
    return json_print(stdout, v, err);
}
