/* table.c - columns for people. Cells are kept until a batch of rows is there, because a column is
 * as wide as its widest cell; after that the width only grows, so an endless table needs no memory.
 * See table.h. */
#include "cli/table.h"

#include <stdarg.h>

#define GAP "  "
#define CELL_MOST 8192

/* Characters, not bytes: continuation bytes of UTF-8 take no column. Wide characters count as
 * one. */
unsigned table_width(const char *s)
{
    unsigned n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void table_begin(struct table *t, FILE *out, const struct table_column *columns, size_t n)
{
    *t = (struct table){ .out = out, .columns = columns, .n = n };
    for (size_t i = 0; i < n; i++)
        t->widths[i] = columns[i].title ? table_width(columns[i].title) : 0;
}

static void print_cell(const struct table *t, size_t column, const char *text)
{
    unsigned pad = t->widths[column] - table_width(text);
    bool last = column + 1 == t->n;

    if (t->columns[column].right)
        fprintf(t->out, "%*s%s", (int)pad, "", text);
    else
        fprintf(t->out, "%s%*s", text, last ? 0 : (int)pad, "");
    fputs(last ? "\n" : GAP, t->out);
}

static void print_header(struct table *t)
{
    if (t->started || !t->columns[0].title)
        return;
    for (size_t i = 0; i < t->n; i++)
        print_cell(t, i, t->columns[i].title);
    t->started = true;
}

static void flush_rows(struct table *t)
{
    print_header(t);
    for (size_t i = 0; i < t->cells.n; i++)
        print_cell(t, i % t->n, t->cells.v[i]);
    strs_done(&t->cells);
}

void table_cell(struct table *t, const char *fmt, ...)
{
    AUTO_FREE char *raw = NULL;
    AUTO_FREE char *clean = NULL;
    size_t column = t->cells.n % t->n, cap;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&raw, fmt, ap);
    va_end(ap);
    if (n < 0)
        raw = NULL;
    cap = raw ? 4 * (size_t)n + 1 : 0;
    clean = raw ? malloc(cap < CELL_MOST ? cap : CELL_MOST) : NULL;
    if (!clean || t->failed) {
        t->failed = true;
        return;
    }
    str_clean(clean, cap < CELL_MOST ? cap : CELL_MOST, raw);
    if (table_width(clean) > t->widths[column])
        t->widths[column] = table_width(clean);
    if (strs_take(&t->cells, take(clean)) < 0)
        t->failed = true;
    else if (t->cells.n == TABLE_BATCH * t->n)
        flush_rows(t);
}

int table_end(struct table *t, struct err *err)
{
    if (!t->failed)
        flush_rows(t);
    table_done(t);
    return t->failed ? err_oom(err) : 0;
}

void table_done(struct table *t)
{
    strs_done(&t->cells);
}
