/* doc.h - the one JSON document of a verb that works through a list, written while it works:
 *
 *     {"entries":[{…},{…}],"errors":[{"operand":"x", "code":"ENOENT", …}]}
 *
 * So a listing of any length needs no memory, and a failure in the middle still leaves a document
 * that can be read. Without --json nothing is written. One fiber. */
#pragma once
#include "base/json.h"
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
