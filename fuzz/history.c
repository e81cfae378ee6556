/* history.c - the events log of a job, which a crash may have cut and anybody may have edited. */
#include "job/history.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(history) struct history *h = NULL;
    AUTO_JSON *document = NULL;
    const char *at = (const char *)data, *end = at + size, *line;

    if (size > 64 * 1024 || history_new(&h, NULL) < 0)
        return 0;
    for (; at < end; at = line + 1) {
        line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            line = end;
        (void)history_apply(h, at, (size_t)(line - at), NULL);
    }
    /* Whatever was applied, there is a document, and it can be printed. */
    if (history_json(h, 1, &document, NULL) == 0) {
        AUTO_FREE char *text = json_dumps(document, JSON_COMPACT);

        if (!text)
            abort();
    }
    return 0;
}
