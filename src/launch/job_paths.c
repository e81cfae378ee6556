/* job_paths.c - one walk visits every path of a job, wherever it stands, and rewrites those that
 * are relative to another directory than the one that the command will run in. See job_paths.h. */
#include "launch/job_paths.h"
#include "base/path.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One walk over all paths. */
struct base_walk {
    const char *dir;
    bool lookup; /* what is not in `dir` but in the current directory stays as it is */
    bool here;
};

static bool is_relative(const char *path)
{
    return *path && *path != '/' && !str_starts(path, "file:") && !spec_is_remote(path);
}

static bool exists_in(const char *dir, const char *path)
{
    AUTO_FREE char *full = path_join(dir, path);
    struct stat st;

    return full && stat(full, &st) == 0;
}

/* The path within *word, from `skip` on. */
static int move_path(const struct base_walk *w, char **word, size_t skip)
{
    const char *path = *word ? *word + skip : "";
    AUTO_FREE char *full = NULL;
    char *moved;

    if (!is_relative(path) || (w->lookup && !exists_in(w->dir, path) && exists_in(".", path)))
        return 0;
    full = path_join(w->dir, path);
    moved = full ? str_printf("%.*s%s", (int)skip, *word, full) : NULL;
    if (!moved)
        return -ENOMEM;
    free(*word);
    *word = moved;
    return 0;
}

static int move_files(const struct base_walk *w, struct spec_files *l)
{
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++)
        r = move_path(w, &l->v[i].from, 0);
    return r;
}

/* "-r FILE", "--requirement=FILE", "FILE.txt", "./x.whl"; "numpy" is a package. */
static int move_pip(const struct base_walk *w, char **word)
{
    static const char *const options[] = { "--requirement", "-r" };
    size_t skip = 0;

    for (size_t i = 0; i < COUNT_OF(options) && skip == 0; i++)
        if (str_starts(*word, options[i]))
            skip = strlen(options[i]) + strspn(*word + strlen(options[i]), " \t=");
    return skip > 0 || exists_in(w->dir, *word) ? move_path(w, word, skip) : 0;
}

static int move_all(const struct base_walk *w, struct spec *s)
{
    struct base_walk target = *w;
    int r = move_files(w, &s->files);

    if (r == 0)
        r = move_files(w, &s->archives);
    for (size_t i = 0; i < s->n_roles && r == 0; i++) {
        r = move_files(w, &s->roles[i].files);
        if (r == 0)
            r = move_files(w, &s->roles[i].archives);
    }
    if (r == 0)
        r = move_path(w, &s->venv, 0);
    if (r == 0)
        r = move_path(w, &s->keytab, 0);
    if (r == 0)
        r = move_path(w, &s->publish.registry, 0);
    for (size_t i = 0; i < s->pip.n && r == 0; i++)
        r = move_pip(w, &s->pip.v[i]);
    target.lookup = false; /* results need not be there yet */
    for (size_t i = 0; w->here && i < s->output.n && r == 0; i++)
        r = move_path(&target, &s->output.v[i].to, 0);
    return r;
}

/* ---- where the command runs ---- */

struct base_found {
    bool beside, here;
};

/* Files and modules that a command names. */
static void look_for(const char *dir, const struct strs *command, struct base_found *f)
{
    for (size_t i = 0; i < command->n; i++) {
        bool module = i > 0 && str_eq(command->v[i - 1], "-m");
        AUTO_FREE char *word = strndup(command->v[i], module ? strcspn(command->v[i], ".") : 4096);
        AUTO_FREE char *file = word ? str_printf("%s%s", word, module ? ".py" : "") : NULL;

        if (!file || !is_relative(word))
            continue;
        f->beside = f->beside || exists_in(dir, word) || exists_in(dir, file);
        f->here = f->here || exists_in(".", word) || exists_in(".", file);
    }
}

static bool runs_beside(const char *dir, const struct spec *s)
{
    struct base_found f = { 0 };

    look_for(dir, &s->command, &f);
    for (size_t i = 0; i < s->n_roles; i++)
        look_for(dir, &s->roles[i].command, &f);
    return f.beside || !f.here;
}

int job_base(struct spec *s, const char *file, bool command, bool here)
{
    AUTO_FREE char *above = path_dir(file), *dir = above ? realpath(above, NULL) : NULL;
    struct base_walk w = { .dir = dir, .lookup = true, .here = here };
    struct stat own, current;

    if (!above)
        return -ENOMEM;
    if (str_eq(file, "-") || !dir || stat(dir, &own) < 0 || stat(".", &current) < 0)
        return 0;
    if (!S_ISDIR(own.st_mode) || (own.st_dev == current.st_dev && own.st_ino == current.st_ino))
        return 0;
    if (move_all(&w, s) < 0)
        return -ENOMEM;
    if (!command && runs_beside(dir, s))
        s->directory = take(dir);
    return 0;
}

int job_base_options(struct spec *s, bool here)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    struct base_walk w = { .dir = cwd, .here = here };

    if (!s->directory || !cwd)
        return 0;
    return move_all(&w, s);
}
