/* files.c - directories and files of an application on a node.
 *
 * What is made by the NodeManager (root) is given to the user and carries the set-group-id bit, so
 * that everything the user makes below stays readable for the NodeManager's group: that is how logs
 * can be aggregated. What is made as the user is never chmod'ed afterwards, because a user outside
 * that group would lose the bit by it.
 */
#include "ce.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that the NodeManager makes and gives to the user. */
static void give_dir(const char *path)
{
    if (mkdir(path, 0750) != 0 && errno != EEXIST)
        ce_die(CE_CANNOT_PREPARE, "make '%s': %m", path);
    if (chown(path, ce_uid(), getgid()) != 0 || chmod(path, 02750) != 0)
        ce_die(CE_CANNOT_PREPARE, "give '%s' away: %m", path);
}

static void make_dir(const char *path, mode_t mode)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        ce_die(CE_CANNOT_PREPARE, "make '%s': %m", path);
}

/* For the user alone: here the group's bit is lost on purpose. */
static void make_private_dir(const char *path)
{
    make_dir(path, 0710);
    if (chmod(path, 0710) != 0)
        ce_die(CE_CANNOT_PREPARE, "close '%s': %m", path);
}

void ce_make_user_dirs(const struct ce_place *place, const char *container)
{
    for (size_t i = 0; i < place->local.n; i++) {
        make_dir(ce_text("%s/usercache", place->local.word[i]), 0755);
        give_dir(ce_text("%s/usercache/%s", place->local.word[i], place->owner));
    }
    for (size_t i = 0; i < place->log.n; i++) {
        give_dir(ce_text("%s/%s", place->log.word[i], place->app));
        if (container)
            give_dir(ce_text("%s/%s/%s", place->log.word[i], place->app, container));
    }
}

void ce_make_app_dirs(const struct ce_place *place)
{
    for (size_t i = 0; i < place->local.n; i++) {
        char *cache = ce_text("%s/usercache/%s/appcache", place->local.word[i], place->owner);

        make_dir(cache, 0750);
        make_dir(ce_text("%s/%s", cache, place->app), 0750);
    }
}

void ce_make_work_dirs(const struct ce_place *place)
{
    for (size_t i = 0; i < place->local.n; i++)
        make_dir(ce_text("%s/usercache/%s/appcache/%s/%s", place->local.word[i], place->owner,
                         place->app, place->container),
                 0710);
    for (size_t i = 0; i < place->log.n; i++)
        make_dir(ce_text("%s/%s/%s", place->log.word[i], place->app, place->container), 0750);
    make_dir(ce_text("%s/tmp", place->workdir), 0710);
    make_private_dir(ce_text("%s/private_slash_tmp", place->workdir));
    make_private_dir(ce_text("%s/private_var_slash_tmp", place->workdir));
}

void ce_make_docker_dirs(const struct ce_place *place)
{
    for (size_t i = 0; i < place->local.n; i++)
        make_dir(ce_text("%s/usercache/%s/filecache", place->local.word[i], place->owner), 0710);
    make_dir(ce_text("%s/sysfs", place->workdir), 0710);
}

void ce_copy(const char *from, const char *to, mode_t mode)
{
    size_t length = 0;
    char *text = ce_read(from, &length);
    int fd;

    if (!text)
        ce_die(CE_CANNOT_PREPARE, "read '%s': %m", from);
    ce_act_as_user();
    (void)unlink(to); /* a container that is launched again has its old one there */
    fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 || write(fd, text, length) != (ssize_t)length || close(fd) != 0)
        ce_die(CE_CANNOT_PREPARE, "write '%s': %m", to);
    ce_act_as_manager();
}

void ce_write_whole(const char *path, const char *text)
{
    char *scratch = ce_text("%s.tmp", path);
    int fd = open(scratch, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0 ||
        rename(scratch, path) != 0)
        ce_die(CE_CANNOT_PREPARE, "write '%s': %m", path);
}

/* Empties a directory, also one that its owner made unreadable. */
static int empty(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), bad = 0;
    struct dirent *entry;
    DIR *dir;

    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    (void)fchmod(fd, 0700);
    dir = fdopendir(fd);
    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (empty(fd, entry->d_name) != 0 ||
            (unlinkat(fd, entry->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT))
            bad = -1;
    }
    closedir(dir);
    return bad;
}

int ce_delete(const char *path, bool top_is_managers)
{
    struct stat st;
    int r = 0;

    ce_act_as_user();
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        r = empty(AT_FDCWD, path);
    if (top_is_managers)
        ce_act_as_manager();
    if (r == 0 && remove(path) != 0 && errno != ENOENT)
        r = -1;
    if (r != 0)
        fprintf(stderr, "container-executor: delete '%s': %m\n", path);
    ce_act_as_manager();
    return r;
}
