/* http_check.c - a head as a whole, and looking up its headers. Where two readers could disagree
 * about where a message ends (two lengths, a length and chunks), the message is refused: that is
 * how a request is smuggled past a proxy. See http_check.h. */
#include "wire/http_check.h"

#include <string.h>

const char *http_parse_header(const struct http_parse *h, const char *name)
{
    const char *text = (const char *)h->text.data;

    for (size_t i = 0; i < h->n_fields; i++) {
        if (strcasecmp(text + h->fields[i].name, name) == 0)
            return text + h->fields[i].value;
    }
    return NULL;
}

size_t http_parse_count(const struct http_parse *h, const char *name)
{
    const char *text = (const char *)h->text.data;
    size_t n = 0;

    for (size_t i = 0; i < h->n_fields; i++)
        n += strcasecmp(text + h->fields[i].name, name) == 0;
    return n;
}

static bool only_digits(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0';
}

static const char *check_length(const struct http_parse *h)
{
    const char *length = http_parse_header(h, "Content-Length");
    const char *coding = http_parse_header(h, "Transfer-Encoding");

    if (length && coding)
        return "both Content-Length and Transfer-Encoding";
    if (http_parse_count(h, "Content-Length") > 1 || (length && !only_digits(length)))
        return "a Content-Length that is not one number";
    if (http_parse_count(h, "Transfer-Encoding") > 1 ||
        (coding && strcasecmp(coding, "chunked") != 0))
        return "a Transfer-Encoding other than 'chunked'";
    if (coding && !http_parse_is_11(h))
        return "a Transfer-Encoding in HTTP/1.0";
    return NULL;
}

const char *http_check_head(const struct http_parse *h, int *ret_status)
{
    const char *wrong;

    *ret_status = 505;
    if (h->llhttp.http_major != 1 || h->llhttp.http_minor > 1)
        return "another version than HTTP/1.1";
    *ret_status = 400;
    wrong = check_length(h);
    if (wrong || h->answers)
        return wrong;
    if (http_parse_is_11(h) && http_parse_count(h, "Host") != 1)
        return "not exactly one Host";
    *ret_status = 413;
    if (h->length != UINT64_MAX && h->length > h->limits->body_max)
        return "the body is too large";
    *ret_status = 501;
    if (h->llhttp.method == HTTP_CONNECT)
        return "this is no proxy";
    return NULL;
}
