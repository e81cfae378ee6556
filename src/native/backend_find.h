/* backend_find.h - the library that is to run a model of a deployment. Places, best first:
 *
 *   1. what --backend or the deployment's file names: a file, or a directory to look in;
 *   2. what the model's own manifest names (its tag `backend`), where nobody but us and root can
 *      have put it: whoever can push a model must not run code as those who deploy it;
 *   3. the library's own variable;
 *   4. the Python that was named, else the first one in PATH;
 *   5. environments that ydl has made;
 *   6. LD_LIBRARY_PATH, and the directories of the system's loader.
 *
 * Other than library_find.h it ends with a file that is there, or with a sentence that says where
 * was looked. Blocks, as that. Any thread. */
#pragma once
#include "base/str.h"
#include "native/library_find.h"

#define BACKEND_TAG "backend" /* of a version */

struct backend_places {
    const char *named, *manifest, *python; /* NULL: nothing of that kind */
    const struct strs *made;               /* directories of environments; NULL */
    const char *system;                    /* "": the root of the system's directories */
};

/* The file's path is the caller's. -ENOENT, -EPERM: with a sentence. */
int backend_find(const struct find_library *l, const struct backend_places *p, char **ret,
                 struct err *err);
