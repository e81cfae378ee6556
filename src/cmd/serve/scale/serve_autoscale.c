/* serve_autoscale.c - one text for the rule, as an option takes it, and one for its state. See
 * serve_autoscale.h. */
#include "cmd/serve/scale/serve_autoscale.h"
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"
#include "terminal/format.h"

#include <string.h>

/* "1-8"; a number alone is the most. */
static int autoscale_range(const char *text, struct autoscale *ret)
{
    AUTO_FREE char *min = strdup(text);
    char *max = min ? strchr(min, '-') : NULL;
    int64_t a = 1, b = 0;

    if (!min)
        return -ENOMEM;
    if (max)
        *max++ = '\0';
    if ((max && str_to_i64(min, 1, DEPLOYMENT_REPLICAS, &a) < 0) ||
        str_to_i64(max ? max : min, a, DEPLOYMENT_REPLICAS, &b) < 0)
        return -EINVAL;
    ret->min = (unsigned)a;
    ret->max = (unsigned)b;
    return 0;
}

static int autoscale_part(const char *text, struct autoscale *ret)
{
    int64_t n = 0;

    if (str_starts(text, "target=")) {
        if (str_to_i64(text + strlen("target="), 1, AUTOSCALE_TARGET_MAX, &n) < 0)
            return -EINVAL;
        ret->target = (unsigned)n;
        return 0;
    }
    if (!str_starts(text, "cool-down="))
        return autoscale_range(text, ret);
    if (str_to_ms(text + strlen("cool-down="), &n) < 0 || n < 1000 ||
        n > AUTOSCALE_COOL_DOWN_MAX_MS)
        return -EINVAL;
    ret->cool_down = n;
    return 0;
}

int serve_autoscale_parse(const char *text, struct autoscale *ret, struct err *err)
{
    AUTO_STRS parts = { 0 };
    int r = 0;

    *ret = (struct autoscale){ .target = AUTOSCALE_TARGET, .cool_down = AUTOSCALE_COOL_DOWN_MS };
    if (str_eq(text, "off"))
        return 0;
    if (strs_split(&parts, text, ",") < 0)
        return err_oom(err);
    for (size_t i = 0; i < parts.n && r == 0; i++)
        r = autoscale_part(parts.v[i], ret);
    if (r == 0 && ret->max > 0)
        return 0;
    if (r == -ENOMEM)
        return err_oom(err);
    err_set(err, -EINVAL, "'%s' does not say from how many to how many replicas", text);
    err_hint(err, "such as 1-8, or 2-8,target=4,cool-down=1m with numbers up to %d",
             DEPLOYMENT_REPLICAS);
    return -EINVAL;
}

unsigned serve_autoscale_within(const struct autoscale *rule, unsigned n)
{
    if (rule->max == 0)
        return n;
    return n < rule->min ? rule->min : n > rule->max ? rule->max : n;
}

/* ---- its state ---- */

static char *autoscale_last(const json_t *model, int64_t now)
{
    const json_t *last = json_object_get(model, "scaled");
    char span[FORMAT_SPAN];

    if (!last)
        return strdup("");
    return str_printf("; %lld → %lld %s ago: %s", (long long)json_int_or(last, "from", 0),
                      (long long)json_int_or(last, "to", 0),
                      format_span(now - json_int_or(last, "at", now), span),
                      format_text(last, "why"));
}

char *serve_autoscale_text(const json_t *model, const json_t *report, int64_t now)
{
    struct autoscale_ready ready;
    int64_t load = autoscale_load(model, report, &ready);
    int64_t replicas = json_int_or(model, "replicas", 0);
    AUTO_FREE char *last = autoscale_last(model, now);
    AUTO_FREE char *loaded =
        load < 0 ? strdup("load unknown")
                 : str_printf("%lld request%s in flight", (long long)load, load == 1 ? "" : "s");
    struct autoscale rule;

    if (!autoscale_of(model, &rule))
        return strdup("");
    if (!last || !loaded)
        return NULL;
    if (replicas == 0)
        return strdup("off while there are 0 replicas");
    return str_printf("%u to %u replicas, %u requests each; %lld now, %s%s", rule.min, rule.max,
                      rule.target, (long long)replicas, loaded, last);
}
