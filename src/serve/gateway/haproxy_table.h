/* haproxy_table.h - tables that HAProxy prints: `show stat` (commas) and `show servers state`
 * (blanks). Columns are found by name, because each version of HAProxy adds some. Pure. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAPROXY_COLUMNS 256
#define HAPROXY_CELLS ((size_t)1 << 20)

struct haproxy_table {
    char *text;         /* what the cells point into */
    const char **cells; /* rows × columns, without the row of names */
    const char **names;
    size_t columns, rows;
};

/* The table in `p`: it begins at the first line that starts with '#'. Short rows are filled with
 * "", long ones are an error. `ret` needs haproxy_table_done() in any case. */
int haproxy_table_parse(const void *p, size_t n, char separator, struct haproxy_table *ret,
                        struct err *err);
void haproxy_table_done(struct haproxy_table *t);

/* The cell of a column, "" when there is no such column. Borrowed. */
const char *haproxy_cell(const struct haproxy_table *t, size_t row, const char *column);
/* The same as a number; 0 when it is none. */
int64_t haproxy_number(const struct haproxy_table *t, size_t row, const char *column);

/* One server as HAProxy has it. */
struct haproxy_server {
    const char *backend, *name; /* borrowed from the table of states */
    bool maintenance, draining, up;
    unsigned weight;
    int64_t since_ms;         /* since it last changed its state */
    int64_t in_use;           /* requests on it and waiting for it */
    int64_t requests, errors; /* since it was added */
};

/* All servers, from both tables. *ret is the caller's: free(). `stat` may be empty. */
int haproxy_servers(const struct haproxy_table *state, const struct haproxy_table *stat,
                    struct haproxy_server **ret, size_t *ret_n, struct err *err);
/* A replica with two servers, one of them for gRPC, is up where both are, and does what both do:
 * the first one says so from here on (haproxy_grpc.h). */
void haproxy_servers_join(struct haproxy_server *v, size_t n);
/* Requests of a backend that wait for any of its servers; 0 for one that is not there. */
int64_t haproxy_waiting(const struct haproxy_table *stat, const char *backend);

static inline void auto_haproxy_table_(struct haproxy_table *t)
{
    haproxy_table_done(t);
}
#define AUTO_HAPROXY_TABLE AUTO(haproxy_table) struct haproxy_table
