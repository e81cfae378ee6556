/* machine_check.c - finds programs as exec would (PATH of the task, not ours), scripts behind
 * their interpreters, and leaves alone whatever has a {variable} in it or comes with the job. See
 * machine_check.h. */
#include "launch/machine_check.h"
#include "base/path.h"
#include "base/str.h"
#include "launch/capacity/capacity.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct checking {
    const struct spec *spec;
    const struct check_machine *machine;
    struct spec_faults *faults;
    const struct spec_role *role;
    char key[64]; /* "roles.worker.command" */
    bool bad;
};

__attribute__((format(printf, 2, 3))) static int fault(struct checking *c, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n, r;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    c->bad = true;
    r = spec_fault(c->faults, c->role ? c->role->line : 0, c->key, "%s", text);
    return r == -EINVAL ? 0 : r;
}

static const char *check_value_of(const struct spec_vars *vars, const char *name)
{
    for (size_t i = 0; i < vars->n; i++)
        if (str_eq(vars->v[i].name, name))
            return vars->v[i].value;
    return NULL;
}

/* A word with a variable in it cannot be checked. */
static bool has_variable(const char *s)
{
    return strchr(s, '{') != NULL;
}

/* ---- the program ---- */

enum found { FOUND_NOTHING, FOUND_DIRECTORY, FOUND_FILE, FOUND_PROGRAM };

static enum found check_look(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    if (!path || stat(path, &st) < 0)
        return FOUND_NOTHING;
    if (S_ISDIR(st.st_mode))
        return FOUND_DIRECTORY;
    return access(path, X_OK) == 0 ? FOUND_PROGRAM : FOUND_FILE;
}

/* The best match for that name in the directories of a PATH. */
static enum found look_in_path(const struct checking *c, const char *path, const char *name)
{
    enum found best = FOUND_NOTHING;

    while (path) {
        size_t n = strcspn(path, ":");
        AUTO_FREE char *dir = strndup(path, n);
        AUTO_FREE char *full = dir ? path_join(c->machine->cwd, *dir ? dir : ".") : NULL;
        enum found here = full ? check_look(full, name) : FOUND_NOTHING;

        if (here != FOUND_DIRECTORY && here > best)
            best = here;
        path = path[n] ? path + n + 1 : NULL;
    }
    return best;
}

/* Is there a file that will stand beside the task under this name? */
static bool brought_along(const struct checking *c, const char *name)
{
    const struct spec_files *lists[] = { &c->spec->files, &c->spec->archives, &c->role->files,
                                         &c->role->archives };
    const char *plain = str_starts(name, "./") ? name + 2 : name;

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t k = 0; k < lists[i]->n; k++) {
            const struct spec_file *f = &lists[i]->v[k];
            const char *to = f->to ? f->to : str_behind(f->from, '/');
            size_t n = strlen(to);

            if (n > 0 && strncmp(plain, to, n) == 0 && (plain[n] == '\0' || plain[n] == '/'))
                return true;
        }
    return false;
}

/* A path counts from the working directory, unless the file is brought along. A plain name is
 * looked for in the environment of --venv, which is first in the task's PATH, and then in the PATH
 * of the role, of the job, or ours. */
static enum found find_program(const struct checking *c, const char *name)
{
    const char *path = check_value_of(&c->role->env, "PATH");
    enum found got = FOUND_NOTHING;

    if (strchr(name, '/'))
        return brought_along(c, name) ? FOUND_PROGRAM : check_look(c->machine->cwd, name);
    if (!path)
        path = check_value_of(&c->spec->env, "PATH");
    if (c->spec->venv) {
        AUTO_FREE char *bin = path_join(c->spec->venv, "bin");

        got = bin ? look_in_path(c, bin, name) : FOUND_NOTHING;
    }
    if (got != FOUND_PROGRAM) {
        enum found other = look_in_path(c, path ? path : c->machine->path, name);

        got = other > got ? other : got;
    }
    return got;
}

static int check_program(struct checking *c, const char *name)
{
    if (has_variable(name))
        return 0;
    if (c->spec->pip.n && !strchr(name, '/'))
        return 0; /* a package may bring it */
    switch (find_program(c, name)) {
    case FOUND_PROGRAM:
        return 0;
    case FOUND_FILE:
        return fault(c, "'%s' is not executable", name);
    case FOUND_DIRECTORY:
        return fault(c, "'%s' is a directory", name);
    default:
        return strchr(name, '/') ? fault(c, "there is no program '%s'", name)
                                 : fault(c, "there is no program '%s' in PATH", name);
    }
}

/* ---- the script of an interpreter ---- */

/* Programs that run a script, and the letters of their options that have no value. */
static const struct interpreter {
    const char *name, *flags;
} interpreters[] = {
    { "python", "bBdEiIOqsSuvx" },
    { "bash", "elnuvx" },
    { "sh", "elnuvx" },
    { "dash", "elnuvx" },
    { "zsh", "elnuvx" },
    { "perl", "w" },
    { "ruby", "w" },
    { "julia", "" },
    { "node", "" },
    { "Rscript", "" },
};

static const struct interpreter *interpreter_of(const char *program)
{
    const char *base = str_behind(program, '/');

    for (size_t i = 0; i < COUNT_OF(interpreters); i++) {
        size_t n = strlen(interpreters[i].name);

        /* python3 and python3.11 too */
        if (strncmp(base, interpreters[i].name, n) == 0 &&
            strspn(base + n, "0123456789.") == strlen(base + n))
            return &interpreters[i];
    }
    return NULL;
}

/* The script among the words; NULL when there is none, or when an option may hide it (-c, -m). */
static const char *check_script_of(const struct interpreter *in, const struct strs *command)
{
    for (size_t i = 1; i < command->n; i++) {
        const char *word = command->v[i];

        if (word[0] != '-')
            return word;
        if (!word[1] || strspn(word + 1, in->flags) != strlen(word + 1))
            return NULL;
    }
    return NULL;
}

static int machine_check_script(struct checking *c, const struct strs *command)
{
    const struct interpreter *in = interpreter_of(command->v[0]);
    const char *script = in ? check_script_of(in, command) : NULL;

    if (!script || has_variable(script) || brought_along(c, script) ||
        check_look(c->machine->cwd, script) != FOUND_NOTHING)
        return 0;
    return fault(c, "there is no script '%s'", script);
}

static int machine_check_command(struct checking *c)
{
    const struct strs *command = c->role->command.n ? &c->role->command : &c->spec->command;
    int r;

    if (command->n == 0 || c->role->count == 0)
        return 0;
    snprintf(c->key, sizeof(c->key), "roles.%s.command", c->role->name);
    if (command == &c->spec->command)
        snprintf(c->key, sizeof(c->key), "command");
    if (c->role->image || c->spec->image)
        return 0; /* what is in an image only the image knows */
    r = check_program(c, command->v[0]);
    return r < 0 ? r : machine_check_script(c, command);
}

/* ---- room ---- */

static int machine_check_room(struct checking *c, uint64_t *memory, uint64_t *gpus)
{
    const struct check_machine *m = c->machine;
    char want[STR_SIZE_MAX], have[STR_SIZE_MAX];
    int r = 0;

    *memory += c->role->memory * c->role->count;
    *gpus += (uint64_t)c->role->gpus * c->role->count;
    if (m->memory && c->role->memory > m->memory) {
        snprintf(c->key, sizeof(c->key), "roles.%s.memory", c->role->name);
        r = fault(c, "%s, more than this machine has (%s)", str_size(c->role->memory, want),
                  str_size(m->memory, have));
    }
    if (r == 0 && c->role->gpus > m->gpus) {
        snprintf(c->key, sizeof(c->key), "roles.%s.gpus", c->role->name);
        r = fault(c, "%u GPU%s, more than this machine has (%u)", c->role->gpus,
                  c->role->gpus == 1 ? "" : "s", m->gpus);
    }
    return r;
}

/* Checks the sum of all roles. */
static int check_sum(struct checking *c, uint64_t memory, uint64_t gpus)
{
    const struct check_machine *m = c->machine;
    char want[STR_SIZE_MAX], have[STR_SIZE_MAX];
    int r = 0;

    if (c->bad)
        return 0;
    c->role = NULL;
    snprintf(c->key, sizeof(c->key), "roles");
    if (m->memory && memory > m->memory)
        r = fault(c, "%s of memory for all tasks together, more than this machine has (%s)",
                  str_size(memory, want), str_size(m->memory, have));
    if (r == 0 && gpus > m->gpus)
        r = fault(c, "%llu GPU%s for all tasks together, more than this machine has (%u)",
                  (unsigned long long)gpus, gpus == 1 ? "" : "s", m->gpus);
    return r;
}

/* ---- files, images, results ---- */

void check_plain_path(char *name)
{
    size_t skip = str_starts(name, "file:///") ? 7 : str_starts(name, "file:/") ? 5 : 0;

    memmove(name, name + skip, strlen(name + skip) + 1);
}

bool check_known_place(const char *name)
{
    if (str_starts(name, "file:"))
        return str_starts(name, "file:///") || (name[5] == '/' && name[6] != '/');
    return !spec_is_remote(name) || str_starts(name, "hdfs:") || str_starts(name, "viewfs:");
}

/* The same file without a scheme; NULL when out of memory. */
static char *check_plain(const char *name)
{
    char *path = strdup(name);

    if (path)
        check_plain_path(path);
    return path;
}

static int machine_check_file(struct checking *c, const char *from)
{
    AUTO_FREE char *path = check_plain(from);

    if (!path)
        return -ENOMEM;
    if (!check_known_place(from))
        return fault(c, "'%s': files can be local, or on hdfs:// or viewfs://", from);
    if (!spec_is_remote(from) && check_look(c->machine->cwd, path) == FOUND_NOTHING)
        return fault(c, "there is no file '%s'", from);
    return 0;
}

static int machine_check_files(struct checking *c, const char *key, const struct spec_files *files)
{
    int r = 0;

    if (c->role)
        snprintf(c->key, sizeof(c->key), "roles.%s.%s", c->role->name, key);
    else
        snprintf(c->key, sizeof(c->key), "%s", key);
    for (size_t i = 0; i < files->n && r == 0; i++)
        r = machine_check_file(c, files->v[i].from);
    return r;
}

static int machine_check_image(struct checking *c, const char *image)
{
    const char *why = image ? image_name_fault(image) : NULL;

    if (!image)
        return 0;
    if (c->role)
        snprintf(c->key, sizeof(c->key), "roles.%s.image", c->role->name);
    else
        snprintf(c->key, sizeof(c->key), "image");
    if (why)
        return fault(c, "'%s' is not an image name: %s", image, why);
    snprintf(c->key, sizeof(c->key), "image-by");
    if (c->spec->image_by == SPEC_IMAGE_BY_YARN)
        return fault(c, "'yarn' runs images only on YARN; on this machine use 'agent' (docker)");
    return 0;
}

/* A directory that can be written to, or can be created. */
static int check_target(struct checking *c, const char *target)
{
    AUTO_FREE char *name = check_plain(target);
    AUTO_FREE char *path = name ? path_join(c->machine->cwd, name) : NULL;
    struct stat st;

    while (path && stat(path, &st) < 0 && errno == ENOENT && !str_eq(path, "/")) {
        char *above = path_dir(path);

        free(path);
        path = above;
    }
    if (!path)
        return -ENOMEM;
    if (stat(path, &st) < 0)
        return fault(c, "results cannot go to '%s': %m", target);
    if (!S_ISDIR(st.st_mode))
        return fault(c, "results cannot go to '%s': '%s' is not a directory", target, path);
    if (access(path, W_OK | X_OK) < 0)
        return fault(c, "results cannot go to '%s': '%s' cannot be written to", target, path);
    return 0;
}

static int machine_check_output(struct checking *c)
{
    int r = 0;

    snprintf(c->key, sizeof(c->key), "output");
    for (size_t i = 0; i < c->spec->output.n && r == 0; i++) {
        const char *to = c->spec->output.v[i].to;

        if (!check_known_place(to))
            r = fault(c, "'%s': results can go to a local directory, hdfs:// or viewfs://", to);
        else if (!spec_is_remote(to))
            r = check_target(c, to);
    }
    return r;
}

/* Checks the files of the job (no role), or of one of its roles. */
static int check_things(struct checking *c)
{
    const struct spec_files *files = c->role ? &c->role->files : &c->spec->files;
    const struct spec_files *archives = c->role ? &c->role->archives : &c->spec->archives;
    int r = machine_check_files(c, "files", files);

    if (r == 0)
        r = machine_check_files(c, "archives", archives);
    if (r == 0)
        r = machine_check_image(c, c->role ? c->role->image : c->spec->image);
    return r == 0 && !c->role ? machine_check_output(c) : r;
}

/* The same command of several roles is looked at once. */
static bool command_seen_before(const struct spec *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (s->roles[i].command.n == 0 && s->roles[at].command.n == 0 && s->roles[i].count > 0)
            return true;
    return false;
}

/* The sum is looked at only where no task is too large by itself: it would be too large for that
 * reason, and say so twice. */
int check_local(const struct spec *s, const struct check_machine *m, struct spec_faults *f)
{
    struct checking c = { .spec = s, .machine = m, .faults = f };
    uint64_t memory = 0, gpus = 0;
    bool earlier_bad;
    int r = check_things(&c);

    for (size_t i = 0; r == 0 && i < s->n_roles; i++) {
        c.role = &s->roles[i];
        r = check_things(&c);
        if (r == 0 && !command_seen_before(s, i))
            r = machine_check_command(&c);
    }
    earlier_bad = c.bad;
    c.bad = false;
    for (size_t i = 0; r == 0 && i < s->n_roles; i++) {
        c.role = &s->roles[i];
        r = machine_check_room(&c, &memory, &gpus);
    }
    if (r == 0)
        r = check_sum(&c, memory, gpus);
    return r < 0 ? r : c.bad || earlier_bad ? -EINVAL : 0;
}
