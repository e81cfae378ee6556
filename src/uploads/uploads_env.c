/* uploads_env.c - the Python environment that a job is given. See uploads.h. */
#include "base/path.h"
#include "pyenv/pyenv.h"
#include "uploads/uploads_private.h"

#include <string.h>

#define KEY "venv"

/* A directory: all of it is looked at here, and sent as this list says. */
static int add_tree(struct uploads_search *s, struct uploads_item *item)
{
    AUTO_PYENV e = { 0 };
    struct err err = ERR_INIT;
    int r = pyenv_look(item->from, &e, &err);

    if (r == 0 && e.kind == PYENV_NONE)
        return uploads_refuse(s, KEY,
                              "'%s' is not a Python environment: it has neither pyvenv.cfg nor "
                              "conda-meta",
                              s->spec->venv);
    item->tree = r == 0 ? calloc(1, sizeof(*item->tree)) : NULL;
    if (r == 0 && !item->tree)
        return -ENOMEM;
    if (r == 0)
        r = pyenv_list(&e, item->tree, &err);
    if (r == 0 && pack_size(item->tree) == 0)
        return -ENOMEM;
    if (r != 0)
        return r == -ENOMEM ? r : uploads_refuse(s, KEY, "%s", err.text);
    item->directory = true;
    item->size = item->tree->bytes;
    item->n_files = item->tree->n_files;
    return pyenv_notes(&e, item->tree, &s->list->notes);
}

/* An archive, as `ydl pack` makes one; or a directory.
 * A directory is packed by us, whatever its name; an archive goes as it is, so NodeManagers must
 * know its ending. */
static int uploads_env_look_at(struct uploads_search *s, struct uploads_item *item)
{
    struct stat st;
    int r = uploads_place(s, KEY, s->spec->venv, item);

    if (r < 0 || s->failed)
        return r;
    item->archive = uploads_can_unpack(item->from);
    if (item->remote)
        return item->archive
                   ? 0
                   : uploads_refuse(
                         s, KEY,
                         "'%s': an environment on HDFS must be an archive: zip, tar, tgz or tar.gz",
                         item->from);
    if (stat(item->from, &st) < 0) {
        struct err err = ERR_INIT;

        err_sys(&err, "'%s' cannot be read", s->spec->venv);
        return uploads_refuse(s, KEY, "%s", err.text);
    }
    if (S_ISDIR(st.st_mode)) {
        item->archive = false;
        return add_tree(s, item);
    }
    item->size = (uint64_t)st.st_size;
    return item->archive
               ? 0
               : uploads_refuse(s, KEY,
                                "'%s' is neither a Python environment nor an archive of one",
                                s->spec->venv);
}

int uploads_find_env(struct uploads_search *s)
{
    struct uploads_item item = { .to = strdup(UPLOADS_ENV) };
    bool before = s->failed, good;
    int r;

    s->failed = false;
    r = item.to ? uploads_env_look_at(s, &item) : -ENOMEM;
    good = r == 0 && !s->failed;
    s->failed |= before;
    if (good)
        return uploads_push(s->list, item);
    uploads_item_done(&item);
    return r;
}
