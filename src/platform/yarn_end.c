/* yarn_end.c - see yarn_private.h. What YARN's own exit statuses mean for a job; those of a
 * program are the agent's, and an agent that ends by itself while it has work is lost. */
#include "base/str.h"
#include "platform/yarn_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct {
    int32_t status;
    enum fail_class cls;
} classes[] = {
    { -1000, FAIL_FILES },     /* localisation */
    { -100,  FAIL_NODE },      /* aborted: its node is lost, or it was given back */
    { -101,  FAIL_DISK },
    { -102,  FAIL_PREEMPTED },
    { -103,  FAIL_MEMORY },    /* virtual */
    { -104,  FAIL_MEMORY },
    { -105,  FAIL_NODE },      /* stopped through its NodeManager */
    { -106,  FAIL_PERSON },    /* by the ResourceManager */
    { -107,  FAIL_PERSON },    /* the application was killed */
    { -108,  FAIL_PREEMPTED }, /* by the container scheduler of its node */
    { -109,  FAIL_LOG_LIMIT },
};
/* clang-format on */

enum fail_class yarn_end_class(int32_t exit_status, const char *diagnostics)
{
    (void)diagnostics;
    for (size_t i = 0; i < COUNT_OF(classes); i++)
        if (classes[i].status == exit_status)
            return classes[i].cls;
    return FAIL_NODE;
}

/* Lines of Java's stack traces, and the empty ones around them. */
static bool is_noise(const char *line, size_t n)
{
    while (n > 0 && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    return n == 0 || (n > 3 && memcmp(line, "at ", 3) == 0) ||
           (n > 4 && memcmp(line, "... ", 4) == 0);
}

void yarn_end_text(int32_t exit_status, const char *diagnostics, char *out, size_t n)
{
    const char *known = yarn_exit_text(exit_status), *at = diagnostics;
    size_t len;

    if (known)
        (void)snprintf(out, n, "%s", known);
    else
        (void)snprintf(out, n, "its agent ended with code %d", exit_status);
    for (int lines = 0; at && *at && lines < 3; at += at[0] != '\0') {
        size_t line = strcspn(at, "\n");

        len = strlen(out);
        if (!is_noise(at, line) && len + 3 < n) {
            (void)snprintf(out + len, n - len, "%s%.*s", lines++ ? " " : ": ", (int)line, at);
        }
        at += line;
    }
}
