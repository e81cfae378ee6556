/* launch.c - preparing a container and running it, plainly or in docker.
 *
 *     NodeManager ──► container-executor ──fork──► launch_container.sh ──► the container's command
 *                            └── waits, writes PIDFILE.exitcode, exits with the same code
 *
 * The process that waits must live as long as the container, also when the NodeManager is restarted
 * meanwhile: the new one finds the exit code in the file.
 */
#include "ce.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a launch is told, in the order of the arguments. */
struct launch {
    struct ce_place place;
    const char *script, *tokens, *pid_file;
    const char *last; /* control groups for a plain launch, the command file for docker */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static char *next(char ***argv)
{
    if (!**argv)
        ce_die(CE_BAD_ARGUMENTS, "too few arguments");
    return *(*argv)++;
}

int ce_initialize(const char *owner, char **argv)
{
    struct ce_place place = { .owner = owner, .app = next(&argv) };
    const char *localizer = next(&argv), *tokens = next(&argv);
    char *app_dir;

    ce_split(&place.local, next(&argv), '%');
    ce_split(&place.log, next(&argv), '%');
    if (place.local.n == 0 || !*argv)
        ce_die(CE_BAD_ARGUMENTS, "no local directory, or nothing to run");
    ce_make_user_dirs(&place, localizer);
    ce_act_as_user();
    ce_make_app_dirs(&place);
    ce_act_as_manager();
    app_dir = ce_text("%s/usercache/%s/appcache/%s", place.local.word[0], owner, place.app);
    ce_copy(tokens, ce_text("%s/%s", app_dir, base_name(tokens)), 0600);
    ce_become_user();
    if (chdir(app_dir) != 0)
        ce_die(CE_CANNOT_PREPARE, "enter '%s': %m", app_dir);
    umask(027);
    execv(argv[0], argv);
    ce_die(CE_CANNOT_EXEC, "run '%s': %m", argv[0]);
}

static void read_launch(const char *owner, char **argv, struct launch *ret)
{
    ret->place.owner = owner;
    ret->place.app = next(&argv);
    ret->place.container = next(&argv);
    ret->place.workdir = next(&argv);
    ret->script = next(&argv);
    ret->tokens = next(&argv);
    if (strcmp(next(&argv), "--https") == 0) { /* the key store and the trust store */
        (void)next(&argv);
        (void)next(&argv);
    }
    ret->pid_file = next(&argv);
    ce_split(&ret->place.local, next(&argv), '%');
    ce_split(&ret->place.log, next(&argv), '%');
    ret->last = next(&argv);
}

static void prepare(const struct launch *launch)
{
    const char *work = launch->place.workdir;

    ce_make_user_dirs(&launch->place, NULL);
    ce_act_as_user();
    ce_make_app_dirs(&launch->place);
    ce_make_work_dirs(&launch->place);
    ce_act_as_manager();
    ce_copy(launch->script, ce_text("%s/launch_container.sh", work), 0700);
    ce_copy(launch->tokens, ce_text("%s/container_tokens", work), 0600);
}

static void join_cgroups(const char *argument, pid_t pid)
{
    struct ce_words files = { 0 };
    char *list = ce_text("%s", argument);

    if (strncmp(list, "cgroups=", 8) != 0 || strcmp(list, "cgroups=none") == 0)
        return;
    ce_split(&files, list + 8, '%');
    for (size_t i = 0; i < files.n; i++) {
        int fd = open(files.word[i], O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0 || dprintf(fd, "%d", pid) < 0 || close(fd) != 0)
            ce_die(CE_CANNOT_PREPARE, "join '%s': %m", files.word[i]);
    }
}

__attribute__((noreturn)) static void run_script(const struct launch *launch)
{
    char *script = ce_text("%s/launch_container.sh", launch->place.workdir);

    if (setsid() < 0)
        ce_die(CE_CANNOT_EXEC, "a session of its own: %m");
    ce_write_whole(launch->pid_file, ce_text("%d", getpid()));
    join_cgroups(launch->last, getpid());
    prepare(launch);
    ce_become_user();
    if (chdir(launch->place.workdir) != 0)
        ce_die(CE_CANNOT_PREPARE, "enter '%s': %m", launch->place.workdir);
    umask(027);
    /* Standard input and output too: the container's command finds them closed. */
    closefrom(0);
    execl(script, script, (char *)NULL);
    _exit(CE_CANNOT_EXEC);
}

static int keep_exit_code(const struct launch *launch, int code)
{
    ce_write_whole(ce_text("%s.exitcode", launch->pid_file), ce_text("%d", code));
    return code;
}

int ce_launch(const char *owner, char **argv)
{
    struct launch launch = { 0 };
    int status = 0;
    pid_t pid;

    read_launch(owner, argv, &launch);
    pid = fork();
    if (pid == 0)
        run_script(&launch);
    if (pid < 0)
        ce_die(CE_CANNOT_EXEC, "fork: %m");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            ce_die(CE_CANNOT_EXEC, "wait: %m");
    return keep_exit_code(&launch,
                          WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* The process id of a container's first process; 0 when it has ended already. */
static pid_t docker_pid(const char *name)
{
    struct ce_docker inspect = { 0 };
    char *answer;

    ce_docker_fixed(&inspect, "inspect", "--format={{.State.Pid}}", name, NULL);
    answer = ce_docker_ask(&inspect);
    return answer ? (pid_t)strtol(answer, NULL, 10) : -1;
}

static int docker_exit_code(const char *name)
{
    struct ce_docker inspect = { 0 };
    char *answer;

    ce_docker_fixed(&inspect, "inspect", "--format={{.State.ExitCode}}", name, NULL);
    answer = ce_docker_ask(&inspect);
    /* Somebody has removed it: it was killed as far as anybody can tell. */
    return answer ? (int)strtol(answer, NULL, 10) : 128 + SIGKILL;
}

static void wait_for_end(pid_t pid)
{
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

    if (end.fd < 0)
        return; /* it has ended */
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        continue;
    close(end.fd);
}

/* Starts `docker run`; -1 when it failed. A container that is not detached keeps docker as its
 * child in front of it, so that one is left running beside us. */
static int start_docker(const struct launch *launch, struct ce_docker *run)
{
    char *logs =
        ce_text("%s/%s/%s", launch->place.log.word[0], launch->place.app, launch->place.container);
    char *out = ce_text("%s/stdout.txt", logs), *err = ce_text("%s/stderr.txt", logs);
    pid_t pid;

    ce_act_as_user();
    close(open(out, O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
    close(open(err, O_WRONLY | O_CREAT | O_CLOEXEC, 0640));
    ce_act_as_manager();
    if (run->detached)
        return ce_docker_run(run, "/dev/null", NULL) == 0 ? 0 : -1;
    pid = fork();
    if (pid == 0)
        _exit(ce_docker_run(run, out, err));
    if (pid < 0)
        return -1;
    for (int tries = 0; docker_pid(run->name) <= 0; tries++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return docker_pid(run->name) < 0 ? -1 : 0;
        if (tries > 300)
            return -1;
        (void)poll(NULL, 0, 50);
    }
    return 0;
}

int ce_launch_docker(const char *owner, char **argv)
{
    struct ce_docker run = { 0 };
    struct launch launch = { 0 };
    pid_t pid;

    read_launch(owner, argv, &launch);
    prepare(&launch);
    ce_act_as_user();
    ce_make_docker_dirs(&launch.place);
    ce_act_as_manager();
    ce_docker_command(launch.last, &run);
    if (start_docker(&launch, &run) != 0)
        return CE_DOCKER_FAILED;
    pid = docker_pid(run.name);
    if (pid > 0) {
        ce_write_whole(launch.pid_file, ce_text("%d", pid));
        wait_for_end(pid);
    }
    return keep_exit_code(&launch, docker_exit_code(run.name));
}
