/* segment.c - names in a directory that others may write to, and the heads of records. */
#include "job/segment.h"
#include "base/str.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = strndup((const char *)data, size);
    struct segment_seen seen = { 0 };
    struct segment s;
    const char *lines = (const char *)data, *at;

    if (!text)
        return 0;
    if (segment_parse(text, "events", "jsonl", &s)) {
        AUTO_FREE char *again = segment_name("events", "jsonl", &s);

        if (again && strcmp(again, text) != 0)
            abort(); /* two names for one segment */
    }
    /* The same record is there the second time, if it has a number. */
    (void)segment_seen_before(&seen, (const char *)data, size);
    if (seen.next > 0 && !segment_seen_before(&seen, (const char *)data, size))
        abort();
    /* What a reader does not want are whole lines. */
    at = segment_skip(lines, size, segment_want(lines, size, 7));
    if (at < lines || at > lines + size || (at > lines && at[-1] != '\n'))
        abort();
    return 0;
}
