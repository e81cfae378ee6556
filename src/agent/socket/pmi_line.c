/* pmi_line.c - finds a field in a line of PMI-1. */
#include "agent/socket/pmi_line.h"
#include "base/str.h"

#include <string.h>

bool pmi_field(const char *line, const char *name, char *out, size_t cap)
{
    size_t len = strlen(name);

    while (*line) {
        bool rest = str_starts(line, "value=");
        size_t n = rest ? strlen(line) : strcspn(line, " ");

        if (n > len && strncmp(line, name, len) == 0 && line[len] == '=') {
            if (n - len - 1 >= cap)
                return false;
            memcpy(out, line + len + 1, n - len - 1);
            out[n - len - 1] = '\0';
            return true;
        }
        line += n;
        line += strspn(line, " ");
    }
    return false;
}
