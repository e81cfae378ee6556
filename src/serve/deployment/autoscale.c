/* autoscale.c - the rule, what is remembered of the load, and the decision. See autoscale.h. */
#include "serve/deployment/autoscale.h"
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"

#include <stdio.h>
#include <string.h>

#define UP_MS 2000     /* the time whose average counts for more replicas */
#define KNOWN_MS 1000  /* of it must have been seen */
#define GAP_MS 5000    /* between two looks: what was before is forgotten */
#define START_MS 30000 /* replicas of the last step that take longer are not waited for */
#define STEP 4         /* replicas at a time, if that is more than there are */

/* ---- the rule ---- */

static int autoscale_number(const json_t *rule, const char *key, int64_t least, int64_t most,
                            int64_t *ret, struct err *err)
{
    const json_t *v = json_object_get(rule, key);

    *ret = json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
    return *ret >= least && *ret <= most
               ? 0
               : err_set(err, -EINVAL, "the '%s' of autoscaling is not a number from %lld to %lld",
                         key, (long long)least, (long long)most);
}

int autoscale_parse(const json_t *rule, struct autoscale *ret, struct err *err)
{
    int64_t target, min, max, cool;
    int r = autoscale_number(rule, "target", 1, AUTOSCALE_TARGET_MAX, &target, err);

    if (r == 0)
        r = autoscale_number(rule, "max", 1, DEPLOYMENT_REPLICAS, &max, err);
    if (r == 0)
        r = autoscale_number(rule, "min", 1, max, &min, err);
    if (r == 0)
        r = autoscale_number(rule, "cool_down", 1000, AUTOSCALE_COOL_DOWN_MAX_MS, &cool, err);
    if (r == 0)
        *ret = (struct autoscale){ (unsigned)target, (unsigned)min, (unsigned)max, cool };
    return r;
}

bool autoscale_of(const json_t *model, struct autoscale *ret)
{
    const json_t *rule = json_object_get(model, "autoscale");

    return rule && autoscale_parse(rule, ret, NULL) == 0;
}

json_t *autoscale_json(const struct autoscale *rule)
{
    return json_pack("{s:i, s:i, s:i, s:I}", "target", (int)rule->target, "min", (int)rule->min,
                     "max", (int)rule->max, "cool_down", (json_int_t)rule->cool_down);
}

/* ---- the load ---- */

/* "a-3" */
static void autoscale_add_ready(const json_t *replica, struct autoscale_ready *ret)
{
    const char *name = json_string_value(json_object_get(replica, "name"));
    const char *dash = name ? strrchr(name, '-') : NULL;
    int64_t index = 0;

    if (!str_eq(json_string_value(json_object_get(replica, "state")), "ready"))
        return;
    ret->n++;
    if (dash && str_to_i64(dash + 1, 0, DEPLOYMENT_REPLICAS - 1, &index) == 0)
        ret->is[index] = true;
}

static int64_t autoscale_in_flight(const json_t *version, struct autoscale_ready *ret)
{
    const json_t *replicas = json_object_get(version, "replicas"), *one;
    int64_t sum = json_int_or(version, "waiting", 0);
    size_t i;

    json_array_foreach(replicas, i, one)
    {
        const json_t *n = json_object_get(one, "in_flight");

        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return -1;
        sum += (int64_t)json_integer_value(n);
        autoscale_add_ready(one, ret);
    }
    return sum;
}

/* With no replica that is ready requests are refused, and there is nothing to count. */
int64_t autoscale_load(const json_t *model, const json_t *report, struct autoscale_ready *ret)
{
    int64_t serve = json_int_or(model, "serve", 0), load;
    const json_t *version = deployment_version(report, serve);

    *ret = (struct autoscale_ready){ 0 };
    if (!version || json_int_or(report, "serves", 0) != serve)
        return -1;
    load = autoscale_in_flight(version, ret);
    return ret->n > 0 ? load : -1;
}

/* ---- what is remembered ---- */

static int64_t autoscale_part(const struct autoscale *rule)
{
    return rule->cool_down / AUTOSCALE_PARTS > 0 ? rule->cool_down / AUTOSCALE_PARTS : 1;
}

/* The highest load of a cool-down in parts of it, each with its own maximum, as a ring: there is
 * one part more than a cool-down has, as the oldest lies in it only with its end. So a load is
 * remembered for up to a twelfth longer than the rule says, never shorter.
 *
 * After a gap nothing is known of the time before: the memory begins anew, and `since` keeps
 * replicas from being taken away before a whole cool-down was seen. */
static void autoscale_remember(const struct autoscale *rule, struct autoscale_memory *m,
                               const struct autoscale_seen *seen)
{
    int64_t part = seen->now / autoscale_part(rule);
    size_t at = (size_t)(part % (AUTOSCALE_PARTS + 1));

    if (m->n == 0 || seen->now < m->last || seen->now - m->last > GAP_MS ||
        m->cool_down != rule->cool_down)
        *m = (struct autoscale_memory){ .since = seen->now,
                                        .cool_down = rule->cool_down,
                                        .replicas = m->replicas,
                                        .changed = m->changed };
    m->last = seen->now;
    if (seen->partial)
        m->since = seen->now;
    if (m->replicas != seen->replicas) {
        m->replicas = seen->replicas;
        m->changed = seen->now;
    }
    m->recent[m->n % AUTOSCALE_RECENT].at = seen->now;
    m->recent[m->n % AUTOSCALE_RECENT].load = seen->load;
    m->n++;
    if (m->parts[at].part != part) {
        m->parts[at].part = part;
        m->parts[at].most = 0;
    }
    if (seen->load > m->parts[at].most)
        m->parts[at].most = seen->load;
}

/* The average of the last two seconds in hundredths; -1: too little of them was seen. */
static int64_t autoscale_mean(const struct autoscale_memory *m, int64_t now)
{
    int64_t sum = 0, n = 0, first = now;

    for (size_t i = 0; i < AUTOSCALE_RECENT && i < m->n; i++) {
        if (m->recent[i].at < now - UP_MS)
            continue;
        sum += m->recent[i].load * 100;
        n++;
        if (m->recent[i].at < first)
            first = m->recent[i].at;
    }
    return now - first >= KNOWN_MS ? sum / n : -1;
}

static int64_t autoscale_most(const struct autoscale *rule, const struct autoscale_memory *m,
                              int64_t now)
{
    int64_t oldest = now / autoscale_part(rule) - AUTOSCALE_PARTS, most = 0;

    for (size_t i = 0; i < COUNT_OF(m->parts); i++)
        if (m->parts[i].part >= oldest && m->parts[i].most > most)
            most = m->parts[i].most;
    return most;
}

/* ---- the decision ---- */

static unsigned autoscale_within(const struct autoscale *rule, int64_t n)
{
    return n < rule->min ? rule->min : n > rule->max ? rule->max : (unsigned)n;
}

static int64_t autoscale_for(const struct autoscale *rule, int64_t load)
{
    return (load + rule->target - 1) / rule->target;
}

/* What the last two looks have in common: how high a load is that has just begun. */
static int64_t autoscale_latest(const struct autoscale_memory *m)
{
    int64_t one = m->recent[(m->n - 1) % AUTOSCALE_RECENT].load;
    int64_t other = m->n > 1 ? m->recent[(m->n - 2) % AUTOSCALE_RECENT].load : 0;

    return one < other ? one : other;
}

/* `mean` is in hundredths, so that 110 is 1.1 times the target. It decides whether, over two
 * seconds; how many is decided by the lower of the last two looks, as a mean that a load has only
 * begun to lift is too low, and would ask for a second step a moment later. */
static unsigned autoscale_up(const struct autoscale *rule, const struct autoscale_memory *m,
                             const struct autoscale_seen *seen, char why[AUTOSCALE_WHY])
{
    int64_t mean = autoscale_mean(m, seen->now), load = autoscale_latest(m), now = seen->replicas;
    int64_t step = now > STEP ? 2 * now : now + STEP, wanted = autoscale_for(rule, load);
    bool starting = seen->ready.n < seen->replicas && seen->now - m->changed < START_MS;

    if (mean < 0 || starting || mean <= now * rule->target * 110)
        return seen->replicas;
    wanted = autoscale_within(rule, wanted < step ? wanted : step);
    (void)snprintf(why, AUTOSCALE_WHY, "%lld request%s in flight, and %u for each replica wanted",
                   (long long)load, load == 1 ? "" : "s", rule->target);
    return wanted > seen->replicas ? (unsigned)wanted : seen->replicas;
}

/* The last ones go: `wanted` of those that stay have to be ready. */
static unsigned autoscale_keep(const struct autoscale_seen *seen, unsigned wanted)
{
    unsigned ready = 0, n = 0;

    while (n < seen->replicas && n < DEPLOYMENT_REPLICAS && ready < wanted)
        ready += seen->ready.is[n++];
    return ready < wanted ? seen->replicas : n;
}

static unsigned autoscale_down(const struct autoscale *rule, const struct autoscale_memory *m,
                               const struct autoscale_seen *seen, char why[AUTOSCALE_WHY])
{
    int64_t most = autoscale_most(rule, m, seen->now);
    unsigned wanted = autoscale_keep(seen, autoscale_within(rule, autoscale_for(rule, most)));

    if (seen->now - m->since < rule->cool_down || seen->now - m->changed < rule->cool_down ||
        wanted >= seen->replicas)
        return seen->replicas;
    (void)snprintf(why, AUTOSCALE_WHY, "at most %lld request%s in flight for %.3g seconds",
                   (long long)most, most == 1 ? "" : "s", (double)rule->cool_down / 1000);
    return wanted;
}

unsigned autoscale_look(const struct autoscale *rule, struct autoscale_memory *m,
                        const struct autoscale_seen *seen, char why[AUTOSCALE_WHY])
{
    unsigned n;

    *why = '\0';
    if (seen->replicas == 0)
        return 0;
    n = autoscale_within(rule, seen->replicas);
    if (n != seen->replicas) {
        (void)snprintf(why, AUTOSCALE_WHY, "from %u to %u are allowed", rule->min, rule->max);
        return n;
    }
    if (seen->load < 0)
        return seen->replicas;
    autoscale_remember(rule, m, seen);
    n = autoscale_up(rule, m, seen, why);
    return n != seen->replicas ? n : autoscale_down(rule, m, seen, why);
}
