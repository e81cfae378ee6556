/* task_failure.c - see task_failure.h. A task that a person or an update stopped did not fail. */
#include "client/task_failure.h"
#include "base/str.h"
#include "cli/exit.h"
#include "job/event.h"
#include "terminal/format.h"
#include "terminal/story.h"

#include <stdio.h>
#include <string.h>

#define FAILURE_TEXT (256 * KIB)

struct failure_search {
    const char *role;
    int64_t since;
    json_t *last;
};

static bool failure_is_sought(const struct failure_search *s, const json_t *v)
{
    char role[TASK_FAILURE_ROLE];
    enum fail_class cls = FAIL_NONE;

    (void)fail_from_key(format_text(v, "class"), &cls);
    return str_eq(format_text(v, "event"), event_name(EVENT_FAILURE)) && cls != FAIL_PERSON &&
           json_int_or(v, "t", 0) >= s->since &&
           (!s->role || str_eq(task_failure_role(v, role), s->role));
}

/* What is not a failure is not parsed. */
static int failure_on_line(void *arg, const char *line, size_t n)
{
    static const char mark[] = "\"event\":\"failure\"";
    struct failure_search *s = arg;
    AUTO_JSON *v = NULL;

    if (!memmem(line, n < 96 ? n : 96, mark, strlen(mark)) ||
        json_parse("an event", line, n, &v, NULL) < 0 || !failure_is_sought(s, v))
        return 0;
    json_decref(s->last);
    s->last = take(v);
    return 0;
}

json_t *task_failure_last(struct client *c, const char *role, int64_t since)
{
    struct failure_search s = { .role = role, .since = since };

    (void)client_events(c, false, failure_on_line, &s, NULL);
    return s.last;
}

const char *task_failure_role(const json_t *failure, char out[TASK_FAILURE_ROLE])
{
    const char *task = format_text(failure, "task");

    (void)snprintf(out, TASK_FAILURE_ROLE, "%.*s", (int)strcspn(task, ":"), task);
    return out;
}

/* "    a:0: ended with exit code 1", and the lines. */
static int failure_text(const json_t *failure, struct buf *out)
{
    AUTO_JSON *status = json_pack("{s:O}", "story", failure);
    int r = status ? buf_add_str(out, "    ") : -ENOMEM;

    if (r == 0)
        r = story_cause(status, out);
    if (r == 0)
        r = buf_add_u8(out, '\n');
    return r < 0 ? r : story_lines(format_text(failure, "lines"), TASK_FAILURE_LINES, out);
}

static json_t *failure_members(const json_t *failure)
{
    static const char *const keys[] = { "task", "class", "code", "signal", "text", "lines" };
    AUTO_JSON *cause = json_object();
    json_t *v;

    for (size_t i = 0; cause && i < COUNT_OF(keys); i++)
        if ((v = json_object_get(failure, keys[i])) && json_object_set(cause, keys[i], v) < 0)
            return NULL;
    return cause ? json_pack("{s:O}", "cause", cause) : NULL;
}

int task_failure_report(int result, const struct err *err, const json_t *failure, bool json)
{
    AUTO_BUF text = { .max = FAILURE_TEXT };
    AUTO_JSON *members = failure ? failure_members(failure) : NULL;
    struct exit_more more = { .members = members };

    if (failure && failure_text(failure, &text) == 0)
        more.lines = buf_text(&text);
    return exit_report_more("ydl", result, err, json, &more);
}
