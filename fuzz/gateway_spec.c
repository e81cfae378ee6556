/* gateway_spec.c - a gateway's JSON document. What is accepted makes a configuration whose lines
 * are those that we meant: no name in it begins a line of its own. */
#include "serve/gateway/gateway_spec.h"
#include "fuzz.h"
#include "serve/gateway/haproxy_conf.h"

#include <stdlib.h>
#include <string.h>

static bool all_up(void *user, const char *backend, const char *address)
{
    (void)user;
    (void)backend;
    (void)address;
    return true;
}

static size_t lines(const char *text, const char *begin)
{
    size_t n = 0;

    while ((text = strstr(text, begin))) {
        n++;
        text += strlen(begin);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(gateway_spec) struct gateway_spec *s = NULL;
    AUTO_BUF out = { .max = HAPROXY_CONF_MAX };
    struct haproxy_conf c = { .dir = "/d", .socket = "/s", .up = all_up };
    size_t backends = 0, servers = 0;
    const char *text;

    if (gateway_spec_parse("fuzz", data, size, &s, NULL) < 0)
        return 0;
    c.spec = s;
    if (haproxy_conf_write(&c, &out, NULL) < 0)
        return 0;
    text = buf_text(&out);
    for (size_t i = 0; i < s->n; i++) {
        backends += s->models[i].n;
        for (size_t k = 0; k < s->models[i].n; k++)
            servers += s->models[i].versions[k].n;
    }
    if (!text || lines(text, "\nbackend ") != backends || lines(text, "\n    server ") != servers ||
        lines(text, "\nfrontend ") != 1)
        abort();
    return 0;
}
