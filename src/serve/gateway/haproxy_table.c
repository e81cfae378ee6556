/* haproxy_table.c - cells are cut out of one copy of the text, in place. */
#include "serve/gateway/haproxy_table.h"
#include "base/array.h"
#include "base/str.h"
#include "serve/gateway/haproxy_grpc.h"

#include <string.h>

/* Bits of srv_admin_state. Forced, inherited or from the configuration makes no difference.
 *
 * 0x01 forced, 0x02 inherited from another server, 0x04 by the configuration, 0x20 because a name
 * could not be looked up; 0x08 and 0x10 are a drain, forced or inherited. */
#define ADMIN_MAINTENANCE (0x01 | 0x02 | 0x04 | 0x20)
#define ADMIN_DRAIN (0x08 | 0x10)
/* Of srv_op_state: 0 is down, 1 starting slowly, 2 up, 3 up and about to stop, which is what a
 * drained server can be. */
#define RUNNING 2 /* srv_op_state; 1 is a slow start */

/* Cuts one line into cells; -E2BIG when there are more than `most`. */
static int table_cut(char *line, char separator, const char **out, size_t most)
{
    size_t n = 0;

    for (char *at = line; at; n++) {
        char *end = strchr(at, separator);

        if (n == most)
            return *at ? -E2BIG : (int)n; /* `show stat` ends each line with a separator */
        if (end)
            *end++ = '\0';
        out[n] = at;
        at = end;
    }
    return (int)n;
}

static int table_names(struct haproxy_table *t, char *line, char separator, struct err *err)
{
    int r;

    t->names = calloc(HAPROXY_COLUMNS, sizeof(*t->names));
    if (!t->names)
        return err_oom(err);
    line += strspn(line, "# ");
    r = table_cut(line, separator, t->names, HAPROXY_COLUMNS);
    if (r < 0)
        return err_set(err, r, "HAProxy's table has more than %d columns", HAPROXY_COLUMNS);
    t->columns = (size_t)r;
    return 0;
}

static int table_row(struct haproxy_table *t, size_t *cap, char *line, char separator,
                     struct err *err)
{
    size_t first = t->rows * t->columns;
    int r;

    if (first + t->columns > HAPROXY_CELLS)
        return err_set(err, -E2BIG, "HAProxy's table has too many rows");
    if (ARRAY_FIT(t->cells, *cap, first + t->columns) < 0)
        return err_oom(err);
    for (size_t i = 0; i < t->columns; i++)
        t->cells[first + i] = "";
    r = table_cut(line, separator, t->cells + first, t->columns);
    if (r < 0)
        return err_set(err, -EPROTO, "row %zu of HAProxy's table has too many cells", t->rows + 1);
    t->rows++;
    return 0;
}

int haproxy_table_parse(const void *p, size_t n, char separator, struct haproxy_table *ret,
                        struct err *err)
{
    size_t cap = 0;
    char *rest;
    int r = 0;

    *ret = (struct haproxy_table){ 0 };
    if (n && memchr(p, '\0', n))
        return err_set(err, -EPROTO, "HAProxy's table has a NUL in it");
    ret->text = strndup(n ? p : "", n);
    if (!ret->text)
        return err_oom(err);
    rest = ret->text;
    for (char *line; r == 0 && (line = strsep(&rest, "\n"));) {
        if (!ret->names && *line == '#')
            r = table_names(ret, line, separator, err);
        else if (ret->names && *line)
            r = table_row(ret, &cap, line, separator, err);
    }
    if (r == 0 && !ret->names)
        r = err_set(err, -EPROTO, "HAProxy's answer is not a table");
    return r;
}

void haproxy_table_done(struct haproxy_table *t)
{
    free(t->text);
    free(t->cells);
    free(t->names);
    *t = (struct haproxy_table){ 0 };
}

const char *haproxy_cell(const struct haproxy_table *t, size_t row, const char *column)
{
    for (size_t i = 0; i < t->columns; i++)
        if (str_eq(t->names[i], column))
            return row < t->rows ? t->cells[row * t->columns + i] : "";
    return "";
}

int64_t haproxy_number(const struct haproxy_table *t, size_t row, const char *column)
{
    int64_t v = 0;

    return str_to_i64(haproxy_cell(t, row, column), 0, INT64_MAX / 2000, &v) < 0 ? 0 : v;
}

/* The row of `show stat` with this server's counters. Both tables have the same order, so the
 * search goes on where the last one ended. */
static void servers_counters(const struct haproxy_table *stat, size_t *at, struct haproxy_server *s)
{
    for (size_t i = 0; i < stat->rows; i++) {
        size_t row = (*at + i) % stat->rows;

        if (!str_eq(haproxy_cell(stat, row, "pxname"), s->backend) ||
            !str_eq(haproxy_cell(stat, row, "svname"), s->name))
            continue;
        s->in_use = haproxy_number(stat, row, "scur") + haproxy_number(stat, row, "qcur");
        s->requests = haproxy_number(stat, row, "stot");
        s->errors = haproxy_number(stat, row, "econ") + haproxy_number(stat, row, "eresp");
        *at = row + 1;
        return;
    }
}

int haproxy_servers(const struct haproxy_table *state, const struct haproxy_table *stat,
                    struct haproxy_server **ret, size_t *ret_n, struct err *err)
{
    AUTO_FREE struct haproxy_server *v = calloc(state->rows + 1, sizeof(*v));
    size_t at = 0;

    if (!v)
        return err_oom(err);
    for (size_t i = 0; i < state->rows; i++) {
        int64_t admin = haproxy_number(state, i, "srv_admin_state");
        struct haproxy_server *s = &v[i];

        s->backend = haproxy_cell(state, i, "be_name");
        s->name = haproxy_cell(state, i, "srv_name");
        s->maintenance = (admin & ADMIN_MAINTENANCE) != 0;
        s->draining = (admin & ADMIN_DRAIN) != 0;
        s->up = !s->maintenance && haproxy_number(state, i, "srv_op_state") >= 1 &&
                haproxy_number(state, i, "srv_op_state") <= RUNNING + s->draining;
        s->weight = (unsigned)(haproxy_number(state, i, "srv_uweight") & 0xffff);
        s->since_ms = haproxy_number(state, i, "srv_time_since_last_change") * 1000;
        servers_counters(stat, &at, s);
    }
    *ret = take(v);
    *ret_n = state->rows;
    return 0;
}

void haproxy_servers_join(struct haproxy_server *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t beside = haproxy_grpc_beside(v[i].backend);

        for (size_t k = 0; beside && k < n; k++) {
            if (strlen(v[k].backend) != beside || memcmp(v[k].backend, v[i].backend, beside) != 0 ||
                !str_eq(v[k].name, v[i].name))
                continue;
            v[k].up = v[k].up && v[i].up;
            v[k].in_use += v[i].in_use;
        }
    }
}

int64_t haproxy_waiting(const struct haproxy_table *stat, const char *backend)
{
    for (size_t i = 0; i < stat->rows; i++)
        if (str_eq(haproxy_cell(stat, i, "svname"), "BACKEND") &&
            str_eq(haproxy_cell(stat, i, "pxname"), backend))
            return haproxy_number(stat, i, "qcur");
    return 0;
}
