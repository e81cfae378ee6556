/* pyenv_list.c - the files of an environment, and what becomes of them. See pyenv.h. */
#include "base/path.h"
#include "pyenv/pyenv.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define SCRIPT_MAX MIB
#define RECORD_MAX (64 * MIB)

/* ---- what is left out ---- */

static const char *const caches[] = { "__pycache__", ".git", NULL };

/* Other ways to activate one, which say where it was and cannot be told to find out. */
static const char *const venv_without[] = { "bin/activate.csh", "bin/activate.nu",
                                            "bin/activate.bat", "bin/deactivate.bat", NULL };
static const char *const conda_without[] = {
    "pkgs", "envs", "conda-bld", CONDA_PREFIX_LIST, CONDA_PREFIX_MARK, "bin/conda-unpack", NULL
};

static const struct pack_rules rules[] = {
    [PYENV_NONE] = { .skip = caches, .into_envs = true },
    [PYENV_VENV] = { .skip = caches, .into_envs = true, .without = venv_without },
    [PYENV_CONDA] = { .skip = caches, .into_envs = true, .without = conda_without },
};

/* ---- what is changed ---- */

static int change_script(const struct pyenv *e, const struct buf *text, struct buf *out)
{
    return pyenv_script(&e->prefixes, (const char *)text->data, text->len, out);
}

static int change_config(const struct pyenv *e, const struct buf *text, struct buf *out)
{
    (void)e;
    return pyenv_config((const char *)text->data, text->len, out);
}

static int pyenv_list_change_record(const struct pyenv *e, const struct buf *text, struct buf *out)
{
    (void)e;
    return pyenv_record((const char *)text->data, text->len, out);
}

/* By how a name begins and ends; the first row that fits. */
static const struct change {
    const char *begin, *end;
    const char *magic; /* the file begins with it, or stays */
    size_t most;       /* a larger one stays too */
    int (*fn)(const struct pyenv *e, const struct buf *text, struct buf *out);
} changes[] = {
    { "bin/", "", "#!", SCRIPT_MAX, change_script },
    { "pyvenv.cfg", "pyvenv.cfg", "", SCRIPT_MAX, change_config },
    { "lib/", ".dist-info/RECORD", "", RECORD_MAX, pyenv_list_change_record },
};

static const struct change *change_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        if (str_starts(name, changes[i].begin) && str_ends(name, changes[i].end))
            return &changes[i];
    return NULL;
}

/* Most of what is in bin is no script: that is seen by two bytes. */
static bool has_magic(const char *path, const char *magic)
{
    size_t n = strlen(magic);
    AUTO_CLOSE int fd = n ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    char begin[8];

    return n == 0 || (fd >= 0 && read(fd, begin, n) == (ssize_t)n && memcmp(begin, magic, n) == 0);
}

static int pyenv_list_change(const struct pyenv *e, struct pack_entry *entry, struct err *err)
{
    const struct change *c = change_of(entry->name);
    AUTO_BUF text = { .max = RECORD_MAX + 1 }, out = { .max = 2 * RECORD_MAX };
    int r;

    if (!c || entry->stamp.size > c->most || !has_magic(entry->path, c->magic))
        return 0;
    r = path_read(entry->path, &text, err);
    if (r < 0)
        return r;
    r = text.len ? c->fn(e, &text, &out) : 0;
    if (r < 0)
        return err_oom(err);
    if (r == 0)
        return 0;
    if (!buf_text(&out)) /* never NULL, also when nothing is left */
        return err_oom(err);
    entry->n_data = out.len;
    entry->data = (char *)take(out.data);
    return 0;
}

/* The interpreter of a venv stays a link, wherever it leads: it is useless without the library that
 * is installed with it. */
static int keep_link(struct pack_entry *entry, struct err *err)
{
    AUTO_FREE char *text = NULL;
    ssize_t n;

    if (entry->type != PACK_FILE || !str_starts(entry->name, "bin/python"))
        return 0;
    text = calloc(1, PATH_MAX);
    if (!text)
        return err_oom(err);
    n = readlink(entry->path, text, PATH_MAX - 1);
    if (n <= 0)
        return 0; /* a copy */
    entry->link = take(text);
    entry->type = PACK_LINK;
    entry->executable = false;
    return 0;
}

/* ---- what is added ---- */

static const struct {
    const char *name, *text;
    bool always; /* or only where there was one */
} replaced[] = {
    { "bin/activate", pyenv_activate_sh, true },
    { "bin/activate.fish", pyenv_activate_fish, false },
};

static int pyenv_list_add_text(struct pack_list *l, const char *name, const char *text,
                               bool executable, struct err *err)
{
    return pack_add_data(l, name, strdup(text), strlen(text), executable) < 0 ? err_oom(err) : 0;
}

/* What is added first stays when the same name comes from the disk. */
static int add_replaced(const struct pyenv *e, struct pack_list *l, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(replaced) && r == 0; i++) {
        AUTO_FREE char *path = path_join(e->dir, replaced[i].name);

        if (!path)
            return err_oom(err);
        if (replaced[i].always || access(path, F_OK) == 0)
            r = pyenv_list_add_text(l, replaced[i].name, replaced[i].text, false, err);
    }
    return r;
}

/* conda recognizes an environment by its history, which has the commands that made it. */
static int add_conda(struct pack_list *l, struct err *err)
{
    int r = pyenv_list_add_text(l, "conda-meta/history", "", false, err);

    return r < 0 ? r : pyenv_list_add_text(l, "bin/conda-unpack", pyenv_unpack_py, true, err);
}

/* The order matters: what is added first wins over a file of that name on the disk, and conda's
 * records come last because they change files that pyenv_list_change() may have changed before. */
int pyenv_list(const struct pyenv *e, struct pack_list *l, struct err *err)
{
    int r = 0;

    if (e->kind != PYENV_NONE)
        r = add_replaced(e, l, err);
    if (r == 0 && e->kind == PYENV_CONDA)
        r = add_conda(l, err);
    if (r == 0)
        r = pack_add(l, e->dir, "", &rules[e->kind], err);
    for (size_t i = 0; r == 0 && e->kind != PYENV_NONE && i < l->n; i++) {
        struct pack_entry *entry = &l->v[i];

        if (e->kind == PYENV_VENV)
            r = keep_link(entry, err);
        if (r == 0 && entry->type == PACK_FILE && !entry->data)
            r = pyenv_list_change(e, entry, err);
    }
    if (r == 0 && e->kind == PYENV_CONDA)
        r = pyenv_conda(e, l, err);
    l->sorted = false; /* sizes are others now */
    return r;
}
