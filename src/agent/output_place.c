/* output_place.c - where a task's output files here belong in all that the task has written.
 *
 *     .ydl/output-worker-3    "1 0 0": the start, counted from 1, that the files begin with, and
 * how many bytes of each stream were written elsewhere before
 *
 * The master says both when the task first comes here. An agent that follows one that was killed
 * goes on in the same files, under a master that may be as new as itself: without this, whoever
 * follows the task would be shown the files a second time, as those of another machine. */
#include "agent/agent_private.h"
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"

#include <stdio.h>

static char *place_path(const struct task *t)
{
    return str_printf("%s/output-%s", t->agent->container->own, t->label);
}

void output_place_find(struct task *t)
{
    AUTO_FREE char *path = t->agent->container && t->log_began == 0 ? place_path(t) : NULL;
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

void output_place_keep(const struct task *t)
{
    AUTO_FREE char *path = t->agent->container ? place_path(t) : NULL;
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
