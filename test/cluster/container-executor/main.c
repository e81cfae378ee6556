/* main.c - which call of the NodeManager is answered by which function. */
#include "ce.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int signal_container(const char *owner, char **argv)
{
    long pid, sig;

    (void)owner;
    if (!argv[0] || !argv[1])
        return CE_BAD_ARGUMENTS;
    pid = strtol(argv[0], NULL, 10);
    sig = strtol(argv[1], NULL, 10);
    if (pid <= 1)
        return CE_NO_SUCH_CONTAINER;
    ce_act_as_user();
    if (kill((pid_t)-pid, (int)sig) == 0)
        return CE_OK;
    /* The first process of a docker container leads no group that could be signalled. */
    if (errno == ESRCH && kill((pid_t)pid, (int)sig) == 0)
        return CE_OK;
    return errno == ESRCH ? CE_NO_SUCH_CONTAINER : CE_CANNOT_SIGNAL;
}

static int delete_as_user(const char *owner, char **argv)
{
    const char *sub = argv[0] ? argv[0] : "";
    int r = 0;

    (void)owner;
    if (!argv[0])
        return CE_BAD_ARGUMENTS;
    if (!argv[1])
        return ce_delete(sub, false) == 0 ? CE_OK : CE_CANNOT_DELETE;
    for (char **base = argv + 1; *base; base++) {
        const char *path = *sub ? ce_text("%s/%s", *base, sub) : *base;

        if (ce_delete(path, !*sub) != 0)
            r = -1;
    }
    return r == 0 ? CE_OK : CE_CANNOT_DELETE;
}

static int list_as_user(const char *owner, char **argv)
{
    struct dirent *entry;
    DIR *dir;

    (void)owner;
    if (!argv[0])
        return CE_BAD_ARGUMENTS;
    ce_act_as_user();
    dir = opendir(argv[0]);
    if (!dir)
        ce_die(CE_CANNOT_PREPARE, "list '%s': %m", argv[0]);
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            puts(entry->d_name);
    closedir(dir);
    return CE_OK;
}

static int nothing_to_do(const char *owner, char **argv)
{
    (void)owner;
    (void)argv;
    return CE_OK;
}

/* Commands for a user, by number: USER OWNER NUMBER ARGUMENTS… */
static int (*const commands[])(const char *owner, char **argv) = {
    [0] = ce_initialize,    [1] = ce_launch,    [2] = signal_container, [3] = delete_as_user,
    [4] = ce_launch_docker, [5] = list_as_user, [6] = nothing_to_do,
};

static int check_setup(char **argv)
{
    (void)argv;
    if (geteuid() != 0)
        ce_die(CE_BAD_USER, "the NodeManager is not root: nothing can be run as another user");
    return CE_OK;
}

static int run_docker(char **argv)
{
    struct ce_docker docker = { 0 };

    if (!argv[0])
        return CE_BAD_ARGUMENTS;
    ce_docker_command(argv[0], &docker);
    ce_docker_exec(&docker);
}

static int inspect_docker(char **argv)
{
    struct ce_docker docker = { 0 };

    if (!argv[0] || !argv[1])
        return CE_BAD_ARGUMENTS;
    ce_docker_fixed(&docker, "inspect", argv[0], argv[1], NULL);
    ce_docker_exec(&docker);
}

static int remove_docker(char **argv)
{
    struct ce_docker docker = { 0 };
    char *name = argv[0] && argv[1] ? argv[1] : argv[0];

    if (!name)
        return CE_BAD_ARGUMENTS;
    ce_docker_fixed(&docker, "rm", "--force", name, NULL);
    return ce_docker_run(&docker, "/dev/null", NULL) == 0 ? CE_OK : CE_CANNOT_REMOVE;
}

/* A shell in a container: in docker, or in the container's working directory as its user. */
static int exec_container(char **argv)
{
    struct ce_words words = { 0 };
    const char *user, *dir;
    char *command;

    if (!argv[0])
        return CE_BAD_ARGUMENTS;
    if (ce_command_value(argv[0], "docker-command"))
        return run_docker(argv);
    user = ce_command_value(argv[0], "user");
    dir = ce_command_value(argv[0], "workdir");
    command = ce_command_value(argv[0], "launch-command");
    if (!user || !dir || !command)
        return CE_BAD_ARGUMENTS;
    ce_user(user);
    ce_become_user();
    ce_split(&words, command, ',');
    if (chdir(dir) != 0 || words.n == 0)
        ce_die(CE_CANNOT_EXEC, "enter '%s': %m", dir);
    execv(words.word[0], words.word);
    ce_die(CE_CANNOT_EXEC, "run '%s': %m", words.word[0]);
}

/* HIERARCHY CONTROLLER=PATH…: the hierarchy's own directory below each of them. */
static int mount_cgroups(char **argv)
{
    if (!argv[0])
        return CE_BAD_ARGUMENTS;
    for (char **pair = argv + 1; *pair; pair++) {
        const char *path = strchr(*pair, '=');

        if (!path)
            return CE_BAD_ARGUMENTS;
        if (mkdir(ce_text("%s/%s", path + 1, argv[0]), 0755) != 0 && errno != EEXIST)
            ce_die(CE_CANNOT_PREPARE, "make '%s/%s': %m", path + 1, argv[0]);
    }
    return CE_OK;
}

static int accept(char **argv)
{
    (void)argv;
    return CE_OK;
}

/* Calls that are for no user in particular. Those that steer the network or devices are accepted:
 * there is nothing here that they could be applied to. */
static const struct {
    const char *name;
    int (*answer)(char **argv);
} calls[] = {
    /* clang-format off */
    { "--checksetup",                check_setup },
    { "--run-docker",                run_docker },
    { "--inspect-docker-container",  inspect_docker },
    { "--remove-docker-container",   remove_docker },
    { "--exec-container",            exec_container },
    { "--mount-cgroups",             mount_cgroups },
    { "--tc-modify-state",           accept },
    { "--tc-read-state",             accept },
    { "--tc-read-stats",             accept },
    { "--module-gpu",                accept },
    { "--module-fpga",               accept },
    { "--module-devices",            accept },
    /* clang-format on */
};

int main(int argc, char **argv)
{
    size_t n = sizeof(commands) / sizeof(commands[0]);
    unsigned long number;

    umask(0);
    for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(argv[1], calls[i].name) == 0)
            return calls[i].answer(argv + 2);
    if (argc < 4 || argv[1][0] == '-')
        ce_die(CE_BAD_COMMAND, "usage: CALL ARGUMENTS… or USER OWNER NUMBER ARGUMENTS…");
    number = strtoul(argv[3], NULL, 10);
    if (number >= n || argv[3][0] < '0' || argv[3][0] > '9')
        ce_die(CE_BAD_COMMAND, "command '%s' is unknown", argv[3]);
    if (number == 0) { /* for the NodeManager's log */
        printf("main : command provided %lu\n", (unsigned long)number);
        printf("main : run as user is %s\nmain : requested yarn user is %s\n", argv[1], argv[2]);
    }
    ce_user(argv[1]);
    return commands[number](argv[2], argv + 4);
}
