/* keys.h - the Hadoop settings that ydl reads, in one table: name, default, type and why.
 *
 * The defaults are those of Hadoop 3.4's own *-default.xml. A key may be read without a row here
 * (those with a name service or an id in their name have none); it has no default then. Any
 * thread; everything returned is static. */
#pragma once
#include <stddef.h>

enum key_type {
    KEY_TEXT,
    KEY_LIST,    /* names with commas between */
    KEY_INT,     /* also 0x… */
    KEY_BOOL,    /* true or false */
    KEY_MS,      /* a time; a plain number means milliseconds */
    KEY_SECONDS, /* a time; a plain number means seconds */
    KEY_SIZE,    /* bytes, with k, m, g, t, p or e behind for powers of 1024 */
};

struct key {
    const char *name;
    const char *fallback; /* NULL: unset unless the cluster says something */
    enum key_type type;
    const char *why; /* what ydl does with it, in one line */
};

/* The row of `name`, or NULL. */
const struct key *key_find(const char *name);
/* All rows, sorted by name. */
const struct key *key_table(size_t *ret_n);

/* The present name of a setting that was renamed, or `name` itself. */
const char *key_current(const char *name);
