/* doc.h - what a verb prints: a JSON document, or with templates the same document for people.
 *
 * A verb that works through a list writes its one document while it works:
 *
 *     {"entries":[{…},{…}],"errors":[{"operand":"x", "code":"ENOENT", …}]}
 *
 * So a listing of any length needs no memory, and a failure in the middle still leaves a document
 * that can be read. Without --json nothing is written. One fiber. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "cli/table.h"
#include <stdbool.h>

struct doc {
    bool on;
    const char *list; /* key of the list, borrowed */
    bool open;        /* the beginning is out */
    size_t n;         /* elements that are out */
    json_t *errors;
};

void doc_begin(struct doc *d, bool on, const char *list);
/* Writes one element. `v` is used up in any case; NULL is -ENOMEM. */
int doc_add(struct doc *d, json_t *v, struct err *err);
/* Remembers a failure for the end; `operand` is what the user wrote, or NULL. */
void doc_error(struct doc *d, const char *operand, int result, const struct err *err);
/* Writes the end. Call it once; frees what it holds. */
int doc_end(struct doc *d, struct err *err);

/* Makes a document by json_make()'s format and prints it. */
#define doc_print(err, ...)                                                                        \
    ({                                                                                             \
        AUTO_JSON *doc_ = NULL;                                                                    \
        int made_ = json_make(&doc_, (err), __VA_ARGS__);                                          \
        made_ < 0 ? made_ : json_print(stdout, doc_, (err));                                       \
    })

/* ---- for people ----
 *
 * A template is text with values of a document in it: {name}, {used.memory_mb|mb}. How a value is
 * shown: a text or a number as it is, a list with commas; |lower, |size (of bytes), |mb (of
 * megabytes), |when (a time in milliseconds), |percent, |share (of 1), |known (not YARN's "N/A").
 */

/* Appends it. 1; 0 when a value is missing, null or empty; -ENOMEM … */
int doc_text(const json_t *doc, const char *template, struct buf *out);
/* The cells of a row that are not there yet; what has no value is a dash. */
int doc_row(struct table *t, const json_t *v, struct err *err);
/* A table of the list's elements on standard output. */
int doc_table(const json_t *list, const struct table_column *columns, size_t n, struct err *err);

struct doc_layout {
    int indent, width; /* before labels, and of them */
};
/* A line for each that has a value, its title the label. */
int doc_sheet(const json_t *doc, const struct doc_layout *l, const struct table_column *lines,
              size_t n, struct err *err);

/* "2026-11-16 04:12" in local time; "-" for 0 or less. */
#define DOC_WHEN 24
const char *doc_when(int64_t ms, char out[DOC_WHEN]);
