/* haproxy_table.c - tables of HAProxy's run-time API; the first byte says which. */
#include "serve/gateway/haproxy_table.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_HAPROXY_TABLE state = { 0 };
    AUTO_HAPROXY_TABLE stat = { 0 };
    AUTO_FREE struct haproxy_server *v = NULL;
    size_t n = 0, half;

    if (size < 1 || size > 64 * 1024)
        return 0;
    half = size * data[0] / 256; /* the first part is one table, the rest the other */
    if (haproxy_table_parse(data, half, ' ', &state, NULL) < 0 ||
        haproxy_table_parse(data + half, size - half, ',', &stat, NULL) < 0 || state.rows > 1000)
        return 0;
    if (haproxy_servers(&state, &stat, &v, &n, NULL) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!v[i].backend || !v[i].name || v[i].in_use < 0 || v[i].since_ms < 0 ||
            strchr(v[i].backend, '\n'))
            abort();
    return 0;
}
