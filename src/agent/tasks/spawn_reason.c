/* spawn_reason.c - why a program could not be started, in words.
 *
 * exec() says ENOENT for a missing program, a missing interpreter and a missing loader alike. So
 * the program is looked at after the failure: is it there, may it be executed, what does its first
 * line name? */
#include "agent/tasks/spawn_reason.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define FIRST_LINE 256

static int not_run(struct err *err, int code, int r)
{
    if (err)
        err->detail = code;
    return r;
}

/* ---- finding ---- */

static const char *variable(char *const *envp, const char *name)
{
    size_t n = strlen(name);

    for (; *envp; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

/* "" and relative directories of PATH are seen from where the task will be. */
static char *spawn_candidate(const char *cwd, const char *dir, size_t n, const char *name)
{
    AUTO_FREE char *part = strndup(dir, n);
    AUTO_FREE char *full = part ? path_join(cwd ? cwd : ".", part) : NULL;

    return full ? path_join(full, name) : NULL;
}

static bool runnable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp() does it, but by the task's PATH and directory and not by ours. */
static int search(const struct spawn_spec *spec, const char *name, char **ret, struct err *err)
{
    const char *path = variable(spec->envp, "PATH"), *at;
    bool seen = false;

    for (at = path ? path : DEFAULT_PATH;; at++) {
        size_t n = strcspn(at, ":");
        AUTO_FREE char *full = spawn_candidate(spec->cwd, at, n, name);

        if (!full)
            return not_run(err, SPAWN_NOT_RUN, err_oom(err));
        if (runnable(full)) {
            *ret = take(full);
            return 0;
        }
        seen = seen || access(full, F_OK) == 0;
        at += n;
        if (!*at)
            break;
    }
    if (seen) {
        err_set(err, -EACCES, "'%s' is in PATH but is not an executable file", name);
        return not_run(err, SPAWN_NOT_RUN, -EACCES);
    }
    err_set(err, -ENOENT, "there is no command '%s'", name);
    err_hint(err, "it is not in any directory of the task's PATH");
    return not_run(err, SPAWN_NOT_FOUND, -ENOENT);
}

int spawn_find(const struct spawn_spec *spec, char **ret, struct err *err)
{
    const char *name = spec->argv[0];

    if (!name || !*name) {
        err_set(err, -EINVAL, "the command is empty");
        return not_run(err, SPAWN_NOT_FOUND, -EINVAL);
    }
    if (!strchr(name, '/'))
        return search(spec, name, ret, err);
    *ret = strdup(name);
    return *ret ? 0 : not_run(err, SPAWN_NOT_RUN, err_oom(err));
}

/* ---- why not ---- */

/* The program that a script names in its first line, cleaned; "" when it is no script. */
static void interpreter(const char *path, char out[FIRST_LINE])
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char line[FIRST_LINE];
    ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    char *at = line + 2;

    out[0] = '\0';
    if (n < 3 || memcmp(line, "#!", 2) != 0)
        return;
    line[n] = '\0';
    at += strspn(at, " \t");
    at[strcspn(at, " \t\n")] = '\0'; /* a \r stays: it is why such a program is not found */
    str_clean(out, FIRST_LINE, at);
}

static int spawn_missing(const char *name, const char *full, struct err *err)
{
    char who[FIRST_LINE];

    if (access(full, F_OK) < 0) {
        err_set(err, -ENOENT, "there is no file '%s'", name);
        return not_run(err, SPAWN_NOT_FOUND, -ENOENT);
    }
    interpreter(full, who);
    if (!who[0]) {
        err_set(err, -ENOENT, "'%s' was built for another system: its loader is missing", name);
        return not_run(err, SPAWN_NOT_RUN, -ENOENT);
    }
    err_set(err, -ENOENT, "'%s' needs the interpreter '%s', which does not exist", name, who);
    if (str_ends(who, "\\r"))
        err_hint(err, "it has Windows line endings: convert it with dos2unix");
    return not_run(err, SPAWN_NOT_RUN, -ENOENT);
}

static int not_permitted(const char *name, const char *full, struct err *err)
{
    struct stat st;

    if (stat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
        err_set(err, -EACCES, "'%s' is a directory", name);
        return not_run(err, SPAWN_NOT_RUN, -EACCES);
    }
    err_set(err, -EACCES, "'%s' may not be executed", name);
    if (access(full, X_OK) < 0)
        err_hint(err, "chmod +x, or name its interpreter: python %s", name);
    else
        err_hint(err,
                 "its interpreter may not be executable, or its file system is mounted noexec");
    return not_run(err, SPAWN_NOT_RUN, -EACCES);
}

static int too_large(const struct spawn_spec *spec, const char *name, struct err *err)
{
    size_t args = 0, env = 0, longest = 0;

    for (char *const *p = spec->argv; *p; p++) {
        args += strlen(*p) + 1;
        longest = strlen(*p) > longest ? strlen(*p) : longest;
    }
    for (char *const *p = spec->envp; *p; p++) {
        env += strlen(*p) + 1;
        longest = strlen(*p) > longest ? strlen(*p) : longest;
    }
    err_set(err, -E2BIG,
            "the arguments (%zu KB) and environment (%zu KB) of '%s' are too large for this "
            "system",
            args / 1024, env / 1024, name);
    if (longest >= 128 * KIB)
        err_hint(err, "one argument or variable may have at most 128 KB: pass a file instead");
    return not_run(err, SPAWN_NOT_RUN, -E2BIG);
}

static int exec_failed(const struct spawn_spec *spec, const char *program, int code,
                       struct err *err)
{
    const char *name = spec->argv[0];
    AUTO_FREE char *full = path_join(spec->cwd ? spec->cwd : ".", program);

    if (!full)
        return not_run(err, SPAWN_NOT_RUN, err_oom(err));
    switch (code) {
    case ENOENT:
        return spawn_missing(name, full, err);
    case EACCES:
        return not_permitted(name, full, err);
    case E2BIG:
        return too_large(spec, name, err);
    case ENOEXEC:
        err_set(err, -code, "'%s' is neither a program for this machine nor a script", name);
        err_hint(err, "the first line of a script names its interpreter: #!/bin/sh");
        return not_run(err, SPAWN_NOT_RUN, -code);
    default:
        err_code(err, -code, "start '%s'", name);
        return not_run(err, code == ENOTDIR ? SPAWN_NOT_FOUND : SPAWN_NOT_RUN, -code);
    }
}

int spawn_why(const struct spawn_spec *spec, const char *program, enum spawn_step step, int code,
              struct err *err)
{
    switch (step) {
    case SPAWN_EXEC:
        return exec_failed(spec, program, code, err);
    case SPAWN_CWD:
        err_code(err, -code, "start '%s' in '%s'", spec->argv[0], spec->cwd);
        return not_run(err, SPAWN_NOT_RUN, -code);
    default:
        err_code(err, -code, "%s for '%s'",
                 step == SPAWN_CGROUP ? "enter the cgroup" : "make a session", spec->argv[0]);
        return not_run(err, SPAWN_NOT_RUN, -code);
    }
}
