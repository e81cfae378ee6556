/* table.h - rows of text in aligned columns, for people.
 *
 * Cells are cleaned (what is in them may come from a server) and kept until there are TABLE_BATCH
 * rows; then they are printed with columns as wide as anything seen so far. So a short table is
 * perfectly aligned and an endless one needs no memory. Main thread or one fiber. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include <stdio.h>

#define TABLE_COLUMNS 12 /* at most */
#define TABLE_BATCH 1000

struct table_column {
    const char *title; /* NULL in all of them: no header line */
    bool right;        /* numbers */
    const char *text;  /* of documents: the template of its cells (cli/doc.h), or … */
    int (*put)(const json_t *row, struct buf *out); /* … what appends them */
};

struct table {
    FILE *out;
    const struct table_column *columns; /* borrowed */
    size_t n;                           /* columns */
    unsigned widths[TABLE_COLUMNS];
    struct strs cells; /* row by row */
    bool started;      /* the header is out */
    bool failed;       /* out of memory: told by table_end() */
};

/* `out` and `columns` are borrowed. */
void table_begin(struct table *t, FILE *out, const struct table_column *columns, size_t n);
/* The next cell; a row is complete when it has one for each column. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints what is left, the header too when there was no row. -ENOMEM when something is missing. */
int table_end(struct table *t, struct err *err);
/* Frees what was not printed. After table_end() there is nothing to free. */
void table_done(struct table *t);

#define AUTO_TABLE AUTO_DONE(table_done) struct table

/* Columns that `s` takes on a terminal: its UTF-8 characters. */
unsigned table_width(const char *s);
