/* dl.h - a typed table of functions from a library that may be missing.
 *
 *     static DL_FN(gss_init_sec_context);
 *     static const struct dl_symbol symbols[] = { DL_SYMBOL(gss_init_sec_context), … };
 *     r = dl_load("libgssapi_krb5.so.2", symbols, COUNT_OF(symbols), &handle, err);
 *     dl_gss_init_sec_context(…);
 *
 * All symbols or none. The static program has no dl.c: it links against nothing that calls it. */
#pragma once
#include "base/err.h"
#include <stddef.h>

#define DL_FN(fn) __typeof__(fn) *dl_##fn
#define DL_SYMBOL(fn)                                                                              \
    {                                                                                              \
#fn, (void **)&dl_##fn                                                                     \
    }

struct dl_symbol {
    const char *name;
    void **where;
};

/* Loads with RTLD_NOW | RTLD_LOCAL and fills every row; -EOPNOTSUPP with the loader's own text
 * when the library or one symbol is missing. The library stays loaded: *ret is never closed. */
int dl_load(const char *soname, const struct dl_symbol *symbols, size_t n, void **ret,
            struct err *err);
