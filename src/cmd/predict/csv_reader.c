/* csv_reader.c - each byte is looked at once, to find the ends of cells and of the record; then its
 * cells are cut out where they stand. See csv_reader.h. */
#include "cmd/predict/csv_reader.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* Within a record: at the beginning of a cell, in one without quotes, in one with quotes, behind a
 * quote in one of those.
 *
 *     BEGIN ──"──► QUOTED ──"──► QUOTE ──"──► QUOTED      "" is a quote in a quoted cell
 *       │                          └──other──► PLAIN
 *       └──other──► PLAIN
 *
 * A separator or the line's end ends the cell in each of them but QUOTED, and leads to BEGIN. */
enum csv_state { CSV_BEGIN, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE };

void csv_init(struct csv_reader *c)
{
    *c = (struct csv_reader){ .in.max = CSV_RECORD_MAX, .line = 1 };
}

void csv_done(struct csv_reader *c)
{
    buf_done(&c->in);
    free(c->ends);
    free(c->cells);
}

/* The record that was given last is not needed any more. */
static void csv_drop(struct csv_reader *c)
{
    if (c->given)
        c->from = c->scanned;
    c->given = false;
}

int csv_room(struct csv_reader *c, size_t n, uint8_t **ret)
{
    csv_drop(c);
    buf_eat(&c->in, c->from);
    c->scanned -= c->from;
    c->from = 0;
    return buf_room(&c->in, n + 1, ret); /* the last cell of the file wants a NUL behind it */
}

void csv_filled(struct csv_reader *c, size_t n)
{
    c->in.len += n;
    c->ended = n == 0;
}

/* ---- where it begins ---- */

static const char bom[] = { '\xef', '\xbb', '\xbf' };

/* The byte order mark and the separator, once the first line is there. */
static bool csv_begin(struct csv_reader *c)
{
    const void *end = c->in.len > 0 ? memchr(c->in.data, '\n', c->in.len) : NULL;
    size_t n = end ? (size_t)((const uint8_t *)end - c->in.data) : c->in.len;

    if (!end && !c->ended)
        return false;
    c->begun = true;
    if (n >= sizeof(bom) && memcmp(c->in.data, bom, sizeof(bom)) == 0) {
        buf_eat(&c->in, sizeof(bom));
        n -= sizeof(bom);
    }
    c->separator = ',';
    for (const char *s = "\t;"; *s && n > 0 && c->separator == ','; s++)
        if (memchr(c->in.data, *s, n))
            c->separator = *s;
    return true;
}

/* ---- where a record ends ---- */

static int csv_end_cell(struct csv_reader *c, size_t at, struct err *err)
{
    if (c->n == CSV_CELLS_MAX)
        return err_set(err, -E2BIG, "line %lld: more than %d columns", (long long)c->line,
                       CSV_CELLS_MAX);
    if (ARRAY_FIT(c->ends, c->cap, c->n + 1) < 0)
        return err_oom(err);
    c->ends[c->n++] = at - c->from;
    c->state = CSV_BEGIN;
    return 0;
}

/* The state after a byte that ends nothing. */
static int csv_after(int state, uint8_t byte)
{
    if (byte == '"')
        return state == CSV_BEGIN || state == CSV_QUOTE ? CSV_QUOTED
               : state == CSV_QUOTED                    ? CSV_QUOTE
                                                        : CSV_PLAIN;
    return state == CSV_QUOTED ? CSV_QUOTED : CSV_PLAIN;
}

/* 1 when the record's last byte was seen, 0 when it was not. */
static int csv_scan(struct csv_reader *c, struct err *err)
{
    while (c->scanned < c->in.len) {
        size_t at = c->scanned++;
        uint8_t byte = c->in.data[at];
        bool open = c->state == CSV_QUOTED;
        int r = 0;

        c->lines += byte == '\n';
        if (byte == 0)
            return err_set(err, -EINVAL, "line %lld: this is not text: it has a byte of 0",
                           (long long)(c->line + c->lines));
        if (!open && (byte == '\n' || byte == (uint8_t)c->separator))
            r = csv_end_cell(c, at, err);
        else
            c->state = csv_after(c->state, byte);
        if (r < 0 || (!open && byte == '\n'))
            return r < 0 ? r : 1;
    }
    if (!c->ended || (c->n == 0 && c->scanned == c->from))
        return 0;
    if (c->state == CSV_QUOTED)
        return err_set(err, -EINVAL, "line %lld: a quote (\") is opened here and never closed",
                       (long long)c->line);
    return csv_end_cell(c, c->in.len, err) < 0 ? -ENOMEM : 1;
}

/* ---- its cells ---- */

static bool csv_is_space(char c)
{
    return c == ' ' || c == '\r' || c == '\t';
}

/* A cell without its quotes, where it stands. */
static void csv_unquote(char *s)
{
    char *to = s, *at = s + 1;

    for (; *at; at++) {
        if (*at == '"' && at[1] == '"')
            at++;
        else if (*at == '"')
            continue;
        *to++ = *at;
    }
    *to = '\0';
}

static const char *csv_cell(char *from, char *end)
{
    while (from < end && csv_is_space(*from))
        from++;
    while (end > from && csv_is_space(end[-1]))
        end--;
    *end = '\0';
    if (*from == '"')
        csv_unquote(from);
    return from;
}

static int csv_cut(struct csv_reader *c, struct csv_record *ret, struct err *err)
{
    char *record = (char *)c->in.data + c->from;
    size_t from = 0;

    if (ARRAY_FIT(c->cells, c->cells_cap, c->n) < 0)
        return err_oom(err);
    for (size_t i = 0; i < c->n; i++) {
        c->cells[i] = csv_cell(record + from, record + c->ends[i]);
        from = c->ends[i] + 1;
    }
    *ret = (struct csv_record){ .cells = c->cells, .n = c->n, .line = c->line };
    return 1;
}

int csv_next(struct csv_reader *c, struct csv_record *ret, struct err *err)
{
    int r;

    csv_drop(c);
    do {
        if (!c->begun && !csv_begin(c))
            return 0;
        r = csv_scan(c, err);
        if (r <= 0)
            return r;
        c->given = true;
        r = csv_cut(c, ret, err);
        c->line += c->lines;
        c->lines = 0;
        c->n = 0;
        if (r > 0 && ret->n == 1 && !*ret->cells[0]) { /* an empty line */
            csv_drop(c);
            r = 0;
        }
    } while (r == 0);
    return r;
}
