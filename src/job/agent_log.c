/* agent_log.c - an array sorted by the agents' numbers; numbers only grow, so adding is
 * appending, and forgetting keeps the order. See agent_log.h. */
#include "job/agent_log.h"
#include "base/array.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX (1 << 24)
#define FEW 64 /* not worth a look */

static void logged_done(struct logged_agent *a)
{
    free(a->container);
    free(a->node);
    free(a->host);
}

void agent_log_done(struct agent_log *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        logged_done(&l->v[i]);
    free(l->v);
    *l = (struct agent_log){ 0 };
}

/* Where it is, or would be. */
static uint32_t agent_log_find_place(const struct agent_log *l, uint32_t number)
{
    uint32_t from = 0, to = l->n;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (l->v[mid].number < number)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

struct logged_agent *agent_log_find(const struct agent_log *l, int64_t number)
{
    uint32_t at =
        number >= 0 && number <= NUMBER_MAX ? agent_log_find_place(l, (uint32_t)number) : l->n;

    return at < l->n && l->v[at].number == number ? &l->v[at] : NULL;
}

static struct logged_agent *agent_log_get(struct agent_log *l, uint32_t number)
{
    uint32_t at = agent_log_find_place(l, number);

    if (at < l->n && l->v[at].number == number)
        return &l->v[at];
    if (ARRAY_INSERT(l->v, l->n, at, (struct logged_agent){ .number = number }) < 0)
        return NULL;
    return &l->v[at];
}

static int keep_text(char **to, const char *text)
{
    char *copy;

    if (*to && (!text || str_eq(*to, text)))
        return 0;
    copy = strdup(text ? text : "");
    if (!copy)
        return -ENOMEM;
    free(*to);
    *to = copy;
    return 0;
}

int agent_log_add(struct agent_log *l, const json_t *record)
{
    const char *container = json_string_value(json_object_get(record, "container"));
    const char *state = json_string_value(json_object_get(record, "state"));
    const json_t *number = json_object_get(record, "agent");
    struct logged_agent *a;

    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) > NUMBER_MAX)
        return 0;
    a = agent_log_get(l, (uint32_t)json_integer_value(number));
    if (!a)
        return -ENOMEM;
    a->lost = str_eq(state, "lost");
    a->saved = str_eq(state, "saved");
    a->leaving = str_eq(state, "leaving");
    a->idle = false;
    if (keep_text(&a->container, container && *container ? container : NULL) < 0 ||
        keep_text(&a->node, json_string_value(json_object_get(record, "node"))) < 0 ||
        keep_text(&a->host, json_string_value(json_object_get(record, "host"))) < 0)
        return -ENOMEM;
    return 0;
}

bool agent_log_is_long(const struct agent_log *l)
{
    return l->n > 2 * l->kept + FEW;
}

void agent_log_forget(struct agent_log *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n; i++) {
        struct logged_agent *a = &l->v[i];

        if (!a->used && (a->lost || a->idle)) {
            logged_done(a);
            continue;
        }
        a->idle = !a->used;
        a->used = false;
        if (n != i)
            l->v[n] = *a;
        n++;
    }
    l->n = l->kept = n;
}
