/* walk.c - fs_glob(): follows a pattern through the directories, component by component. */
#include "base/array.h"
#include "base/str.h"
#include "hadoop/fs/fs.h"
#include "hadoop/fs/glob.h"

#include <string.h>

#define FOUND_MAX 1000000 /* names in memory at once */

void fs_entries_done(struct fs_entries *e)
{
    for (size_t i = 0; i < e->n; i++)
        fs_entry_done(&e->v[i]);
    free(e->v);
    *e = (struct fs_entries){ 0 };
}

bool fs_has_glob(const char *pattern)
{
    return glob_has(pattern);
}

static int walk_add_entry(struct fs_entries *to, const struct fs_entry *e, struct err *err)
{
    if (to->n == FOUND_MAX)
        return err_set(err, -E2BIG, "the pattern matches more than %d files", FOUND_MAX);
    if (ARRAY_ROOM(to->v, to->n) < 0 || fs_entry_copy(&to->v[to->n], e) < 0)
        return err_oom(err);
    to->n++;
    return 0;
}

/* A component of the pattern: with wildcards, or a name. */
static bool is_wild(const char *component, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (component[i] == '\\')
            i++;
        else if (strchr("*?[", component[i]))
            return true;
    }
    return false;
}

/* What has been matched so far: paths that lead on. */
struct walk {
    struct fs *fs;
    struct strs at;
    struct fs_entries *found;
};

/* Not being there, or not being a directory, is just no match. */
static bool is_no_match(int r)
{
    return r == -ENOENT || r == -ENOTDIR;
}

/* The names in one directory that fit; the last component gives results, others lead on. */
static int match_in(struct walk *w, const char *dir, const char *component, bool last,
                    struct strs *next, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r = fs_list_open(w->fs, dir, &list, err);

    if (is_no_match(r)) {
        err_clear(err);
        return 0;
    }
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        r = 0;
        if (str_eq(e->path, dir) || !glob_match(component, e->name))
            continue; /* a file lists itself, and has nothing in it */
        if (last)
            r = walk_add_entry(w->found, e, err);
        else if (e->type == FS_DIRECTORY && strs_add(next, e->path) < 0)
            r = err_oom(err);
    }
    return r;
}

static int step_wild(struct walk *w, const char *component, bool last, struct err *err)
{
    struct strs next = { 0 };
    int r = 0;

    for (size_t i = 0; i < w->at.n && r == 0; i++)
        r = match_in(w, w->at.v[i], component, last, &next, err);
    strs_done(&w->at);
    w->at = next;
    return r;
}

/* Appends a name to every path; whether they exist is seen at the end. */
static int step_name(struct walk *w, const char *component, size_t n, struct err *err)
{
    AUTO_FREE char *name = glob_literal(component, n);

    if (!name)
        return err_oom(err);
    for (size_t i = 0; i < w->at.n; i++) {
        const char *dir = str_eq(w->at.v[i], "/") ? "" : w->at.v[i];
        char *path = str_printf("%s/%s", dir, name);

        if (!path)
            return err_oom(err);
        free(w->at.v[i]);
        w->at.v[i] = path;
    }
    return 0;
}

static int add_if_there(struct walk *w, const char *path, struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_exists(w->fs, path, &e, err);

    if (is_no_match(r)) {
        err_clear(err);
        return 0;
    }
    return r > 0 ? walk_add_entry(w->found, &e, err) : r;
}

/*     "/logs/?/out.txt" ──► "/" ──► list /logs: "?" ──► append "out.txt" ──► which of them exist?
 * Only components with wildcards cost a listing, the names in between nothing. */
static int walk_dir(struct walk *w, const char *pattern, struct err *err)
{
    const char *p = pattern + strspn(pattern, "/");
    bool done = false;
    int r = strs_add(&w->at, "/") < 0 ? err_oom(err) : 0;

    while (*p && r == 0) {
        size_t n = strcspn(p, "/");
        const char *next = p + n + strspn(p + n, "/");

        if (is_wild(p, n)) {
            AUTO_FREE char *component = strndup(p, n);

            done = !*next;
            r = component ? step_wild(w, component, done, err) : err_oom(err);
        } else {
            r = step_name(w, p, n, err);
        }
        p = next;
    }
    for (size_t i = 0; !done && i < w->at.n && r == 0; i++)
        r = add_if_there(w, w->at.v[i], err);
    strs_done(&w->at);
    return r;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct fs_entry *)a)->path, ((const struct fs_entry *)b)->path);
}

/* Several patterns of one {} may find the same file. */
static void sort_and_drop_twins(struct fs_entries *e)
{
    size_t kept = 0;

    if (e->n > 1)
        qsort(e->v, e->n, sizeof(e->v[0]), by_path);
    for (size_t i = 0; i < e->n; i++) {
        if (kept > 0 && str_eq(e->v[kept - 1].path, e->v[i].path))
            fs_entry_done(&e->v[i]);
        else
            e->v[kept++] = e->v[i];
    }
    e->n = kept;
}

int fs_glob(struct fs *fs, const char *pattern, struct fs_entries *ret, struct err *err)
{
    AUTO_STRS patterns = { 0 };
    AUTO_FS_ENTRIES found = { 0 };
    int r = glob_expand(pattern, &patterns, err);

    for (size_t i = 0; i < patterns.n && r == 0; i++) {
        struct walk w = { .fs = fs, .found = &found };

        r = walk_dir(&w, patterns.v[i], err);
    }
    if (r < 0)
        return r;
    sort_and_drop_twins(&found);
    *ret = found;
    found = (struct fs_entries){ 0 };
    return 0;
}
