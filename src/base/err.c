/* err.c - fills the one struct that carries an error upward. A wrap puts its words in front of the
 * text; what does not fit is cut, never allocated. See err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static int err_do_set(struct err *err, int code,
                                                            const char *fmt, va_list ap)
{
    if (err) {
        err->code = code;
        err->detail = 0;
        err->hint[0] = '\0';
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
    }
    return code;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_do_set(err, code, fmt, ap);
    va_end(ap);
    return code;
}

static void add_reason(struct err *err, int code)
{
    size_t n = strlen(err->text);

    errno = -code; /* %m is thread-safe and keeps the glibc floor low, unlike strerror's kin */
    snprintf(err->text + n, sizeof(err->text) - n, ": %m");
}

int err_code(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err_do_set(err, code, fmt, ap);
    va_end(ap);
    if (err)
        add_reason(err, code);
    return code;
}

int err_sys(struct err *err, const char *fmt, ...)
{
    int code = errno > 0 ? -errno : -EIO;
    va_list ap;

    va_start(ap, fmt);
    err_do_set(err, code, fmt, ap);
    va_end(ap);
    if (err)
        add_reason(err, code);
    return code;
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
    char inner[sizeof(err->text)];
    size_t n;
    va_list ap;

    if (!err)
        return code;
    memcpy(inner, err->text, sizeof(inner));
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, ": %s", inner);
    err->code = code;
    return code;
}

int err_oom(struct err *err)
{
    return err_set(err, -ENOMEM, "out of memory");
}

void err_hint(struct err *err, const char *fmt, ...)
{
    va_list ap;

    if (!err || err->hint[0])
        return;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
    va_end(ap);
}

void err_clear(struct err *err)
{
    if (err)
        *err = (struct err)ERR_INIT;
}

int err_forgive(struct err *err, int r, int fine)
{
    if (r != fine)
        return r;
    err_clear(err);
    return 0;
}
