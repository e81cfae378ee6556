/* story.c - puts the sentence together: name, state, first failure, exit code. Parts that an
 * older master did not record are left out. See story.h. */
#include "terminal/story.h"
#include "base/str.h"
#include "job/event.h"
#include "terminal/format.h"
#include "terminal/sanitize.h"

#include <string.h>

/* The machine of the task that failed; NULL when nobody knows. */
static const char *story_node_of(const json_t *status, const char *task)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        const char *node = format_text(t, "node");

        if (str_eq(format_text(t, "task"), task) && *node)
            return node;
    }
    return NULL;
}

static int put_class(const json_t *story, enum fail_class cls, struct buf *out)
{
    int64_t signal = json_int_or(story, "signal", 0);
    const char *name = cls == FAIL_SIGNAL && signal > 0 ? sigabbrev_np((int)signal) : NULL;

    if (cls == FAIL_EXIT || cls == FAIL_NONE)
        return 0;
    if (name)
        return buf_printf(out, "ended by SIG%s", name);
    if (cls == FAIL_SIGNAL && signal > 0)
        return buf_printf(out, "ended by signal %lld", (long long)signal);
    return buf_add_str(out, fail_name(cls));
}

/* Does the text say itself what became of the task? */
static bool says_class(const char *text, enum fail_class cls)
{
    return strstr(text, fail_name(cls)) || (cls == FAIL_SIGNAL && strstr(text, "ended by signal"));
}

/* "out of memory: used 2.1 GB of 2 GB (exit code 137)". A text that begins with the task's name is
 * a sentence that says it all. */
static int put_how(const json_t *story, struct buf *out)
{
    const char *task = format_text(story, "task"), *text = format_text(story, "text");
    int64_t code = json_int_or(story, "code", 0);
    bool sentence = *task && str_starts(text, task) && strchr(": ", text[strlen(task)]);
    enum fail_class cls = FAIL_NONE;
    size_t before = out->len;
    int r = 0;

    (void)fail_from_key(format_text(story, "class"), &cls); /* one we do not know is not named */
    if (sentence)
        text += strlen(task) + strspn(text + strlen(task), ": ");
    if (!sentence && !says_class(text, cls))
        r = put_class(story, cls, out);
    if (r == 0 && *text && out->len > before)
        r = buf_add_str(out, ": ");
    if (r == 0)
        r = format_clean(out, text);
    if (r < 0 || code == 0 || strstr(text, "exit code"))
        return r;
    return buf_printf(out, out->len > before ? " (exit code %lld)" : "exit code %lld",
                      (long long)code);
}

int story_cause(const json_t *status, struct buf *out)
{
    const json_t *story = json_object_get(status, "story");
    const char *task = format_text(story, "task");
    const char *node = story_node_of(status, task);
    int r = 0;

    if (!json_is_object(story))
        return 0;
    if (*task || node)
        r = format_print(out, "%s%s%s%s", task, node ? " on " : "", node ? node : "",
                         *task ? ": " : "");
    return r < 0 ? r : put_how(story, out);
}

static int put_why(const json_t *status, struct buf *out)
{
    const char *reason = format_text(status, "reason");
    int64_t code = json_int_or(status, "exit", 0);
    int r = buf_add_str(out, ": ");

    if (r < 0)
        return r;
    if (json_is_object(json_object_get(status, "story")))
        return story_cause(status, out);
    r = *reason ? format_clean(out, reason) : 0;
    return r < 0
               ? r
               : buf_printf(out, *reason ? " (exit code %lld)" : "exit code %lld", (long long)code);
}

static int put_name(const json_t *status, struct buf *out)
{
    const char *name = format_text(status, "name"), *id = format_text(status, "job");

    return *name ? format_print(out, "job '%s' (%s)", name, id) : format_print(out, "job %s", id);
}

/* Unsaved results are reported too: then the exit code is not 0. */
static int put_success(const json_t *status, struct buf *out)
{
    int64_t from = json_int_or(status, "created", 0), to = json_int_or(status, "ended", 0);
    const char *unsaved = format_text(status, "unsaved");
    const char *model = format_text(json_object_get(status, "published"), "model");
    char span[FORMAT_SPAN];
    int r = buf_add_str(out, " succeeded");

    if (r == 0 && from > 0 && to >= from)
        r = buf_printf(out, " in %s", format_span(to - from, span));
    if (r == 0 && *model)
        r = format_print(out, " and published %s", model);
    return r < 0 || !*unsaved ? r : format_print(out, ", but %s", unsaved);
}

/* "was stopped by root": a reason that begins with what was done needs no verb before it. */
static int put_killed(const char *reason, struct buf *out)
{
    bool verb = str_starts(reason, "stopped by ") || str_starts(reason, "killed ");

    return format_print(out, "%s%s",
                        verb      ? " was "
                        : *reason ? " was killed: "
                                  : " was killed",
                        reason);
}

/* The state of a job that has not ended. */
static int put_alive(const char *state, struct buf *out)
{
    static const struct {
        const char *state, *words;
    } rows[] = {
        { "NEW", "starting" },
        { "ASKING", "waiting for containers" },
        { "FORMING", "preparing its nodes" },
        { "FINISHING", "ending" },
    };
    char lower[16];

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(state, rows[i].state))
            return buf_printf(out, " is %s", rows[i].words);
    return buf_printf(out, " is %s", format_lower(state, lower, sizeof(lower)));
}

int story_line(const json_t *status, struct buf *out)
{
    const char *state = format_text(status, "state"), *reason = format_text(status, "reason");
    int r = put_name(status, out);

    if (r < 0)
        return r;
    if (str_eq(state, "SUCCEEDED"))
        return put_success(status, out);
    if (str_eq(state, "KILLED"))
        return put_killed(reason, out);
    if (!str_eq(state, "FAILED"))
        return put_alive(state, out);
    r = buf_add_str(out, " failed");
    return r < 0 ? r : put_why(status, out);
}

/* The last ones, as the reason stands at the end of what a program writes. */
int story_lines(const char *lines, size_t most, struct buf *out)
{
    const char *end = lines + strlen(lines), *p;
    size_t n = 0;
    int r = 0;

    while (end > lines && end[-1] == '\n')
        end--;
    for (p = end; p > lines; p--)
        if (p[-1] == '\n' && ++n == most)
            break;
    while (r == 0 && p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((nl ? nl : end) - p);
        const char *shown = sanitize_segment(p, &len);

        r = buf_add_str(out, "    ");
        if (r == 0)
            r = sanitize_line(out, shown, len);
        if (r == 0)
            r = buf_add_u8(out, '\n');
        p = nl ? nl + 1 : end;
    }
    return r;
}

static int put_hint(const char *hint, struct buf *out)
{
    int r = *hint ? format_print(out, "  hint: %s", hint) : 0;

    return r == 0 && *hint ? buf_add_u8(out, '\n') : r;
}

static int put_next(const json_t *status, const char *task, const char *logs, struct buf *out)
{
    const char *id = format_text(status, "job");
    int r = buf_printf(out, "  logs: ydl logs %s%s%s%s%s%s\n", id, *task ? " " : "", task,
                       logs ? " (files in " : "", logs ? logs : "", logs ? ")" : "");

    return r < 0 ? r : buf_printf(out, "  next: ydl status %s --tasks; ydl events %s\n", id, id);
}

int story_text(const json_t *status, const char *logs, struct buf *out)
{
    const json_t *story = json_object_get(status, "story");
    const char *state = format_text(status, "state"), *task = format_text(story, "task");
    int r = buf_add_str(out, "ydl: ");

    if (r == 0)
        r = story_line(status, out);
    if (r == 0)
        r = buf_add_u8(out, '\n');
    if (r < 0 || !str_eq(state, "FAILED"))
        return r;
    r = story_lines(format_text(story, "lines"), STORY_LINES, out);
    if (r == 0)
        r = put_hint(format_text(story, "hint"), out);
    return r < 0 ? r : put_next(status, task, logs, out);
}
