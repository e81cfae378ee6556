/* deployment_story.c - updates are asked for, their versions become ready, are kept or given up,
 * and end; replicas move. See deployment_story.h. */
#include "serve/deployment/deployment_story.h"
#include "base/str.h"
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"

#include <stdarg.h>
#include <stdio.h>

#define ALL_PERCENT 100

struct story {
    const char *name; /* of the model */
    int (*fn)(void *arg, const char *text);
    void *arg;
};

static int story_say(const struct story *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reasons and names are anybody's words. */
static int story_say(const struct story *s, const char *fmt, ...)
{
    char text[STORY_MAX], clean[STORY_MAX];
    va_list ap;
    int n = snprintf(text, sizeof(text), "%s: ", s->name);

    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    (void)str_clean(clean, sizeof(clean), text);
    return s->fn(s->arg, clean);
}

static const char *story_text(const json_t *v, const char *key)
{
    const char *text = json_string_value(json_object_get(v, key));

    return text ? text : "";
}

static long long number(const json_t *v, const char *key)
{
    return (long long)json_int_or(v, key, 0);
}

static double share(const json_t *update)
{
    const json_t *percent = json_object_get(update, "percent");

    return json_is_number(percent) ? json_number_value(percent) : ALL_PERCENT;
}

static int say_asked(const struct story *s, const json_t *before, const json_t *update)
{
    const char *by = story_text(update, "by");
    bool back = number(update, "to") == number(before, "previous");
    char first[64] = "";

    if (share(update) < ALL_PERCENT)
        (void)snprintf(first, sizeof(first), ", first with %.4g %% of the requests", share(update));
    return story_say(s, "%s from version %lld to %lld asked for%s%s%s",
                     back ? "rollback" : "update", number(update, "from"), number(update, "to"),
                     *by ? " by " : "", by, first);
}

static int say_ready(const struct story *s, const json_t *update)
{
    char part[40] = "all requests";

    if (share(update) < ALL_PERCENT)
        (void)snprintf(part, sizeof(part), "%.4g %% of the requests", share(update));
    return story_say(s, "version %lld is ready (%s) and gets %s", number(update, "to"),
                     story_text(update, "why"), part);
}

static int say_decided(const struct story *s, const json_t *update)
{
    if (str_eq(story_text(update, "result"), "done"))
        return story_say(s, "version %lld %s: %s", number(update, "to"),
                         share(update) < ALL_PERCENT ? "gets all requests" : "is kept",
                         story_text(update, "why"));
    return story_say(s, "version %lld is given up, version %lld gets all requests: %s",
                     number(update, "to"), number(update, "from"), story_text(update, "why"));
}

static int say_ended(const struct story *s, const json_t *last)
{
    bool done = str_eq(story_text(last, "result"), "done");

    return story_say(s,
                     "update from version %lld to %lld %s: version %lld serves, the replicas of "
                     "version %lld are stopped",
                     number(last, "from"), number(last, "to"), done ? "finished" : "returned",
                     number(last, done ? "to" : "from"), number(last, done ? "from" : "to"));
}

/* Of an alias that named a version which cannot be served. */
static int say_refused(const struct story *s, const json_t *last)
{
    return story_say(s, "version %lld is refused: %s", number(last, "to"), story_text(last, "why"));
}

/* By its load. What somebody asks for is in the events anyway, as the job's own. */
static int say_scaled(const struct story *s, const json_t *before, const json_t *after)
{
    const json_t *scaled = json_object_get(after, "scaled");

    if (!scaled || json_equal(scaled, json_object_get(before, "scaled")))
        return 0;
    return story_say(s, "scaled from %lld to %lld replicas: %s", number(before, "replicas"),
                     number(after, "replicas"), story_text(scaled, "why"));
}

/* The same start of the same replica in the other plan. */
static const json_t *same_move(const json_t *model, const json_t *replica)
{
    const json_t *list = json_object_get(json_object_get(model, "moving"), "replicas"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (number(one, "index") == number(replica, "index") &&
            number(one, "attempt") == number(replica, "attempt"))
            return one;
    }
    return NULL;
}

static int say_move(const struct story *s, const char *group, const json_t *old, const json_t *now)
{
    const char *phase = story_text(now, "phase");
    bool taken = str_eq(story_text(now, "why"), "container");
    long long index = number(now, "index");
    char why[MOVE_WHY];

    if (!old || !str_eq(story_text(old, "why"), story_text(now, "why")))
        return story_say(s, "%s-%lld is to move: %s%s", group, index, deployment_move_why(now, why),
                         taken ? "" : "; another replica is started first");
    if (str_eq(story_text(old, "phase"), phase))
        return 0;
    if (str_eq(phase, "draining"))
        return story_say(s, "%s-%lld gets no more requests: %s", group, index,
                         taken ? "others are ready"
                               : "as many others as there should be are ready");
    return story_say(s, "%s-%lld has answered what it had, and is started elsewhere", group, index);
}

static int story_of_moves(const struct story *s, const json_t *before, const json_t *after)
{
    const json_t *old = json_object_get(json_object_get(before, "moving"), "replicas");
    const json_t *now = json_object_get(json_object_get(after, "moving"), "replicas"), *one;
    const char *group =
        story_text(deployment_version(after, json_int_or(after, "serve", 0)), "group");
    size_t i;
    int r = 0;

    json_array_foreach(now, i, one)
    {
        if (r == 0)
            r = say_move(s, group, same_move(before, one), one);
    }
    json_array_foreach(old, i, one)
    {
        if (r != 0 || same_move(after, one))
            continue;
        if (str_eq(story_text(one, "phase"), "stopping"))
            r = story_say(s, "%s-%lld has moved", group, number(one, "index"));
        else
            r = story_say(s, "%s-%lld is not moved any more: it may stay, or has ended", group,
                          number(one, "index"));
    }
    return r;
}

static bool is_same_update(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "began"), json_object_get(b, "began")) &&
           json_equal(json_object_get(a, "to"), json_object_get(b, "to"));
}

/* By what differs between two plans, since that is all that is known: a change that is made again
 * by a controller that was started in between differs in nothing, and is not told twice. */
static int story_of_model(const struct story *s, const json_t *before, const json_t *after)
{
    const json_t *old = json_object_get(before, "update"), *now = json_object_get(after, "update");
    const json_t *last = json_object_get(after, "last");
    enum update_phase phase = deployment_update_phase(after);
    bool same = old && now && is_same_update(old, now);
    int r = say_scaled(s, before, after);

    if (r == 0)
        r = story_of_moves(s, before, after);
    if (r != 0)
        return r;
    if (old && !same)
        r = say_ended(s, last);
    else if (!old && last && !json_equal(last, json_object_get(before, "last")) &&
             str_eq(story_text(last, "result"), "refused"))
        r = say_refused(s, last);
    if (r == 0 && now && !same)
        r = say_asked(s, before, now);
    if (r != 0 || !same || phase == deployment_update_phase(before))
        return r;
    return phase == UPDATE_WATCHING  ? say_ready(s, now)
           : phase == UPDATE_ROUTING ? say_decided(s, now)
                                     : 0;
}

int deployment_story(const json_t *before, const json_t *after,
                     int (*fn)(void *arg, const char *text), void *arg)
{
    const json_t *models = json_object_get(after, "models"), *m;
    size_t i;
    int r = 0;

    json_array_foreach(models, i, m)
    {
        const struct story s = { .name = story_text(m, "name"), .fn = fn, .arg = arg };
        const json_t *old = deployment_model(before, s.name);

        if (r == 0 && old)
            r = story_of_model(&s, old, m);
    }
    return r;
}
