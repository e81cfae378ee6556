/* http_answer.c - what a server sends, as the client reads it; the first byte says whether it
 * answers HEAD, and in pieces of which size it comes. */
#include "fuzz.h"
#include "wire/http_parse.h"

#include <stdlib.h>

static const struct http_limits limits = {
    .line_max = 256,
    .header_max = 1024,
    .headers_max = 20,
    .body_max = 4096,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    struct http_parse h;
    uint64_t body = 0;
    ssize_t used = 0;
    size_t step;

    if (size == 0)
        return 0;
    step = (size_t)(data[0] & 0x7f) + 1;
    http_parse_init(&h, true, &limits);
    h.no_body = data[0] & 0x80;
    for (size_t at = 1; at < size && h.stage != HTTP_AT_END; at += (size_t)used) {
        used = http_parse_feed(&h, data + at, size - at < step ? size - at : step, &err);
        if (used < 0)
            break;
        body += h.body.len;
        buf_reset(&h.body);
    }
    if (h.no_body && body > 0)
        abort();
    if (used >= 0 && http_parse_end(&h, &err) == 0) {
        if (h.length != UINT64_MAX && !h.no_body && body > h.length)
            abort();
        (void)http_parse_header(&h, "Content-Type");
    }
    if ((err.text[0] != '\0') == (h.stage == HTTP_AT_END && used >= 0))
        abort(); /* a failure without a sentence, or the other way round */
    http_parse_done(&h);
    return 0;
}
