/* app_log_format.c - see app_log_format.h */
#include "hadoop/logs/app_log_format.h"

#include <string.h>

static const struct log_format *const formats[] = { &log_tfile, &log_ifile };

int log_format_find(const struct log_source *s, const struct log_about *about,
                    const struct log_format **ret, struct err *err)
{
    uint8_t head[32] = { 0 };
    int r = log_source_read(s, 0, head, sizeof(head), err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (formats[i]->is(head, about)) {
            *ret = formats[i];
            return 0;
        }
    }
    return err_set(err, -EBADMSG, "this is not a file of aggregated logs");
}

/* Names become file names and terminal lines. */
int log_name(const void *p, size_t n, char out[LOG_NAME_MAX], struct err *err)
{
    if (n == 0 || n >= LOG_NAME_MAX)
        return err_set(err, -EBADMSG, "a name in it is empty or too long");
    memcpy(out, p, n);
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)out[i] < ' ' || out[i] == 0x7f || out[i] == '/')
            return err_set(err, -EBADMSG, "a name in it is not the name of a file");
    if (strcmp(out, ".") == 0 || strcmp(out, "..") == 0)
        return err_set(err, -EBADMSG, "a name in it is not the name of a file");
    return 0;
}
