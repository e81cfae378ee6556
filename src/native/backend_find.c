/* backend_find.c - looks in one place after the other; which they are says backend_find.h. A place
 * that was named ends the search, found or not. */
#include "native/backend_find.h"
#include "base/path.h"
#include "native/python.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_MOST (64 * KIB)

/* ---- named places ---- */

static int backend_not_in(const struct find_library *l, const char *place, const char *who,
                          struct err *err)
{
    err_set(err, -ENOENT, "there is no %s in '%s', which %s names", l->file, place, who);
    err_hint(err, "--backend names the file, its directory, or a Python environment that has it");
    return -ENOENT;
}

/* Could somebody else have put it there, or exchange it? */
static int backend_is_ours(const char *path, struct err *err)
{
    AUTO_FREE char *real = realpath(path, NULL);
    AUTO_FREE char *dir = real ? path_dir(real) : NULL;
    struct stat st;
    int r;

    if (!real || stat(real, &st) < 0)
        return err_sys(err, "look at '%s'", path);
    r = dir ? path_trusted(dir, err) : err_oom(err);
    if (r < 0)
        return r;
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(err, -EPERM, "'%s' belongs to somebody else", real);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, -EPERM, "others can write to '%s'", real);
    return 0;
}

/* A manifest comes with the model, so it may come from anybody who can publish one. A library is
 * code that runs as this user: it must be a file that nobody but this user and root could have put
 * there. */
static int by_manifest(const struct find_library *l, const char *place, char **ret, struct err *err)
{
    AUTO_FREE char *found = *place == '/' ? find_below(l, place) : NULL;
    int r;

    if (!found)
        return backend_not_in(l, place, "the model's manifest", err);
    r = backend_is_ours(found, err);
    if (r < 0) {
        r = err_wrap(err, r, "the model's manifest names '%s'", place);
        err_hint(err, "if you trust that file, name it yourself with --backend");
        return r;
    }
    *ret = take(found);
    return 0;
}

/* ---- Python ---- */

/* `python` is an interpreter or an environment's directory; it may be there for handlers alone. */
static bool in_named(const struct find_library *l, const char *python, char **ret)
{
    AUTO_FREE char *interpreter = NULL;
    int r = python ? python_choose(python, getenv("PATH"), &interpreter, NULL) : -ENOENT;
    char *command[] = { interpreter, NULL };
    const struct find_places places = { .command = command, .only_command = true };

    return r == 0 && find_library(l, &places, ret, NULL) == 0;
}

static bool in_path(const struct find_library *l, char **ret)
{
    const struct find_places places = { .path = getenv("PATH") };

    if (find_library(l, &places, ret, NULL) < 0)
        return false;
    if (strchr(*ret, '/'))
        return true;
    free(*ret); /* the bare name, for a loader */
    *ret = NULL;
    return false;
}

static bool in_made(const struct find_library *l, const struct strs *made, char **ret)
{
    for (size_t i = 0; made && i < made->n && !*ret; i++)
        *ret = find_below(l, made->v[i]);
    return *ret != NULL;
}

/* ---- the system ---- */

/* FILE, or FILE.0: the newest that is there. A package that was removed may leave links behind. */
static char *in_directory(const struct find_library *l, const char *dir)
{
    AUTO_DIR DIR *d = opendir(dir);
    AUTO_FREE char *best = NULL;
    size_t n = strlen(l->file);
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d)))
        if (str_starts(e->d_name, l->file) && (!e->d_name[n] || e->d_name[n] == '.') &&
            (!best || strverscmp(e->d_name, best) > 0) &&
            fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode)) {
            free(best);
            best = strdup(e->d_name);
        }
    return best ? path_join(dir, best) : NULL;
}

/* Lines of a file of ld.so.conf.d are directories. */
static bool in_conf(const struct find_library *l, const char *root, const char *file, char **ret)
{
    AUTO_BUF text = { .max = CONF_MOST };
    AUTO_STRS lines = { 0 };

    if (path_read(file, &text, NULL) < 0 || !buf_text(&text) ||
        strs_split(&lines, buf_text(&text), " \t\r\n") < 0)
        return false;
    for (size_t i = 0; i < lines.n && !*ret; i++) {
        AUTO_FREE char *dir = *lines.v[i] == '/' ? str_printf("%s%s", root, lines.v[i]) : NULL;

        *ret = dir ? in_directory(l, dir) : NULL;
    }
    return *ret != NULL;
}

static bool in_confs(const struct find_library *l, const char *root, char **ret)
{
    AUTO_FREE char *first = str_printf("%s/etc/ld.so.conf", root);
    AUTO_FREE char *place = str_printf("%s/etc/ld.so.conf.d", root);
    AUTO_DIR DIR *d = place ? opendir(place) : NULL;
    struct dirent *e;

    if (first && in_conf(l, root, first, ret))
        return true;
    while (d && !*ret && (e = readdir(d))) {
        AUTO_FREE char *file =
            fnmatch("*.conf", e->d_name, FNM_PERIOD) == 0 ? path_join(place, e->d_name) : NULL;

        if (file)
            (void)in_conf(l, root, file, ret);
    }
    return *ret != NULL;
}

static bool in_system(const struct find_library *l, const char *root, char **ret)
{
    static const char *const usual[] = { "/lib", "/usr/lib", "/lib64", "/usr/lib64",
                                         "/usr/local/lib" };
    const char *said = getenv("LD_LIBRARY_PATH");
    AUTO_STRS dirs = { 0 };

    if (said && strs_split(&dirs, said, ":") < 0)
        return false;
    for (size_t i = 0; i < dirs.n && !*ret; i++)
        *ret = *dirs.v[i] == '/' ? in_directory(l, dirs.v[i]) : NULL;
    if (!*ret)
        (void)in_confs(l, root, ret);
    for (size_t i = 0; i < COUNT_OF(usual) && !*ret; i++) {
        AUTO_FREE char *dir = str_printf("%s%s", root, usual[i]);

        *ret = dir ? in_directory(l, dir) : NULL;
    }
    return *ret != NULL;
}

/* ---- all ---- */

static int backend_nowhere(const struct find_library *l, const struct backend_places *p,
                           struct err *err)
{
    AUTO_FREE char *python = python_in_path(getenv("PATH"), "python3");
    char made[64] = "";

    if (p->made && p->made->n > 0)
        (void)snprintf(made, sizeof(made), ", in %zu environment%s that ydl made", p->made->n,
                       p->made->n == 1 ? "" : "s");
    err_set(err, -ENOENT,
            "%s (%s) was not found: looked in %s%s%sthe Python in PATH (%s)%s and in the system's "
            "library directories",
            l->what, l->file, p->python ? "'" : "", p->python ? p->python : "",
            p->python ? "', " : "", python ? python : "there is none", made);
    err_hint(err,
             "pip install %s into the active environment, name another one with --python, or the "
             "library with --backend%s%s",
             l->package, l->variable ? " or $" : "", l->variable ? l->variable : "");
    return -ENOENT;
}

int backend_find(const struct find_library *l, const struct backend_places *p, char **ret,
                 struct err *err)
{
    const char *variable = l->variable ? getenv(l->variable) : NULL;

    *ret = NULL;
    if (p->named)
        return (*ret = find_below(l, p->named)) ? 0 : backend_not_in(l, p->named, "--backend", err);
    if (p->manifest)
        return by_manifest(l, p->manifest, ret, err);
    if (variable && *variable)
        return (*ret = find_below(l, variable)) ? 0 : backend_not_in(l, variable, l->variable, err);
    return in_named(l, p->python, ret) || in_path(l, ret) || in_made(l, p->made, ret) ||
                   in_system(l, p->system ? p->system : "", ret)
               ? 0
               : backend_nowhere(l, p, err);
}
