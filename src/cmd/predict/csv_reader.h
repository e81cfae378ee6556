/* csv_reader.h - records of a CSV file, from bytes as they come.
 *
 * As in RFC 4180: a cell in double quotes may contain separators, ends of lines and "" for a quote.
 * The separator is that of the first line: a tab, else a semicolon, else a comma. Lines end with LF
 * or CRLF; empty lines and a byte order mark are passed over. Pure.
 *
 *     while ((r = csv_next(&c, &record, err)) >= 0) {
 *         if (r > 0) …use record;
 *         else if (c.ended) break;
 *         else { csv_room(&c, n, &p); …read up to n bytes to p; csv_filled(&c, got); }
 *     } */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

#define CSV_RECORD_MAX (16 * MIB)
#define CSV_CELLS_MAX (1024 * 1024)

struct csv_reader {
    struct buf in;
    size_t from, scanned; /* of `in`: where the present record begins; what was looked at */
    size_t *ends;         /* of the cells of the present record, counted from its beginning */
    size_t n, cap;
    int64_t line; /* where the present record begins, from 1 */
    int64_t lines;
    int state; /* within the present record */
    char separator;
    bool begun, given, ended; /* the file; the present record; the file */
    const char **cells;
    size_t cells_cap;
};

struct csv_record {
    const char *const *cells; /* without quotes and white space around them; valid until the next */
    size_t n;
    int64_t line; /* on which it begins */
};

void csv_init(struct csv_reader *c);
void csv_done(struct csv_reader *c);

/* Room for `n` bytes of the file; -E2BIG when a record is too large for that. */
int csv_room(struct csv_reader *c, size_t n, uint8_t **ret);
/* So many came; 0: that was the end of the file. */
void csv_filled(struct csv_reader *c, size_t n);
/* 1 and a record; 0: more bytes are needed, or at the end, there is none. -EINVAL, -E2BIG. Errors
 * begin with the line: "line 12: …". */
int csv_next(struct csv_reader *c, struct csv_record *ret, struct err *err);

#define AUTO_CSV AUTO_DONE(csv_done) struct csv_reader
