/* output_place.c - what an agent writes down of its tasks' output for an agent that follows it in
 * the same container and goes on in the same files.
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
#include "agent/agent_private.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define MARK ".ydl-"

char *output_mark(const struct agent *a, const char *what, const char *of)
{
    return a->container ? str_printf("%s/" MARK "%s-%s", a->log_dir, what, of) : NULL;
}

void output_marks_remove(const struct agent *a)
{
    AUTO_DIR DIR *d = a->container && a->log_dir ? opendir(a->log_dir) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (str_starts(e->d_name, MARK))
            (void)unlinkat(dirfd(d), e->d_name, 0);
}

void output_place_find(struct agent_task *t)
{
    AUTO_FREE char *path = t->log_began == 0 ? output_mark(t->agent, "place", t->label) : NULL;
    AUTO_BUF text = { .max = KIB };
    AUTO_JSON *v = NULL;
    json_int_t began = 0, out = 0, err = 0;

    if (!path || access(t->streams[0].path, F_OK) < 0 || path_read(path, &text, NULL) < 0 ||
        text.len == 0 || json_parse(path, text.data, text.len, &v, NULL) < 0)
        return;
    if (json_unpack(v, "[I, I, I]", &began, &out, &err) < 0 || began < 1 || began > UINT32_MAX ||
        out < 0 || err < 0)
        return;
    t->log_began = (uint32_t)began;
    t->log_base[0] = (uint64_t)out;
    t->log_base[1] = (uint64_t)err;
}

void output_place_keep(const struct agent_task *t)
{
    AUTO_FREE char *path = output_mark(t->agent, "place", t->label);
    struct err why = ERR_INIT;
    char text[80];
    int n;

    if (!path)
        return;
    n = snprintf(text, sizeof(text), "[%u,%llu,%llu]\n", t->log_began,
                 (unsigned long long)t->log_base[0], (unsigned long long)t->log_base[1]);
    if (path_write_unflushed(path, text, (size_t)n, 0600, &why) < 0)
        log_warn(LOG_AGENT, "%s, ignoring", why.text);
}
