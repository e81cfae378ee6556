/* uploads_found.c - files that the words of a command name, and modules beside its script. See
 * uploads.h. */
#include "base/path.h"
#include "uploads/uploads_private.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const char *const skip[] = {
    ".git",        ".hg",           ".svn",  ".tox", "__pycache__", ".ipynb_checkpoints",
    ".mypy_cache", ".pytest_cache", ".venv", "venv", "ydl-out",     NULL,
};

/* ---- one thing ---- */

/* Whether the container has it already, because `files:` or `archives:` names it or a directory
 * that it is in. */
static bool uploads_found_is_named(const struct uploads_search *s, const struct spec_role *role,
                                   const char *path)
{
    for (size_t i = 0; i < s->list->n; i++) {
        const struct uploads_item *item = &s->list->v[i];
        size_t n = strlen(item->to);

        if (item->found || (item->role && !str_eq(item->role, role->name)))
            continue;
        if (str_starts(path, item->to) && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return false;
}

static bool is_found(const struct uploads_search *s, const char *path)
{
    for (size_t i = 0; i < s->list->n; i++)
        if (s->list->v[i].found && str_eq(s->list->v[i].to, path))
            return true;
    return false;
}

/* Whether it is there and below the working directory, also when symbolic links are followed: 1 and
 * what it is, 0, or -ENOMEM. */
static int uploads_found_look(const struct uploads_search *s, const char *path, struct stat *ret)
{
    AUTO_FREE char *real = realpath(path, NULL);
    size_t n = strlen(s->cwd);

    if (!real)
        return errno == ENOMEM ? -ENOMEM : 0;
    if (!str_starts(real, s->cwd) || !(str_eq(s->cwd, "/") ? real[1] != '\0' : real[n] == '/'))
        return 0;
    return stat(path, ret) == 0 && (S_ISREG(ret->st_mode) || S_ISDIR(ret->st_mode));
}

static int refuse_much(struct uploads_search *s, const char *path)
{
    char size[STR_SIZE_MAX];
    uint64_t most = s->options->most ? s->options->most : UPLOADS_MOST;

    if (s->overflowing)
        return 0;
    s->overflowing = true;
    return uploads_refuse(s, NULL,
                          "the files that the command names exceed %s in all, reached at '%s': "
                          "list it in --files, put it on HDFS, or turn this off with --no-ship",
                          str_size(most, size), path);
}

/* `path` is relative and tidy. */
static int uploads_found_add(struct uploads_search *s, const struct spec_role *role,
                             const char *path)
{
    struct pack_list *bundle = &s->list->bundle;
    struct pack_rules rules = { .inside = s->cwd,
                                .skip = skip,
                                .most = s->options->most ? s->options->most : UPLOADS_MOST };
    struct uploads_item item = { .found = true, .size = bundle->bytes, .n_files = bundle->n_files };
    AUTO_FREE char *from = path_join(s->cwd, path);
    char key[80];
    struct err err = ERR_INIT;
    struct stat st;
    int r;

    if (!from)
        return -ENOMEM;
    r = uploads_found_is_named(s, role, path) || is_found(s, path)
            ? 0
            : uploads_found_look(s, from, &st);
    if (r <= 0)
        return r;
    r = pack_add(bundle, from, path, &rules, &err);
    if (r == -ENOMEM)
        return r;
    if (r == -E2BIG)
        return refuse_much(s, path);
    snprintf(key, sizeof(key), "roles.%s.command", role->name);
    if (r < 0)
        return uploads_refuse(s, key, "%s", err.text);
    item.directory = S_ISDIR(st.st_mode);
    item.size = bundle->bytes - item.size;
    item.n_files = bundle->n_files - item.n_files;
    item.from = take(from);
    item.to = strdup(path);
    return uploads_push(s->list, item);
}

/* ---- modules ---- */

/* These say yes (1), no (0) or -ENOMEM. */
static int is_package(const char *dir)
{
    return path_has(dir, "__init__.py");
}

/* A directory counts only with __init__.py. Namespace packages have none, but then so has every
 * data directory. */
static int is_module(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    if (!path)
        return -ENOMEM;
    if (*name == '.' || stat(path, &st) < 0)
        return 0;
    for (const char *const *p = skip; *p; p++)
        if (str_eq(*p, name))
            return 0;
    if (S_ISDIR(st.st_mode))
        return is_package(path);
    return S_ISREG(st.st_mode) && (str_ends(name, ".py") || str_ends(name, ".so"));
}

/* `dir` is relative and tidy, or "" for the working directory. An unreadable one is skipped: its
 * interpreter will report it. */
static int add_modules(struct uploads_search *s, const struct spec_role *role, const char *dir)
{
    AUTO_FREE char *path = path_join(s->cwd, *dir ? dir : ".");
    AUTO_DIR DIR *d = path ? opendir(path) : NULL;
    struct dirent *e;
    int r = path && (d || errno != ENOMEM) ? 0 : -ENOMEM;

    while (d && r == 0 && (e = readdir(d)) != NULL) {
        AUTO_FREE char *name = path_join(dir, e->d_name);

        r = name ? is_module(path, e->d_name) : -ENOMEM;
        if (r > 0)
            r = uploads_found_add(s, role, name);
    }
    return r;
}

/* The directory of a file, "" for the working directory. */
static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path)) : strdup("");
}

static int uploads_found_is_file(const struct uploads_search *s, const char *path)
{
    AUTO_FREE char *full = path_join(s->cwd, path);
    struct stat st;
    int r = full ? uploads_found_look(s, full, &st) : -ENOMEM;

    return r > 0 ? S_ISREG(st.st_mode) : r;
}

/* ---- one command ---- */

/* The first word that names a file is taken for the script, whatever its ending ("train",
 * "run.sh"). Of the words behind it only Python files bring their modules along: others are
 * data. */
static int uploads_found_add_word(struct uploads_search *s, const struct spec_role *role,
                                  const char *word, bool *script)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *dir = NULL;
    int r = uploads_tidy(word, &path);

    if (r < 0 || !path)
        return r;
    r = uploads_found_add(s, role, path);
    if (r == 0)
        r = uploads_found_is_file(s, path);
    if (r <= 0 || (*script && !str_ends(path, ".py")) || uploads_found_is_named(s, role, path))
        return r < 0 ? r : 0;
    *script = true; /* the first file; from then on Python's only */
    dir = dir_of(path);
    return dir ? add_modules(s, role, dir) : -ENOMEM;
}

int uploads_find_words(struct uploads_search *s, const struct spec_role *role)
{
    const struct strs *command = role->command.n ? &role->command : &s->spec->command;
    AUTO_STRS words = { 0 };
    bool script = false;
    int r = uploads_words(command, &words);

    for (size_t i = 0; r == 0 && i < words.n; i++)
        r = uploads_found_add_word(s, role, words.v[i], &script);
    if (r == 0 && uploads_runs_module(command))
        r = add_modules(s, role, "");
    return r;
}
