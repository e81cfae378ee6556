/* rollout.c - the states of a rollout as a table, and the judgement. */
#include "serve/gateway/rollout.h"

#include <stdio.h>
#include <string.h>

/* Times of a few milliseconds are those of the machine and its other work, not of the model. */
#define SLOWER_LEAST_US 5000

/* clang-format off */
static const enum rollout_state next_state[ROLLOUT_STATES_][ROLLOUT_EVENTS_] = {
    [ROLLOUT_WARMING]  = { [ROLLOUT_READY] = ROLLOUT_WATCHING, [ROLLOUT_LOST] = ROLLOUT_RETURNED },
    [ROLLOUT_WATCHING] = { [ROLLOUT_GOOD]  = ROLLOUT_SHIFTED,  [ROLLOUT_BAD]  = ROLLOUT_RETURNED,
                           [ROLLOUT_LOST]  = ROLLOUT_RETURNED },
    [ROLLOUT_SHIFTED]  = { [ROLLOUT_BAD]   = ROLLOUT_RETURNED, [ROLLOUT_LOST] = ROLLOUT_RETURNED,
                           [ROLLOUT_DRAINED] = ROLLOUT_DONE },
};

static const char *const state_names[ROLLOUT_STATES_] = {
    "none", "warming", "watching", "shifted", "done", "returned",
};
/* clang-format on */

void rollout_begin(struct rollout *r, unsigned percent)
{
    *r = (struct rollout){ .state = ROLLOUT_WARMING, .percent = percent };
    (void)snprintf(r->why, sizeof(r->why), "waiting for the new version to be ready");
}

int rollout_step(struct rollout *r, enum rollout_event event, const char *why, struct err *err)
{
    enum rollout_state next = event < ROLLOUT_EVENTS_ ? next_state[r->state][event] : ROLLOUT_NONE;

    if (next == ROLLOUT_NONE)
        return err_set(err, -EPROTO, "a rollout that is %s cannot take event %d",
                       rollout_state_name(r->state), (int)event);
    r->state = next;
    (void)snprintf(r->why, sizeof(r->why), "%s", why);
    return 0;
}

bool rollout_over(const struct rollout *r)
{
    return r->state == ROLLOUT_DONE || r->state == ROLLOUT_RETURNED;
}

unsigned rollout_share(const struct rollout *r)
{
    if (r->state == ROLLOUT_WATCHING)
        return r->percent;
    return r->state == ROLLOUT_SHIFTED || r->state == ROLLOUT_DONE ? GATEWAY_HUNDRED : 0;
}

const char *rollout_state_name(enum rollout_state s)
{
    return s < ROLLOUT_STATES_ ? state_names[s] : "unknown";
}

/* A tenth of the requests is enough to see that far too many fail: nobody waits for the rest.
 *
 * As many failures as would be too many of all requests are too many whatever the rest are: the
 * share is taken of `requests` at least, so that one failure of the first few does not end a
 * rollout. */
static bool rollout_is_early(const struct gateway_watch *w, const struct traffic_sum *s)
{
    return s->requests * 10 >= w->requests;
}

static bool rollout_fails(const struct gateway_watch *w, const struct traffic_sum *s, char why[160])
{
    uint64_t n = s->requests < w->requests ? w->requests : s->requests;

    if (!rollout_is_early(w, s) || s->errors * GATEWAY_HUNDRED <= n * w->errors)
        return false;
    (void)snprintf(why, 160, "%llu of %llu requests failed, more than %g %%",
                   (unsigned long long)s->errors, (unsigned long long)s->requests,
                   w->errors / 100.0);
    return true;
}

/* Clients send wrong requests at all times. A version that refuses more of them than the one before
 * does not take what that one took. */
static bool rollout_refuses(const struct gateway_watch *w, const struct rollout_numbers *x,
                            char why[160])
{
    const struct traffic_sum *s = x->new_version;
    uint64_t old_n = x->before + x->old_version->requests;
    uint64_t old_refused = x->before_refused + x->old_version->refused;
    uint64_t n = s->requests < w->requests ? w->requests : s->requests;

    if (!rollout_is_early(w, s) || old_n * 10 < w->requests ||
        (double)s->refused <=
            (double)n * ((double)old_refused / (double)old_n + w->errors / (double)GATEWAY_HUNDRED))
        return false;
    (void)snprintf(why, 160,
                   "%llu of %llu requests were refused (status 4xx), of the old version's %llu of "
                   "%llu",
                   (unsigned long long)s->refused, (unsigned long long)s->requests,
                   (unsigned long long)old_refused, (unsigned long long)old_n);
    return true;
}

static bool rollout_is_slower(const struct gateway_watch *w, int64_t old_us, int64_t new_us)
{
    return new_us * 100 > old_us * (int64_t)w->slower && new_us - old_us > SLOWER_LEAST_US;
}

int rollout_judge(const struct gateway_watch *w, const struct rollout_numbers *x,
                  enum rollout_event *ret, char why[160])
{
    const struct traffic_sum *o = x->old_version, *s = x->new_version;
    int64_t old_us, new_us;

    *ret = ROLLOUT_BAD;
    if (rollout_fails(w, s, why) || rollout_refuses(w, x, why))
        return 1;
    if (s->requests < w->requests)
        return 0;
    old_us = histogram_quantile(&o->times, 990);
    new_us = histogram_quantile(&s->times, 990);
    if (o->requests * 10 >= w->requests && rollout_is_slower(w, old_us, new_us)) {
        (void)snprintf(why, 160, "p99 is %.3g ms, more than %g times the old version's %.3g ms",
                       (double)new_us / 1000, w->slower / 100.0, (double)old_us / 1000);
        return 1;
    }
    *ret = ROLLOUT_GOOD;
    (void)snprintf(why, 160, "%llu requests, %llu failed, p99 %.3g ms (old version: %.3g ms)",
                   (unsigned long long)s->requests, (unsigned long long)s->errors,
                   (double)new_us / 1000, (double)old_us / 1000);
    return 1;
}
