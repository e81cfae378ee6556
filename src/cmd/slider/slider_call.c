/* slider_call.c - what the verbs of `slider` run on, and how they end; see slider_call.h. */
#include "cmd/slider/slider_call.h"
#include "base/path.h"
#include "cli/exit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64

/* ---- exit codes ---- */

int slider_exit(int code)
{
    static const struct {
        int ydl, slider;
    } rows[] = {
        { EXIT_OTHER, SLIDER_EXCEPTION },   { EXIT_UNREACHABLE, SLIDER_UNREACHABLE },
        { EXIT_INTERNAL, SLIDER_INTERNAL }, { EXIT_CREATE, SLIDER_EXCEPTION },
        { EXIT_AGAIN, SLIDER_BAD_STATE },   { EXIT_DENIED, SLIDER_FORBIDDEN },
        { EXIT_TIME, SLIDER_TIMED_OUT },    { EXIT_INTERRUPTED, SLIDER_INTERRUPTED },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].ydl == code)
            return rows[i].slider;
    return code;
}

int slider_fail(struct slider *s, enum slider_code code, int result, struct err *err,
                const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->code = code;
    return err_set(err, result, "%s", text);
}

void slider_say_notes(struct slider *s)
{
    struct front_call c = { .notes = s->notes };

    front_say_notes(s->ask, &c);
    strs_done(&s->notes);
    s->notes = (struct strs){ 0 };
}

/* ---- what comes out ---- */

int slider_put_text(struct slider *s, const char *text, struct err *err)
{
    const char *out = slider_value(s, "--out");
    int r;

    if (!out) {
        if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
            return errno == EPIPE ? EXIT_OUTPUT_GONE : err_sys(err, "write to standard output");
        return 0;
    }
    r = path_write(out, text, strlen(text), 0600, err); /* settings can be secret */
    return exit_named_file(r, err);
}

int slider_put(struct slider *s, const json_t *doc, struct err *err)
{
    AUTO_FREE char *text = json_dumps(doc, JSON_INDENT(2));
    AUTO_FREE char *line = text ? str_printf("%s\n", text) : NULL;

    return line ? slider_put_text(s, line, err) : err_oom(err);
}

/* ---- names ---- */

int slider_check_name(const char *name, struct err *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    if (name[0] >= 'a' && name[0] <= 'z' && !name[n] && n <= NAME_BYTES)
        return 0;
    cli_bad(err, "'%.100s' is not a valid application name", name);
    err_hint(err,
             "use lower-case letters, digits, '_' and '-', at most %d characters, beginning with a "
             "letter",
             NAME_BYTES);
    return CLI_USAGE;
}
