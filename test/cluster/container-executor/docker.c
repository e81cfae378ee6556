/* docker.c - from a NodeManager's command file to a docker command line.
 *
 *     [docker-command-execution]
 *       docker-command=run
 *       name=container_1_0001_01_000002
 *       mounts=/a:/a:ro,/b:/b:rw
 *
 * Which docker, and which daemon, is written in container-executor.conf beside this program,
 * because the NodeManager calls it with an empty environment.
 */
#include "ce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum how { TEXT, LIST, SWITCH };

/* Options of docker in the order in which they are given; `verb` is the command they belong to. */
static const struct option {
    const char *verb, *key, *flag;
    enum how how;
} options[] = {
    /* clang-format off */
    { "run",     "name",          "--name=%s",          TEXT },
    { "run",     "user",          "--user=%s",          TEXT },
    { "run",     "detach",        "-d",                 SWITCH },
    { "run",     "rm",            "--rm",               SWITCH },
    { "run",     "workdir",       "--workdir=%s",       TEXT },
    { "run",     "net",           "--net=%s",           TEXT },
    { "run",     "hostname",      "--hostname=%s",      TEXT },
    { "run",     "pid",           "--pid=%s",           TEXT },
    { "run",     "runtime",       "--runtime=%s",       TEXT },
    { "run",     "cgroup-parent", "--cgroup-parent=%s", TEXT },
    { "run",     "privileged",    "--privileged",       SWITCH },
    { "run",     "mounts",        "--volume=%s",        LIST },
    { "run",     "tmpfs",         "--tmpfs=%s",         LIST },
    { "run",     "ports-mapping", "--publish=%s",       LIST },
    { "run",     "devices",       "--device=%s",        LIST },
    { "run",     "cap-drop",      "--cap-drop=%s",      LIST },
    { "run",     "cap-add",       "--cap-add=%s",       LIST },
    { "run",     "group-add",     "--group-add=%s",     LIST },
    { "run",     "environ",       "--env-file=%s",      TEXT },
    { "inspect", "format",        "--format=%s",        TEXT },
    { "kill",    "signal",        "--signal=%s",        TEXT },
    { "stop",    "time",          "--time=%s",          TEXT },
    { "exec",    "interactive",   "-i",                 SWITCH },
    { "exec",    "tty",           "-t",                 SWITCH },
    { "rm",      "force",         "--force",            SWITCH },
    /* clang-format on */
};

static const struct verb {
    const char *name, *words[3]; /* the keys whose values come last */
} verbs[] = {
    { "run", { "image", "launch-command" } },
    { "inspect", { "name" } },
    { "kill", { "name" } },
    { "stop", { "name" } },
    { "start", { "name" } },
    { "rm", { "name" } },
    { "exec", { "name", "launch-command" } },
    { "pull", { "image" } },
    { "images", { "image" } },
};

static const char *config(const char *key)
{
    char self[CE_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *value;

    if (n < 0)
        ce_die(CE_BAD_COMMAND, "where am I: %m");
    self[n] = '\0';
    value = ce_command_value(ce_text("%s.conf", self), key);
    if (!value)
        ce_die(CE_BAD_COMMAND, "'%s.conf' names no %s", self, key);
    return value;
}

char *ce_command_value(const char *file, const char *key)
{
    char *text = ce_read(file, NULL), *line;
    size_t n = strlen(key);

    if (!text)
        ce_die(CE_BAD_COMMAND, "read '%s': %m", file);
    while ((line = strsep(&text, "\n"))) {
        line += strspn(line, " \t");
        if (strncmp(line, key, n) == 0 && line[n] == '=')
            return line + n + 1;
    }
    return NULL;
}

static void begin(struct ce_docker *docker)
{
    ce_add(&docker->argv, ce_text("%s", config("docker")));
    ce_add(&docker->argv, "--host");
    ce_add(&docker->argv, ce_text("%s", config("host")));
}

static void add_option(struct ce_docker *docker, const struct option *option, char *value)
{
    struct ce_words list = { 0 };

    if (option->how == SWITCH) {
        if (strcmp(value, "true") == 0)
            ce_add(&docker->argv, ce_text("%s", option->flag));
        return;
    }
    if (option->how == LIST)
        ce_split(&list, value, ',');
    else
        ce_add(&list, value);
    for (size_t i = 0; i < list.n; i++) {
        /* The flag is one of the table above: its value is what stands after the last '='. */
        size_t head = strlen(option->flag) - 2;

        ce_add(&docker->argv, ce_text("%.*s%s", (int)head, option->flag, list.word[i]));
    }
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    ce_die(CE_BAD_COMMAND, "docker command '%s' is unknown", name);
}

void ce_docker_command(const char *file, struct ce_docker *ret)
{
    const char *name = ce_command_value(file, "docker-command");
    const struct verb *verb = find_verb(name ? name : "");
    char *value;

    begin(ret);
    if ((value = ce_command_value(file, "docker-config")))
        ce_add(&ret->argv, ce_text("--config=%s", value));
    ce_add(&ret->argv, ce_text("%s", verb->name));
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i].verb, verb->name) == 0 &&
            (value = ce_command_value(file, options[i].key)))
            add_option(ret, &options[i], value);
    for (size_t i = 0; i < 3 && verb->words[i]; i++)
        if ((value = ce_command_value(file, verb->words[i])))
            ce_split(&ret->argv, value, ',');
    ret->name = ce_command_value(file, "name");
    value = ce_command_value(file, "detach");
    ret->detached = value && strcmp(value, "true") == 0;
}

void ce_docker_fixed(struct ce_docker *ret, char *verb, ...)
{
    va_list args;
    const char *word;

    begin(ret);
    ce_add(&ret->argv, verb);
    va_start(args, verb);
    while ((word = va_arg(args, const char *)))
        ce_add(&ret->argv, ce_text("%s", word));
    va_end(args);
}

void ce_docker_exec(struct ce_docker *docker)
{
    char *environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", NULL };

    execve(docker->argv.word[0], docker->argv.word, environment);
    ce_die(CE_CANNOT_EXEC, "run '%s': %m", docker->argv.word[0]);
}

static void redirect(int fd, const char *path)
{
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : -1;

    if (file >= 0 && dup2(file, fd) < 0)
        ce_die(CE_CANNOT_EXEC, "redirect to '%s': %m", path);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return CE_CANNOT_EXEC;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ce_docker_run(struct ce_docker *docker, const char *out, const char *err)
{
    pid_t pid = fork();

    if (pid == 0) {
        redirect(STDOUT_FILENO, out);
        redirect(STDERR_FILENO, err);
        ce_docker_exec(docker);
    }
    return pid < 0 ? CE_CANNOT_EXEC : wait_for(pid);
}

char *ce_docker_ask(struct ce_docker *docker)
{
    char *line = calloc(1, CE_PATH_MAX);
    ssize_t have = 0, n;
    int ends[2];
    pid_t pid;

    if (!line || pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0)
        return NULL;
    if (pid == 0) {
        if (dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(CE_CANNOT_EXEC);
        ce_docker_exec(docker);
    }
    close(ends[1]);
    while (have < CE_PATH_MAX - 1 &&
           (n = read(ends[0], line + have, CE_PATH_MAX - 1 - (size_t)have)) > 0)
        have += n;
    close(ends[0]);
    line[strcspn(line, "\n")] = '\0';
    return wait_for(pid) == 0 ? line : NULL;
}
