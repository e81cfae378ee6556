/* server_key.c - see server_key.h. */
#include "serve/engine/server_key.h"

#include <string.h>

/* Whether it lives and is ready, and its numbers, may be asked by anybody: by what keeps watch over
 * it, and can do so without a key that lets it ask for answers too. */
static bool is_open(struct http_call *c)
{
    static const char *const paths[] = { "/v2/health/live", "/v2/health/ready",
                                         "/monitoring/prometheus/metrics" };
    bool reads = strcmp(http_method(c), "GET") == 0 || strcmp(http_method(c), "HEAD") == 0;

    for (size_t i = 0; reads && i < COUNT_OF(paths); i++)
        if (strcmp(http_path(c), paths[i]) == 0)
            return true;
    return false;
}

bool server_key_shown(const struct key_set *keys, struct http_call *c)
{
    return is_open(c) || key_set_shown(keys, http_header(c, "Authorization"));
}

int server_key_ask(struct http_call *c, struct err *err)
{
    static const char text[] = "{\"error\": \"" SERVER_KEY_WANTED "\"}\n";
    int r = http_reply_header(c, "WWW-Authenticate", "Bearer", err);

    return r < 0 ? r : http_reply(c, 401, "application/json", text, sizeof(text) - 1, err);
}
