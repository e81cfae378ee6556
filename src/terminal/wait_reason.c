/* wait_reason.c - one table from states to words. It is printed rarely: after a while, and less
 * often the longer the wait. See wait_reason.h. */
#include "terminal/wait_reason.h"
#include "base/str.h"
#include "terminal/format.h"

/* What the job does, by its state; NULL: nothing is to be said. */
static const struct {
    const char *state, *text;
    bool when_all_run; /* a line also when no task is on its way */
} states[] = {
    { "", "waiting for the job's master to start", true },
    { "NEW", "waiting for the job's master to start", true },
    { "ASKING", "waiting for containers", true },
    { "FORMING", "preparing nodes", true },
    { "RUNNING", "starting tasks", false },
    { "FINISHING", "ending", true },
};

/* Is a task of the role on its way, neither running nor done? */
static bool on_its_way(const json_t *role)
{
    static const char *const settled[] = { "RUNNING", "DONE", "FAILED" };
    const json_t *counts = json_object_get(role, "states");
    int64_t n = 0, all = 0;
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)counts, key, value) all += json_integer_value(value);
    for (size_t i = 0; i < COUNT_OF(settled); i++)
        n += json_int_or(counts, settled[i], 0);
    return n < all;
}

static bool any_on_its_way(const json_t *roles)
{
    const json_t *role;
    size_t i;

    json_array_foreach(roles, i, role) if (on_its_way(role)) return true;
    return false;
}

static int waiting_add_roles(const json_t *roles, struct buf *out)
{
    const json_t *role;
    size_t i;
    int r = 0;

    json_array_foreach(roles, i, role)
    {
        if (r == 0)
            r = format_print(out, "%s%s ", i ? "; " : ": ", format_text(role, "name"));
        if (r == 0)
            r = format_states(json_object_get(role, "states"), out);
    }
    return r;
}

int waiting_line(const json_t *status, int64_t waited, struct buf *out)
{
    const json_t *roles = json_object_get(status, "roles");
    const char *state = format_text(status, "state"), *why = format_text(status, "waiting");
    char span[FORMAT_SPAN];
    size_t i = 0;
    int r;

    while (i < COUNT_OF(states) && !str_eq(states[i].state, state))
        i++;
    if (i == COUNT_OF(states) || (!states[i].when_all_run && !any_on_its_way(roles)))
        return 0;
    r = buf_add_str(out, states[i].text);
    if (r == 0)
        r = waiting_add_roles(roles, out);
    if (r == 0 && *why)
        r = format_print(out, "; %s", why);
    return r < 0 ? r : buf_printf(out, " (%s)", format_span(waited, span));
}

int64_t waiting_due(int64_t since, int64_t last)
{
    if (last == 0)
        return since + WAITING_MS;
    return last + (last - since < WAITING_PATIENT_MS ? WAITING_MS : WAITING_LONG_MS);
}
