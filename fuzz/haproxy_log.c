/* haproxy_log.c - lines of HAProxy's log, each counted for a version and a replica. */
#include "serve/gateway/haproxy_log.h"
#include "fuzz.h"
#include "serve/gateway/traffic.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(traffic) struct traffic *t = traffic_new();
    struct traffic_sum s;
    uint64_t counted = 0;
    int64_t now = 1;

    if (!t || traffic_declare(t, "m:1", "", now) < 0 || traffic_declare(t, "m:1", "a", now) < 0)
        return 0;
    traffic_mark(t, "m:1", now);
    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size;
        struct haproxy_request q;

        if (haproxy_log_parse((const char *)data, n, &q) == 0) {
            if (q.us < 0 || q.status > 999)
                abort();
            traffic_count(t, &q, now += 1000);
            counted += strcmp(q.backend, "m:1") == 0;
        }
        n += end != NULL;
        data += n;
        size -= n;
    }
    if (traffic_marked(t, "m:1", now, &s) == 0 &&
        (s.requests != counted || s.times.total != counted || s.errors > counted))
        abort();
    return 0;
}
