/* dl.h - a typed table of functions from a library that may be missing.
 *
 * All symbols or none. The static program has no dl.c: it links against nothing that calls it. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct dl_symbol {
    const char *name;
    void **where;
};

/* Loads with RTLD_NOW | RTLD_LOCAL and fills every row; -EOPNOTSUPP with the loader's own text
 * when the library or one symbol is missing. The library stays loaded: *ret is never closed. */
int dl_load(const char *soname, const struct dl_symbol *symbols, size_t n, void **ret,
            struct err *err);

/* Whether a library was ever loaded here: its threads may run until the process is gone. */
bool dl_any_loaded(void);
