/* output_files.c - a task's two output files: they stay readable after they were removed, and
 * another agent may have written to them before us or go on after us.
 *
 * When a NodeManager restarts it may remove the log directory of a running container. The tasks go
 * on writing to their open files. We read these through descriptors of our own: to send output to
 * readers, to quote the last lines of a failure, and to save it.
 *
 * An agent that follows us in the same container goes on in the same files. For it we write down:
 *
 *     LOGS/.ydl-place-worker-3           "[1,0,0]": the start, counted from 1, that the files begin
 *                                        with, and how many bytes of each stream were written
 *                                        elsewhere before
 *     LOGS/.ydl-saved-worker-3.stdout    see export_output.c
 *
 * The master sends the numbers of the first when it moves a task here. A new agent may have a new
 * master, which does not know them. Without the file, followers of the task would see the same
 * output twice.
 *
 * Both are kept in the log directory, not in the container's: if the container's directory is
 * removed, the output stays, and so must they. */
#include "agent/output/output_files.h"
#include "agent/agent_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MARK ".ydl-"

/* ---- the files ---- */

/* Of an agent before us, in the same container or on the same machine. */
static void find_pieces(struct stream_out *s)
{
    s->cut.path = s->path;
    if (access(s->path, F_OK) < 0)
        return;
    s->gone = rotate_look(&s->cut, s->path) < 0;
    if (s->gone || rotate_mend(&s->cut) < 0)
        s->cut.never = true;
}

int output_init(struct agent_task *t, struct err *err)
{
    static const char *const streams[] = { "out", "err" };
    const struct agent *a = t->agent;

    for (int i = 0; i < 2; i++)
        t->output.streams[i].wd = t->output.streams[i].kept = -1;
    for (int i = 0; i < 2; i++) {
        struct stream_out *s = &t->output.streams[i];

        s->path = str_printf("%s/%s.%s%s", a->dirs.log, t->label,
                             a->platform->successors ? "std" : "", streams[i]);
        if (!s->path)
            return err_oom(err);
        find_pieces(s);
    }
    return 0;
}

void output_done(struct agent_task *t)
{
    for (int i = 0; i < 2; i++) {
        struct stream_out *s = &t->output.streams[i];

        if (s->path && s->kept >= 0) /* a task that output_init() never saw has no path */
            close(s->kept);
        free(s->path);
    }
}

/* Opened anew at each start, because the task's new process may have created a new file. The old
 * one is lost when it was another file with something in it. */
void output_keep(struct stream_out *s)
{
    AUTO_CLOSE int before = s->kept;
    struct stat old, now;

    s->kept = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    s->cut.kept = s->kept > 0 ? s->kept : 0;
    if (before < 0 || fstat(before, &old) < 0 || old.st_size == 0)
        return;
    if (s->kept < 0 || fstat(s->kept, &now) < 0 || now.st_dev != old.st_dev ||
        now.st_ino != old.st_ino)
        s->gone = true; /* only one is kept open: the master must know that output is missing */
}

const char *output_name(const struct stream_out *s, char room[OUTPUT_NAME])
{
    if (s->kept < 0 || access(s->path, F_OK) == 0)
        return s->path;
    (void)snprintf(room, OUTPUT_NAME, "/proc/self/fd/%d", s->kept);
    return room;
}

/* ---- for the next agent ---- */

char *output_mark(const struct agent *a, const char *what, const char *of)
{
    return a->platform->successors ? str_printf("%s/" MARK "%s-%s", a->dirs.log, what, of) : NULL;
}

void output_marks_remove(const struct agent *a)
{
    AUTO_DIR DIR *d = a->platform->successors && a->dirs.log ? opendir(a->dirs.log) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (str_starts(e->d_name, MARK))
            (void)unlinkat(dirfd(d), e->d_name, 0);
}

void output_base_find(struct agent_task *t)
{
    AUTO_FREE char *path = t->output.began == 0 ? output_mark(t->agent, "place", t->label) : NULL;
    AUTO_BUF text = { .max = KIB };
    AUTO_JSON *v = NULL;
    json_int_t began = 0, out = 0, err = 0;

    if (!path || access(t->output.streams[0].path, F_OK) < 0 || path_read(path, &text, NULL) < 0 ||
        text.len == 0 || json_parse(path, text.data, text.len, &v, NULL) < 0)
        return;
    if (json_unpack(v, "[I, I, I]", &began, &out, &err) < 0 || began < 1 || began > UINT32_MAX ||
        out < 0 || err < 0)
        return;
    t->output.began = (uint32_t)began;
    t->output.base[0] = (uint64_t)out;
    t->output.base[1] = (uint64_t)err;
}

void output_base_keep(const struct agent_task *t)
{
    AUTO_FREE char *path = output_mark(t->agent, "place", t->label);
    struct err why = ERR_INIT;
    char text[80];
    int n;

    if (!path)
        return;
    n = snprintf(text, sizeof(text), "[%u,%llu,%llu]\n", t->output.began,
                 (unsigned long long)t->output.base[0], (unsigned long long)t->output.base[1]);
    if (path_write_unflushed(path, text, (size_t)n, 0600, &why) < 0)
        log_warn(LOG_AGENT, "%s, ignoring", why.text);
}
