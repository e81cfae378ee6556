/* policy.c - one row for each class: whether it counts against the restarts, and what each
 * restart policy does about it. That preemption and lost nodes never count is a column here, not
 * a condition in the engine. See policy.h. */
#include "job/engine/policy.h"

#define CANNOT_RUN 126
#define NOT_FOUND 127

#define COUNTED true
#define FREE false

/* clang-format off */
static const struct policy_verdict table[FAIL_CLASSES_][SPEC_RESTART_GANG + 1] = {
    /* Its own doing: again, as often as the budget allows. */
    [FAIL_EXIT]      = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_GANG,  COUNTED } },
    [FAIL_SIGNAL]    = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_GANG,  COUNTED } },
    [FAIL_MEMORY]    = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_GANG,  COUNTED } },
    [FAIL_NOT_READY] = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_GANG,  COUNTED } },
    /* A retry cannot help: fail at once. (FAIL_START, FAIL_LOG_LIMIT,
     * FAIL_IMAGE: no entries.) */
    /* The node may be the cause: move. */
    [FAIL_FILES]     = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_AGAIN, COUNTED } },
    [FAIL_PORT]      = { [SPEC_RESTART_TASK] = { POLICY_PORTS, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_PORTS, COUNTED } },
    [FAIL_DISK]      = { [SPEC_RESTART_TASK] = { POLICY_MOVE,  COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_MOVE,  COUNTED } },
    /* Not the user's fault: never counted. */
    [FAIL_NODE]      = { [SPEC_RESTART_TASK] = { POLICY_MOVE,  FREE },
                         [SPEC_RESTART_GANG] = { POLICY_MOVE,  FREE } },
    [FAIL_PREEMPTED] = { [SPEC_RESTART_TASK] = { POLICY_MOVE,  FREE },
                         [SPEC_RESTART_GANG] = { POLICY_MOVE,  FREE } },
    [FAIL_PERSON]    = { [SPEC_RESTART_TASK] = { POLICY_AGAIN, COUNTED },
                         [SPEC_RESTART_GANG] = { POLICY_GANG,  COUNTED } },
};
/* clang-format on */

static const char *const names[POLICY_ACTIONS_] = {
    [POLICY_FAIL] = "fail",       [POLICY_AGAIN] = "again", [POLICY_PORTS] = "ports",
    [POLICY_MOVE] = "move",       [POLICY_GANG] = "gang",   [POLICY_USED_UP] = "used-up",
    [POLICY_NOTHING] = "nothing",
};

const char *policy_action_name(enum policy_action a)
{
    return names[a];
}

int policy_action_from(const char *name, enum policy_action *ret)
{
    for (int i = 0; i < POLICY_ACTIONS_; i++)
        if (str_eq(names[i], name)) {
            *ret = (enum policy_action)i;
            return 0;
        }
    return -EINVAL;
}

struct policy_verdict policy_verdict(enum spec_policy policy, enum fail_class cls, int code)
{
    if (cls == FAIL_EXIT && (code == CANNOT_RUN || code == NOT_FOUND))
        cls = FAIL_START;
    return table[cls][policy];
}

struct policy_restart policy_of_role(const struct spec *s, const struct spec_role *role,
                                     enum spec_policy suits)
{
    static const struct spec_restart nothing = { .max = -1 };
    const struct spec_restart *own = &role->restart;
    const struct spec_restart *job = role->side == 1 ? &nothing : &s->restart;
    struct policy_restart p = { own->policy, own->max, own->window, own->delay, &own->codes };

    if (p.policy == SPEC_RESTART_DEFAULT)
        p.policy = job->policy;
    if (p.max < 0)
        p.max = job->max;
    if (p.window <= 0)
        p.window = job->window;
    if (p.delay <= 0)
        p.delay = job->delay;
    if (p.codes->n == 0)
        p.codes = &job->codes;
    /* A number without a policy asks for the framework's way; no word at all asks for nothing. */
    if (p.policy == SPEC_RESTART_DEFAULT && p.max > 0)
        p.policy = suits == SPEC_RESTART_DEFAULT ? SPEC_RESTART_TASK : suits;
    if (p.policy == SPEC_RESTART_DEFAULT)
        p.policy = SPEC_RESTART_NEVER;
    if (p.policy == SPEC_RESTART_GANG && role->side == 1)
        p.policy = SPEC_RESTART_TASK;
    if (p.max < 0)
        p.max = POLICY_MAX_DEFAULT;
    if (p.window <= 0)
        p.window = POLICY_WINDOW_DEFAULT;
    return p;
}

bool policy_covers(const struct policy_restart *p, enum fail_class cls, int code)
{
    if (p->codes->n == 0 || (cls != FAIL_EXIT && cls != FAIL_SIGNAL))
        return true;
    for (size_t i = 0; i < p->codes->n; i++) {
        int64_t one = 0;

        if (str_to_i64(p->codes->v[i], 1, 255, &one) == 0 && one == code)
            return true;
    }
    return false;
}
