/* path_remove.c - takes away a whole tree; see path.h. */
#include "base/path.h"

#include <fts.h>
#include <stdio.h>

static int remove_entry(const FTSENT *e, struct err *err)
{
    switch (e->fts_info) {
    case FTS_D: /* again on the way back */
        return 0;
    case FTS_NS:
    case FTS_DNR:
    case FTS_ERR:
        if (e->fts_errno == ENOENT)
            return 0;
        if (e->fts_info != FTS_DNR)
            return err_code(err, -e->fts_errno, "look at '%s'", e->fts_path);
        break; /* cannot be read, but perhaps it is empty */
    default:
        break;
    }
    if (remove(e->fts_accpath) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", e->fts_path);
    return 0;
}

int path_remove(const char *path, struct err *err)
{
    char *const roots[] = { (char *)path, NULL };
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *e;
    int r = 0, first = 0;

    if (!tree)
        return err_sys(err, "look at '%s'", path);
    /* Goes on after a failure: the less is left behind the better. */
    while ((e = fts_read(tree)) != NULL) {
        r = remove_entry(e, first ? NULL : err);
        first = first ? first : r;
    }
    (void)fts_close(tree);
    return first;
}
