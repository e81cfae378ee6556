/* cgroup.c - a cgroup for a task: files below /sys/fs/cgroup are written and read.
 *
 * The place is searched for once, from our own cgroup upwards: a cgroup with processes of its own
 * cannot hand controllers down, but an ancestor may. What the kernel refuses is not an error:
 * limits.c then watches memory by itself. */
#include "agent/tasks/cgroup.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SMALL (16 * KIB)

/* The file's text as a new string; NULL when it cannot be read. */
static char *cgroup_text_of(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_BUF b = { .max = SMALL };

    if (!path || path_read(path, &b, NULL) < 0 || !buf_text(&b))
        return NULL;
    return (char *)take(b.data);
}

static bool cgroup_write_text(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_CLOSE int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* "name 12" on a line of its own. */
static uint64_t cgroup_number_in(const char *text, const char *name)
{
    size_t n = strlen(name);

    while (text && *text) {
        if (strncmp(text, name, n) == 0 && text[n] == ' ')
            return strtoull(text + n, NULL, 10);
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return 0;
}

/* ---- where ---- */

static bool usable(const char *dir)
{
    AUTO_FREE char *handed_down = cgroup_text_of(dir, "cgroup.subtree_control");
    AUTO_FREE char *procs = path_join(dir, "cgroup.procs");
    AUTO_STRS words = { 0 };

    return handed_down && procs && strs_split(&words, handed_down, " \n") == 0 &&
           strs_has(&words, "memory") && access(dir, W_OK | X_OK) == 0 && access(procs, W_OK) == 0;
}

static void cgroup_look(struct cgroups *g, const char *mount, const char *self)
{
    AUTO_FREE char *at = self ? str_printf("%s%s", mount, self) : NULL;

    g->looked = true;
    while (at && strlen(at) >= strlen(mount)) {
        char *slash;

        if (usable(at)) {
            g->base = take(at);
            return;
        }
        slash = strrchr(at, '/');
        if (!slash || slash == at)
            return;
        *slash = '\0';
    }
}

char *cgroup_self(void)
{
    AUTO_FREE char *text = cgroup_text_of("/proc/self", "cgroup");
    char *line = text ? strstr(text, "0::/") : NULL;

    if (!line || (line != text && line[-1] != '\n'))
        return NULL;
    return strndup(line + 3, strcspn(line + 3, "\n"));
}

void cgroups_done(struct cgroups *g)
{
    free(g->base);
    *g = (struct cgroups){ 0 };
}

/* ---- one ---- */

/* Swap is switched off for the group, or the limit would only slow the task down; and the kernel
 * ends all of its processes together, because half a task is of no use. A directory that is there
 * already was left by an earlier life of the same task. */
bool cgroup_make(struct cgroups *g, const char *mount, const char *self, const char *name,
                 uint64_t limit, struct cgroup *ret)
{
    AUTO_FREE char *path = NULL;
    char number[24];

    if (!g->looked)
        cgroup_look(g, mount, self);
    path = g->base ? str_printf("%s/%s", g->base, name) : NULL;
    if (!path || (mkdir(path, 0755) < 0 && errno != EEXIST))
        return false;
    snprintf(number, sizeof(number), "%llu", (unsigned long long)limit);
    if (!cgroup_write_text(path, "memory.max", number)) {
        (void)rmdir(path);
        return false;
    }
    (void)cgroup_write_text(path, "memory.swap.max", "0"); /* where there is swap */
    (void)cgroup_write_text(path, "memory.oom.group", "1");
    ret->path = take(path);
    return true;
}

int cgroup_procs(const struct cgroup *c)
{
    AUTO_FREE char *path = c->path ? path_join(c->path, "cgroup.procs") : NULL;

    return path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
}

uint64_t cgroup_oom_kills(const struct cgroup *c)
{
    AUTO_FREE char *text = c->path ? cgroup_text_of(c->path, "memory.events") : NULL;

    return cgroup_number_in(text, "oom_kill");
}

uint64_t cgroup_peak(const struct cgroup *c)
{
    AUTO_FREE char *text = c->path ? cgroup_text_of(c->path, "memory.peak") : NULL;

    return text ? strtoull(text, NULL, 10) : 0;
}

void cgroup_kill(const struct cgroup *c)
{
    if (c->path)
        (void)cgroup_write_text(c->path, "cgroup.kill", "1");
}

void cgroup_remove(struct cgroup *c)
{
    if (c->path)
        (void)rmdir(c->path);
    free(c->path);
    c->path = NULL;
}
