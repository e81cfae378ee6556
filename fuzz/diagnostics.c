/* diagnostics.c - what YARN says about an application that failed, as text. What is read has to be
 * of the text: never longer than it. */
#include "client/yarn_diagnostics.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diagnostics d = { 0 };
    char *text = strndup((const char *)data, size);

    if (!text || diagnostics_read(text, &d) < 0)
        abort();
    if (strlen(d.lines) > size + 1 || strlen(d.reason) > size || strchr(d.reason, '\n'))
        abort();
    if (diagnostics_not_submitted(text, &d) > 0 &&
        (strlen(d.reason) > size || strchr(d.reason, '\n')))
        abort();
    diagnostics_done(&d);
    free(text);
    return 0;
}
