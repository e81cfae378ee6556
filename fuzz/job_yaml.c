/* job_yaml.c - a hostile job file: YAML, every key, the checks, and the way through JSON and back.
 *
 * What parses and passes the check must come back from its own JSON as the same specification. */
#include "fuzz.h"
#include "job/spec/spec.h"
#include "job/spec/spec_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* The specification as text once more, from its text. */
static void again(struct buf *text)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF twice = { .max = 16 * MIB };
    struct err err = ERR_INIT;

    spec_init(&s);
    if (spec_parse("again", text->data, text->len, &s, &f) < 0 || spec_check(&s, &f) < 0)
        stop(f.lines.n ? f.lines.v[0] : "not read again");
    if (spec_print(&s, &twice, &err) < 0)
        stop(err.text);
    if (twice.len != text->len || memcmp(twice.data, text->data, twice.len) != 0)
        stop("not the same the second time");
}

/* The text as the value of every option, for their own forms of lists. */
static void as_flags(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = strndup((const char *)data, size);
    const struct spec_key *flags[64];
    size_t n = spec_flags(flags, 64);
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };

    spec_init(&s);
    for (size_t i = 0; text && i < n; i++)
        (void)spec_flag(&s, flags[i]->flag, text, &f);
    (void)spec_check(&s, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF text = { .max = 16 * MIB };
    struct err err = ERR_INIT;
    int r;

    if (size < 256)
        as_flags(data, size);
    spec_init(&s);
    r = spec_parse("fuzz.yaml", data, size, &s, &f);
    if ((r < 0) != (f.n > 0))
        stop("refused without a word");
    if (spec_check(&s, &f) < 0)
        return 0;
    r = spec_print(&s, &text, &err);
    if (r == -E2BIG)
        return 0; /* escapes made it too large */
    if (r < 0)
        stop(err.text);
    again(&text);
    return 0;
}
