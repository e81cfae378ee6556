/* event_text.c - a row of templates for each kind of record. A kind that this ydl does not know is
 * shown as its JSON. What a record says may be anybody's words: the whole sentence is cleaned. See
 * event_text.h. */
#include "terminal/event_text.h"
#include "base/str.h"
#include "cli/doc.h"
#include "job/event.h"
#include "terminal/format.h"
#include "terminal/story.h"

/* " (KEY VALUE, …)" for the keys that the record has. */
static int put_keys(const json_t *v, const char *const *keys, struct buf *out)
{
    bool any = false;
    int r = 0;

    for (; r == 0 && *keys; keys++) {
        const json_t *x = json_object_get(v, *keys);
        AUTO_FREE char *made = NULL;

        if (!x || json_is_null(x) || (json_is_array(x) && json_array_size(x) == 0))
            continue;
        made = json_is_string(x) ? NULL : json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!made && !json_is_string(x))
            return -ENOMEM;
        r = buf_printf(out, "%s%s %s", any ? ", " : " (", *keys,
                       made ? made : json_string_value(x));
        any = true;
    }
    return r == 0 && any ? buf_add_str(out, ")") : r;
}

static int put_cause(const json_t *v, struct buf *out)
{
    AUTO_JSON *status = NULL;
    int r = json_make(&status, NULL, "{s:O}", "story", v);

    return r < 0 ? r : story_cause(status, out);
}

/* Of its many lines only the first is for people. */
static int put_summary(const json_t *v, struct buf *out)
{
    static const char text[] =
        "a new master took over; earlier events are shown after the job has ended";

    return str_eq(format_text(v, "what"), "job") ? buf_add_str(out, text) : 0;
}

#define MORE_KEYS 8

/* Templates of cli/doc.h, in this order. */
static const struct words {
    const char *head, *otherwise; /* where `head` lacks a value; NULL: what there is of it */
    const char *more;             /* only with its value */
    int (*put)(const json_t *v, struct buf *out);
    const char *keys[MORE_KEYS];
    const char *tail; /* as `more` */
} kinds[EVENT_KINDS_] = {
    [EVENT_JOB] = { "job {state|lower}", .more = ": {reason}" },
    [EVENT_TASK] = { "{task} {state|lower}",
                     .keys = { "node", "pid", "ports", "agent", "attempt", "class", "code" } },
    [EVENT_FAILURE] = { "failure: ", .put = put_cause },
    [EVENT_STORY] = { "story: ", .put = put_cause },
    [EVENT_RESTART] = { "restart of {task}", "restart of all tasks",
                        .keys = { "attempt", "generation", "used", "max", "delay", "reason" } },
    [EVENT_GANG] = { "gang {have} of {want}", .more = ": {reason}" },
    [EVENT_AGENT] = { "agent {agent} {state|lower}",
                      .keys = { "node", "host", "container", "reason" } },
    [EVENT_REQUEST] = { "request", .more = ": {what}", .keys = { "task", "role", "count" },
                        .tail = " by {who}" },
    [EVENT_PROGRESS] = { "{task} ", .put = format_progress, .keys = { "metrics" } },
    [EVENT_READY] = { "{task} is ready" },
    [EVENT_NOTE] = { "{level}", .more = ": {text}" },
    [EVENT_TASK_NOTE] = { "{task}", .more = ": {text}" },
    [EVENT_END] = { "end: {state|lower}", .keys = { "exit", "whose", "text" } },
    [EVENT_MASTER] = { "master, attempt {attempt}", .keys = { "address" } },
    [EVENT_CONTAINER] = { "container of {task} {state|lower}", .keys = { "class" } },
    [EVENT_PHASE] = { "phase", .more = ": {name}", .keys = { "who" } },
    [EVENT_SUMMARY] = { "", .put = put_summary },
};

/* A template, or what stands for it when a value is missing: NULL is nothing. */
static int put_part(const json_t *v, const char *template, const char *otherwise, struct buf *out)
{
    size_t before = out->len;
    int r = template ? doc_text(v, template, out) : 1;

    if (r != 0 || !otherwise)
        return r < 0 ? r : 0;
    out->len = before;
    return buf_add_str(out, otherwise);
}

static int put_words(const json_t *v, const struct words *w, struct buf *out)
{
    int r = put_part(v, w->head, w->otherwise, out);

    if (r == 0)
        r = put_part(v, w->more, "", out);
    if (r == 0 && w->put)
        r = w->put(v, out);
    if (r == 0)
        r = put_keys(v, w->keys, out);
    return r < 0 ? r : put_part(v, w->tail, "", out);
}

int event_words(const json_t *record, struct buf *out)
{
    const char *name = format_text(record, "event");
    AUTO_BUF words = { .max = MIB };
    AUTO_FREE char *text = NULL;

    for (int i = 0; i < EVENT_KINDS_; i++)
        if (kinds[i].head && str_eq(event_name((enum event_kind)i), name))
            return put_words(record, &kinds[i], &words) < 0 || !buf_text(&words)
                       ? -ENOMEM
                       : format_clean(out, buf_text(&words));
    text = json_dumps(record, JSON_COMPACT);
    return text ? format_clean(out, text) : -ENOMEM;
}
