/* event_text.c - a table with one function for each kind of record. A kind that this ydl does not
 * know is shown as its JSON. See event_text.h. */
#include "terminal/event_text.h"
#include "base/str.h"
#include "job/event.h"
#include "terminal/format.h"
#include "terminal/story.h"

#include <stdio.h>
#include <string.h>

/* " (KEY VALUE, …)" for the keys that the record has. */
static int put_keys(const json_t *v, const char *const *keys, struct buf *out)
{
    bool any = false;
    int r = 0;

    for (; r == 0 && *keys; keys++) {
        const json_t *x = json_object_get(v, *keys);
        AUTO_FREE char *text = NULL;

        if (!x || json_is_null(x) || (json_is_array(x) && json_array_size(x) == 0))
            continue;
        text = json_is_string(x) ? strdup(json_string_value(x))
                                 : json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!text)
            return -ENOMEM;
        r = buf_printf(out, "%s%s ", any ? ", " : " (", *keys);
        if (r == 0)
            r = format_clean(out, text);
        any = true;
    }
    return r == 0 && any ? buf_add_str(out, ")") : r;
}

static int put_lower(const char *s, struct buf *out)
{
    char lower[32];

    return format_clean(out, format_lower(s, lower, sizeof(lower)));
}

/* "head: text", or one of them. */
static int put_pair(const char *head, const char *text, struct buf *out)
{
    int r = format_clean(out, head);

    if (r == 0 && *head && *text)
        r = buf_add_str(out, ": ");
    return r < 0 ? r : format_clean(out, text);
}

static int event_text_on_job(const json_t *v, struct buf *out)
{
    int r = buf_add_str(out, "job ");

    if (r == 0)
        r = put_lower(format_text(v, "state"), out);
    if (r == 0 && *format_text(v, "reason"))
        r = buf_add_str(out, ": ");
    return r < 0 ? r : format_clean(out, format_text(v, "reason"));
}

static int event_text_on_task(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "node",    "pid",   "ports", "agent",
                                        "attempt", "class", "code",  NULL };
    int r = format_clean(out, format_text(v, "task"));

    if (r == 0)
        r = buf_add_str(out, " ");
    if (r == 0)
        r = put_lower(format_text(v, "state"), out);
    return r < 0 ? r : put_keys(v, keys, out);
}

static int event_text_on_failure(const json_t *v, struct buf *out)
{
    AUTO_JSON *status = NULL;
    int r = json_make(&status, NULL, "{s:O}", "story", v);

    if (r == 0)
        r = buf_add_str(out, str_eq(format_text(v, "event"), "story") ? "story: " : "failure: ");
    return r < 0 ? r : story_cause(status, out);
}

static int event_text_on_restart(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "attempt", "generation", "used", "max",
                                        "delay",   "reason",     NULL };
    const char *task = format_text(v, "task");
    int r = buf_add_str(out, "restart of ");

    if (r == 0)
        r = format_clean(out, *task ? task : "all tasks");
    return r < 0 ? r : put_keys(v, keys, out);
}

static int event_text_on_gang(const json_t *v, struct buf *out)
{
    int r = buf_printf(out, "gang %lld of %lld", (long long)json_int_or(v, "have", 0),
                       (long long)json_int_or(v, "want", 0));

    if (r == 0 && *format_text(v, "reason"))
        r = buf_add_str(out, ": ");
    return r < 0 ? r : format_clean(out, format_text(v, "reason"));
}

static int event_text_on_agent(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "node", "host", "container", "reason", NULL };
    int r = buf_printf(out, "agent %lld ", (long long)json_int_or(v, "agent", 0));

    if (r == 0)
        r = put_lower(format_text(v, "state"), out);
    return r < 0 ? r : put_keys(v, keys, out);
}

static int on_master(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "address", NULL };
    int r = buf_printf(out, "master, attempt %lld", (long long)json_int_or(v, "attempt", 1));

    return r < 0 ? r : put_keys(v, keys, out);
}

static int on_container(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "class", NULL };
    int r = buf_add_str(out, "container of ");

    if (r == 0)
        r = format_clean(out, format_text(v, "task"));
    if (r == 0)
        r = buf_add_str(out, " ");
    if (r == 0)
        r = put_lower(format_text(v, "state"), out);
    return r < 0 ? r : put_keys(v, keys, out);
}

static int event_text_on_request(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "task", "role", "count", NULL };
    int r = put_pair("request", format_text(v, "what"), out);

    if (r == 0)
        r = put_keys(v, keys, out);
    if (r == 0 && *format_text(v, "who"))
        r = buf_add_str(out, " by ");
    return r < 0 ? r : format_clean(out, format_text(v, "who"));
}

static int event_text_on_progress(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "metrics", NULL };
    int r = format_clean(out, format_text(v, "task"));

    if (r == 0)
        r = buf_add_str(out, " ");
    if (r == 0)
        r = format_progress(v, out);
    return r < 0 ? r : put_keys(v, keys, out);
}

static int event_text_on_ready(const json_t *v, struct buf *out)
{
    int r = format_clean(out, format_text(v, "task"));

    return r < 0 ? r : buf_add_str(out, " is ready");
}

static int event_text_on_note(const json_t *v, struct buf *out)
{
    return put_pair(format_text(v, "level"), format_text(v, "text"), out);
}

static int event_text_on_end(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "exit", "whose", "text", NULL };
    int r = buf_add_str(out, "end: ");

    if (r == 0)
        r = put_lower(format_text(v, "state"), out);
    return r < 0 ? r : put_keys(v, keys, out);
}

static int event_text_on_phase(const json_t *v, struct buf *out)
{
    static const char *const keys[] = { "who", NULL };
    int r = put_pair("phase", format_text(v, "name"), out);

    return r < 0 ? r : put_keys(v, keys, out);
}

/* Of its many lines only the first is for people. */
static int event_text_on_summary(const json_t *v, struct buf *out)
{
    return str_eq(format_text(v, "what"), "job")
               ? buf_add_str(
                     out,
                     "a new master took over; earlier events are shown after the job has ended")
               : 0;
}

static int (*const kinds[EVENT_KINDS_])(const json_t *v, struct buf *out) = {
    [EVENT_JOB] = event_text_on_job,
    [EVENT_TASK] = event_text_on_task,
    [EVENT_FAILURE] = event_text_on_failure,
    [EVENT_RESTART] = event_text_on_restart,
    [EVENT_GANG] = event_text_on_gang,
    [EVENT_AGENT] = event_text_on_agent,
    [EVENT_REQUEST] = event_text_on_request,
    [EVENT_PROGRESS] = event_text_on_progress,
    [EVENT_READY] = event_text_on_ready,
    [EVENT_NOTE] = event_text_on_note,
    [EVENT_STORY] = event_text_on_failure,
    [EVENT_END] = event_text_on_end,
    [EVENT_MASTER] = on_master,
    [EVENT_CONTAINER] = on_container,
    [EVENT_PHASE] = event_text_on_phase,
    [EVENT_SUMMARY] = event_text_on_summary,
};

int event_words(const json_t *record, struct buf *out)
{
    const char *name = format_text(record, "event");
    AUTO_FREE char *text = NULL;

    for (int i = 0; i < EVENT_KINDS_; i++)
        if (kinds[i] && str_eq(event_name((enum event_kind)i), name))
            return kinds[i](record, out);
    text = json_dumps(record, JSON_COMPACT);
    return text ? format_clean(out, text) : -ENOMEM;
}
