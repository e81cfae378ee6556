/* http_cookie.c - see http_cookie.h */
#include "wire/http_cookie.h"
#include "wire/http_query.h"

#include <string.h>

int http_cookie(const char *header, const char *name, char **ret)
{
    size_t want = strlen(name), n;

    *ret = NULL;
    for (const char *at = header ? header : ""; *at; at += n + (at[n] == ';')) {
        at += strspn(at, " \t");
        n = strcspn(at, ";");
        if (n > want && at[want] == '=' && strncmp(at, name, want) == 0) {
            const char *value = at + want + 1;
            size_t len = n - want - 1;

            while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
                len--;
            return http_unquote(value, len, true, ret);
        }
    }
    return 0;
}
