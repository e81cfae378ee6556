/* pyenv.c - finds out what kind of environment a directory is, and what to warn about. See pyenv.h.
 */
#include "pyenv/pyenv.h"
#include "base/json.h"
#include "base/path.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX (64 * KIB)
#define URL_MAX (64 * KIB)
#define LINKS_MAX 16 /* from one python to the next */
#define SHOWN 3      /* packages that are named */

const char *pyenv_kind_name(enum pyenv_kind kind)
{
    static const char *const names[] = { "directory", "venv", "conda" };

    return names[kind];
}

void pyenv_done(struct pyenv *e)
{
    free(e->dir);
    free(e->python);
    strs_done(&e->prefixes);
    *e = (struct pyenv){ 0 };
}

/* ---- what it is ---- */

static int pyenv_find_kind(struct pyenv *e)
{
    int r = path_has(e->dir, "conda-meta");

    if (r > 0)
        e->kind = PYENV_CONDA;
    if (r != 0)
        return r < 0 ? r : 0;
    r = path_has(e->dir, "pyvenv.cfg");
    if (r > 0)
        e->kind = PYENV_VENV;
    return r < 0 ? r : 0;
}

static int add_prefix(struct pyenv *e, const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (*path != '/' || n < 2)
        return 0;
    for (size_t i = 0; i < e->prefixes.n; i++)
        if (strlen(e->prefixes.v[i]) == n && memcmp(e->prefixes.v[i], path, n) == 0)
            return 0;
    return strs_addn(&e->prefixes, path, n);
}

/* ---- its configuration ---- */

/* The value of "key = value"; NULL when there is none. A new string. */
static char *pyenv_value_of(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
        const char *v = strncmp(p, key, n) == 0 ? p + n + strspn(p + n, " \t") : "";

        if (*v != '=')
            continue;
        v += 1 + strspn(v + 1, " \t");
        return strndup(v, strcspn(v, "\r\n"));
    }
    return NULL;
}

/* Where the environment was made, which its scripts still say when it was moved or is reached by
 * another name: the last word of "command = /usr/bin/python3 -m venv /home/me/env". */
static int read_config(struct pyenv *e, char **ret_home)
{
    AUTO_FREE char *path = path_join(e->dir, "pyvenv.cfg"), *command = NULL;
    AUTO_BUF text = { .max = CONFIG_MAX };
    const char *made;
    int r;

    if (!path)
        return -ENOMEM;
    r = path_read(path, &text, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (!buf_text(&text))
        return -ENOMEM;
    *ret_home = pyenv_value_of((const char *)text.data, "home");
    command = pyenv_value_of((const char *)text.data, "command");
    made = command ? strstr(command, " /") : NULL;
    while (made && strstr(made + 1, " /"))
        made = strstr(made + 1, " /");
    return made ? add_prefix(e, made + 1) : 0;
}

static bool is_inside(const struct pyenv *e, const char *path)
{
    for (size_t i = 0; i < e->prefixes.n; i++) {
        size_t n = strlen(e->prefixes.v[i]);

        if (strncmp(path, e->prefixes.v[i], n) == 0 && path[n] == '/')
            return true;
    }
    return false;
}

/* Where the links from bin/python leave the environment; *ret stays NULL when they do not. Link by
 * link and not by realpath(): what is wanted is the first path outside, which every node must have,
 * not what that is a link to on this machine. */
static int follow_python(const struct pyenv *e, char **ret)
{
    AUTO_FREE char *at = path_join(e->dir, "bin/python"), *text = malloc(PATH_MAX);

    for (int i = 0; at && text && i < LINKS_MAX; i++) {
        ssize_t n = readlink(at, text, PATH_MAX - 1);
        AUTO_FREE char *above = NULL;
        char *next;

        if (n < 0)
            return 0;
        text[n] = '\0';
        above = path_dir(at);
        next = above ? path_join(above, text) : NULL;
        if (!next)
            return -ENOMEM;
        free(at);
        at = next;
        if (!is_inside(e, at) || strstr(at, "/../")) {
            *ret = take(at);
            return 0;
        }
    }
    return at && text ? 0 : -ENOMEM;
}

/* A copy of an interpreter needs the original's library all the same. */
static int find_python(struct pyenv *e, const char *home)
{
    int r = follow_python(e, &e->python);

    if (r < 0 || e->python || !home || is_inside(e, home))
        return r;
    e->python = path_join(home, "python3");
    return e->python ? 0 : -ENOMEM;
}

int pyenv_look(const char *dir, struct pyenv *ret, struct err *err)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0), *real = realpath(dir, NULL), *home = NULL;
    struct stat st;
    int r;

    if (!real)
        return errno == ENOMEM ? err_oom(err) : err_sys(err, "'%s' cannot be read", dir);
    if (stat(real, &st) == 0 && !S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "'%s' is not a directory", dir);
    ret->dir = path_join(cwd ? cwd : "/", dir);
    if (!ret->dir || pyenv_find_kind(ret) < 0 || add_prefix(ret, real) < 0 ||
        add_prefix(ret, ret->dir) < 0)
        return err_oom(err);
    r = ret->kind == PYENV_VENV ? read_config(ret, &home) : 0;
    if (r == 0 && ret->kind == PYENV_VENV)
        r = find_python(ret, home);
    return r < 0 ? err_oom(err) : 0;
}

/* ---- what there is to say ---- */

bool pyenv_python_is_private(const char *python)
{
    static const char *const places[] = { "/usr/", "/bin/", "/opt/" };

    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (str_starts(python, places[i]))
            return false;
    return true;
}

/* A package that was installed from where it is worked on says so (PEP 610). 1, 0, -ENOMEM. */
static int is_editable(const struct pack_entry *entry)
{
    AUTO_BUF text = { .max = URL_MAX };
    AUTO_JSON *doc = NULL;
    int r = path_read(entry->path, &text, NULL);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    r = json_parse("direct_url.json", text.data, text.len, &doc, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return json_is_true(json_object_get(json_object_get(doc, "dir_info"), "editable"));
}

/* "lib/python3.11/site-packages/foo-1.0.dist-info/direct_url.json": "foo" */
static char *package_of(const char *name)
{
    AUTO_FREE char *dir = path_dir(name);
    AUTO_FREE char *base = dir ? path_base(dir) : NULL;

    return base ? strndup(base, strcspn(base, "-")) : NULL;
}

static int note_editable(const struct pack_list *l, struct strs *ret)
{
    AUTO_BUF names = { .max = 4 * KIB };
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        AUTO_FREE char *package = NULL;
        int r = str_ends(l->v[i].name, ".dist-info/direct_url.json") ? is_editable(&l->v[i]) : 0;

        if (r < 0)
            return r;
        if (r == 0 || ++n > SHOWN)
            continue;
        package = package_of(l->v[i].name);
        if (!package || buf_printf(&names, "%s%s", n > 1 ? ", " : "", package) < 0)
            return -ENOMEM;
    }
    if (n == 0)
        return 0;
    return strs_take(
        ret,
        str_printf("not packed, because it is installed in development mode (pip install -e): %s%s",
                   buf_text(&names) ? (const char *)names.data : "", n > SHOWN ? ", …" : ""));
}

int pyenv_notes(const struct pyenv *e, const struct pack_list *l, struct strs *ret)
{
    AUTO_FREE char *name = path_base(e->dir);
    int r = name ? 0 : -ENOMEM;

    if (r == 0 && e->python && pyenv_python_is_private(e->python))
        r = strs_take(ret, str_printf("%s uses %s, which every node must have; to avoid this, use "
                                      "a conda environment or a venv of the system's Python",
                                      name, e->python));
    if (r == 0 && l && e->kind != PYENV_NONE)
        r = note_editable(l, ret);
    if (r == 0 && l && e->kind == PYENV_CONDA)
        r = pyenv_conda_notes(l, ret);
    return r;
}
