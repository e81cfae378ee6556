/* server_key.c - see server_key.h. */
#include "serve/engine/server_key.h"

#include <string.h>

/* Whether it lives and is ready may be asked by anybody: by what keeps watch over it. */
bool server_key_shown(const struct key_set *keys, struct http_call *c)
{
    const char *path = http_path(c);

    return strcmp(path, "/v2/health/live") == 0 || strcmp(path, "/v2/health/ready") == 0 ||
           key_set_shown(keys, http_header(c, "Authorization"));
}

int server_key_ask(struct http_call *c, struct err *err)
{
    static const char text[] = "{\"error\": \"" SERVER_KEY_WANTED "\"}\n";
    int r = http_reply_header(c, "WWW-Authenticate", "Bearer", err);

    return r < 0 ? r : http_reply(c, 401, "application/json", text, sizeof(text) - 1, err);
}
