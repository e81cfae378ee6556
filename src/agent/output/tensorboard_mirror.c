/* tensorboard_mirror.c - a directory in HDFS, copied beside a task that can only read files here:
 * TensorBoard, which would need a JVM to look into HDFS itself.
 *
 * Event files only grow: new bytes are appended to the copy. Other files are small and copied when
 * their length changes. What cannot be read is retried at the next look; a failure here never ends
 * a task. */
#include "agent/output/tensorboard_mirror.h"
#include "agent/agent_private.h"
#include "agent/link/job_files.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"
#include "base/path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 3000 /* TensorBoard itself looks every five seconds */
#define CALL_MS 20000
#define DEPTH_MAX 16
#define FILES_MAX 10000
#define OTHER_MAX (16 * MIB) /* anything larger that is not an event file is a checkpoint */
#define PIECE (64 * KIB)

struct mirror {
    struct agent *agent;
    char *from, *to; /* a URI; a directory here */
    struct remote remote;
    struct fs *fs;
    size_t files; /* in this look */
    bool said;    /* that something is wrong, once */
};

static void mirror_free(struct mirror *x)
{
    remote_done(&x->remote);
    free(x->from);
    free(x->to);
    free(x);
}

/* ---- one file ---- */

static bool is_events(const char *name)
{
    return strstr(name, "tfevents") != NULL;
}

static int tensorboard_mirror_append(struct fs_reader *reader, int fd, struct err *err)
{
    AUTO_FREE char *piece = malloc(PIECE);
    ssize_t n = 0;

    if (!piece)
        return err_oom(err);
    while ((n = fs_read(reader, piece, PIECE, err)) > 0)
        for (ssize_t at = 0, done; at < n; at += done) {
            done = write(fd, piece + at, (size_t)(n - at));
            if (done < 0)
                return err_sys(err, "write a copy");
        }
    return (int)n;
}

/* The copy's own length says from where to go on, so nothing has to be remembered between looks,
 * and a restarted task continues with the files that are there. */
static int tensorboard_mirror_copy_file(struct mirror *x, const struct fs_entry *e, const char *to,
                                        struct err *err)
{
    AUTO_CLOSE int fd = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    AUTO_FS_READER *reader = NULL;
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "open '%s'", to);
    if (!is_events(e->name) && (uint64_t)st.st_size == e->length)
        return 0;
    r = fs_open(x->fs, e->path, &reader, err);
    if (r < 0)
        return r;
    /* Shorter than the copy, or one whose middle may have changed: from the beginning. */
    if (!is_events(e->name) || fs_length(reader) < (uint64_t)st.st_size) {
        if (ftruncate(fd, 0) < 0)
            return err_sys(err, "empty '%s'", to);
        st.st_size = 0;
    }
    fs_seek(reader, (uint64_t)st.st_size);
    return tensorboard_mirror_append(reader, fd, err);
}

/* ---- the tree ---- */

static int tensorboard_mirror_copy_tree(struct mirror *x, const char *from, const char *to,
                                        unsigned depth, struct err *err);

static int tensorboard_mirror_copy_entry(struct mirror *x, const struct fs_entry *e,
                                         const char *dir, unsigned depth, struct err *err)
{
    AUTO_FREE char *to = path_join(dir, e->name);

    if (!to)
        return err_oom(err);
    if (!path_is_name(e->name, strlen(e->name)))
        return 0;
    if (e->type == FS_DIRECTORY)
        return depth < DEPTH_MAX ? tensorboard_mirror_copy_tree(x, e->path, to, depth + 1, err) : 0;
    if (e->type != FS_FILE || (!is_events(e->name) && e->length > OTHER_MAX))
        return 0;
    if (++x->files > FILES_MAX)
        return err_set(err, -E2BIG, "'%s' has more than %d files", x->from, FILES_MAX);
    return tensorboard_mirror_copy_file(x, e, to, err);
}

static int tensorboard_mirror_copy_tree(struct mirror *x, const char *from, const char *to,
                                        unsigned depth, struct err *err)
{
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e;
    int r;

    if (mkdir(to, 0750) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", to);
    r = fs_list_open(x->fs, from, &list, err);
    if (r == -ENOENT) { /* who writes it has not begun */
        err_clear(err);
        return 0;
    }
    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0)
        r = tensorboard_mirror_copy_entry(x, e, to, depth, err);
    return r;
}

/* ---- its life ---- */

/* Opens a new session each time: tokens may have been renewed, and nothing is kept open between
 * looks. */
static int tensorboard_mirror_look(struct mirror *x, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = remote_open(x->agent, x->from, CALL_MS, &x->remote, err);

    if (r == 0)
        r = remote_find(&x->remote, x->from, &x->fs, &path, err);
    x->files = 0;
    if (r == 0)
        r = tensorboard_mirror_copy_tree(x, path, x->to, 0, err);
    remote_done(&x->remote);
    x->remote = (struct remote){ 0 };
    return r;
}

static void tensorboard_mirror_run(void *arg)
{
    struct mirror *x = arg;
    struct agent *a = x->agent;

    do {
        struct err err = ERR_INIT;

        if (tensorboard_mirror_look(x, &err) < 0 && !fiber_cancelled(a->loop) && !x->said) {
            log_warn(LOG_AGENT, "%s is not copied for TensorBoard: %s", x->from, err.text);
            x->said = true;
        }
    } while (fiber_sleep(a->loop, LOOK_MS) == 0);
    mirror_free(x);
    a->mirror = NULL;
    agent_tasks_idle(a);
}

int tensorboard_mirror_begin(struct agent_task *t, const char *from, const char *to,
                             struct err *err)
{
    struct agent *a = t->agent;
    struct mirror *x;
    int r;

    if (a->mirror) /* the task was restarted: its copy goes on */
        return 0;
    x = calloc(1, sizeof(*x));
    if (!x)
        return err_oom(err);
    x->agent = a;
    x->from = strdup(from);
    x->to = path_join(t->prep.work, to);
    r = x->from && x->to ? fiber_start(a->loop, tensorboard_mirror_run, x, &a->mirror, err)
                         : err_oom(err);
    if (r < 0)
        mirror_free(x);
    else
        agent_tasks_busy(a);
    return r;
}

void tensorboard_mirror_end(struct agent *a)
{
    if (a->mirror)
        fiber_cancel(a->mirror);
}
