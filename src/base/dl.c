/* dl.c - see dl.h */
#include "base/dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* Of the process, as its libraries are. */
static atomic_bool any_loaded;

/* dlerror() may be empty after a symbol whose value is NULL; such a function is of no use either.
 */
static const char *loader_text(void)
{
    const char *text = dlerror();

    return text ? text : "unknown reason";
}

/* Looked up twice: a library that lacks one symbol leaves all pointers as they were, so nobody can
 * call into one that was closed again. */
int dl_load(const char *soname, const struct dl_symbol *symbols, size_t n, void **ret,
            struct err *err)
{
    void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return err_set(err, -EOPNOTSUPP, "%s", loader_text());
    atomic_store(&any_loaded, true);
    for (size_t i = 0; i < n; i++)
        if (!dlsym(handle, symbols[i].name)) {
            err_set(err, -EOPNOTSUPP, "%s: no %s: %s", soname, symbols[i].name, loader_text());
            dlclose(handle); /* nothing of it was handed out */
            return -EOPNOTSUPP;
        }
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(handle, symbols[i].name);

        /* Copied as bytes: `where` is a pointer to some function pointer, not to a void pointer. */
        memcpy(symbols[i].where, &symbol, sizeof(symbol));
    }
    *ret = handle;
    return 0;
}

bool dl_any_loaded(void)
{
    return atomic_load(&any_loaded);
}
