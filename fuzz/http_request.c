/* http_request.c - what a client sends, whole and in pieces, as the server reads it. */
#include "fuzz.h"
#include "wire/http_parse.h"
#include "wire/http_query.h"

#include <stdlib.h>
#include <string.h>

static const struct http_limits limits = {
    .line_max = 256,
    .header_max = 1024,
    .headers_max = 20,
    .body_max = 4096,
};

/* What was found, as bytes, so that two ways of parsing can be compared. */
static void note_head(const struct http_parse *h, struct buf *seen)
{
    AUTO_DONE(http_target_done) struct http_target t = { 0 };

    if (buf_printf(seen, "%s %d ", http_parse_method(h), h->keep_alive) < 0 ||
        buf_add(seen, h->text.data, h->text.len) < 0)
        abort();
    for (size_t i = 0; i < h->n_fields; i++) {
        const char *name = (const char *)h->text.data + h->fields[i].name;

        if (!http_parse_header(h, name))
            abort();
    }
    if (http_target_parse(http_parse_target(h), &t, NULL) == 0 && strstr(t.path, "/../"))
        abort();
}

static void parse(const uint8_t *data, size_t size, size_t step, struct buf *seen)
{
    struct err err = ERR_INIT;
    struct http_parse h;
    size_t at = 0;
    ssize_t used = 0;

    http_parse_init(&h, false, &limits);
    while (at < size) {
        enum http_stage before = h.stage;
        size_t left = size - at;

        used = http_parse_feed(&h, data + at, left < step ? left : step, &err);
        if (used < 0)
            break;
        at += (size_t)used;
        if (before == HTTP_AT_HEAD && h.stage != HTTP_AT_HEAD)
            note_head(&h, seen);
        if (buf_add(seen, h.body.data, h.body.len) < 0)
            abort();
        buf_reset(&h.body);
        if (h.stage == HTTP_AT_END)
            http_parse_next(&h);
    }
    if ((used < 0) != (err.text[0] != '\0') || (used < 0) != (h.status != 0))
        abort();
    http_parse_done(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF whole = { .max = 64 * MIB };
    AUTO_BUF pieces = { .max = 64 * MIB };

    if (size > 16 * KIB)
        return 0;
    parse(data, size, SIZE_MAX, &whole);
    parse(data, size, 1, &pieces);
    /* A failure may be seen at another byte, but never something else before it. */
    if (memcmp(whole.data ? whole.data : data, pieces.data ? pieces.data : data,
               whole.len < pieces.len ? whole.len : pieces.len) != 0)
        abort();
    return 0;
}
