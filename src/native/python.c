/* python.c - which Python a command would run, and asking it where a package is. A command's own
 * interpreter is found as the kernel would: by its name, by PATH, by the first line of a script.
 * See python.h. */
#include "native/python.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define LINE_MAX_ 256 /* the kernel looks at no more of a script's first line */
#define ANSWER_MAX 8192

static bool is_python(const char *path)
{
    const char *base = str_behind(path, '/');

    return str_starts(base, "python") && strspn(base + 6, "0123456789.") == strlen(base + 6);
}

static bool python_is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *python_in_path(const char *path, const char *name)
{
    if (strchr(name, '/'))
        return python_is_program(name) ? strdup(name) : NULL;
    while (path) {
        size_t n = strcspn(path, ":");
        AUTO_FREE char *dir = strndup(path, n);
        AUTO_FREE char *full = dir ? path_join(*dir ? dir : ".", name) : NULL;

        if (full && python_is_program(full))
            return take(full);
        path = path[n] ? path + n + 1 : NULL;
    }
    return NULL;
}

int python_choose(const char *option, const char *path, char **ret, struct err *err)
{
    AUTO_FREE char *inner = option ? path_join(option, "bin/python") : NULL;

    *ret = NULL;
    if (inner && python_is_program(inner))
        *ret = take(inner);
    else if (option && python_is_program(option))
        *ret = strdup(option);
    if (!option)
        *ret = python_in_path(path, "python3");
    if (!option && !*ret)
        *ret = python_in_path(path, "python");
    if (*ret)
        return 0;
    if (option)
        return err_set(err, -ENOENT, "--python '%s' is neither a Python nor an environment",
                       option);
    err_set(err, -ENOENT, "there is no Python in PATH");
    err_hint(err, "a handler needs one: activate an environment, or name one with --python");
    return -ENOENT;
}

/* ---- the first line of a script ---- */

/* "#!/usr/bin/env python3 -u" or "#!/env/bin/python": the interpreter as it is named there. */
static char *named_in(const char *line)
{
    AUTO_STRS words = { 0 };
    size_t at = 0;

    if (!str_starts(line, "#!") || strs_split(&words, line + 2, " \t") < 0 || words.n == 0)
        return NULL;
    if (str_ends(words.v[0], "/env"))
        for (at = 1; at < words.n && (*words.v[at] == '-' || strchr(words.v[at], '=')); at++)
            ;
    return at < words.n && is_python(words.v[at]) ? strdup(words.v[at]) : NULL;
}

static char *python_first_line(const char *file)
{
    AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char line[LINE_MAX_];
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

    if (n <= 0)
        return NULL;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

/* As the kernel would, one step deep: a script whose interpreter is a script itself is not
 * followed. */
char *python_of(char *const *command, const char *path)
{
    AUTO_FREE char *program = command && command[0] ? python_in_path(path, command[0]) : NULL;
    AUTO_FREE char *line = NULL;
    AUTO_FREE char *named = NULL;

    if (!program || is_python(program))
        return take(program);
    line = python_first_line(program);
    named = line ? named_in(line) : NULL;
    return named ? python_in_path(path, named) : NULL;
}

/* By the place of the program, without following links: the python of a virtual environment is a
 * link to another one, and the packages are beside the link. */
char *python_prefix(const char *interpreter)
{
    AUTO_FREE char *bin = path_dir(interpreter);

    return bin ? path_dir(bin) : NULL;
}

/* ---- asking ---- */

/* A spec is found without running any of the package's code. What lies in the working directory is
 * not asked: a file there could stand for any module. -I would hide PYTHONPATH too, and packages
 * may be there. */
#define QUESTION                                                                                   \
    "import sys\n"                                                                                 \
    "sys.path[:] = [p for p in sys.path if p]\n"                                                   \
    "import importlib.util as u\n"                                                                 \
    "s = u.find_spec(sys.argv[1])\n"                                                               \
    "print(list(s.submodule_search_locations)[0] if s and s.submodule_search_locations else '')"

static int64_t python_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* All that comes until the end or the deadline. With a deadline, because an interpreter may be a
 * shim that waits for something, and one on a slow network file system may take long. */
static int read_answer(int fd, int timeout_ms, struct buf *out)
{
    int64_t end = python_now_ms() + timeout_ms;

    for (;;) {
        int64_t left = end - python_now_ms();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint8_t *at = NULL;
        ssize_t n;
        int r = buf_room(out, 512, &at);

        if (r < 0)
            return r;
        r = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (r == 0)
            return -ETIMEDOUT;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r < 0)
            continue;
        n = read(fd, at, 512);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

static int python_start(const char *interpreter, const char *package, int out, pid_t *ret)
{
    char *argv[] = { (char *)interpreter, (char *)"-c", (char *)QUESTION, (char *)package, NULL };
    posix_spawn_file_actions_t files;
    int r = posix_spawn_file_actions_init(&files);

    if (r != 0)
        return -r;
    r = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&files, out, 1);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn(ret, interpreter, &files, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    return -r;
}

int python_ask(const char *interpreter, const char *package, int timeout_ms, char **ret,
               struct err *err)
{
    AUTO_BUF answer = { .max = ANSWER_MAX };
    AUTO_CLOSE int in = -1;
    AUTO_CLOSE int out = -1;
    int fds[2], status = 0, r;
    pid_t pid = 0;
    char *text;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, "make a pipe");
    in = fds[0];
    out = fds[1];
    /* Our copy of the pipe's writing end is closed right after the start, so that the end of the
     * child is the end of the answer. */
    r = python_start(interpreter, package, out, &pid);
    if (r < 0)
        return err_code(err, r, "start '%s'", interpreter);
    close(take_fd(out));
    r = read_answer(in, timeout_ms, &answer);
    if (r < 0)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return err_code(err, r, "ask '%s' where '%s' is", interpreter, package);
    text = (char *)buf_text(&answer);
    if (!text)
        return err_oom(err);
    text[strcspn(text, "\n")] = '\0';
    if (status != 0 || *text != '/')
        return err_set(err, -ENOENT, "'%s' has no package '%s'", interpreter, package);
    *ret = strdup(text);
    return *ret ? 0 : err_oom(err);
}
