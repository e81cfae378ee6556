/* engine_restore.c - a master that takes over reads the log of the one before it, which a crash may
 * have cut and anybody may have edited; whatever it makes of it, it goes on to an end.
 *
 * The first byte chooses the job's policy; the rest is the log. */
#include "fuzz.h"
#include "job/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_ ((size_t)64 * 1024)
#define TURNS 400
#define T0 INT64_C(1763274830000)

struct job {
    struct spec_role roles[3];
    struct spec spec;
};

static void make_job(struct job *j, uint8_t how)
{
    static const char *const names[] = { "ps", "worker", "board" };
    static const enum spec_policy policies[] = { SPEC_RESTART_NEVER, SPEC_RESTART_TASK,
                                                 SPEC_RESTART_GANG };

    for (size_t i = 0; i < 3; i++)
        j->roles[i] = (struct spec_role){ .name = (char *)names[i],
                                          .count = i == 1 ? 2 : 1,
                                          .procs = 1 + (how >> 4) % 2,
                                          .restart = { .max = -1 },
                                          .side = i == 2 ? 1 : -1,
                                          .decides = -1,
                                          .ports = 1 };
    j->spec = (struct spec){ .roles = j->roles,
                             .n_roles = 3,
                             .restart = { policies[how % 3], 3, 0 },
                             .gang_hold = 1000,
                             .gang_retry = 3,
                             .timeout = how & 8 ? 3600000 : 0,
                             .grace = 1000 };
}

static void read_log(struct engine *e, const char *at, const char *end)
{
    for (const char *line; at < end; at = line + 1) {
        line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            line = end;
        (void)engine_restore(e, at, (size_t)(line - at), NULL);
    }
}

/* Agents that come back with nothing, a new one in their place, or never. */
static void bring_back(struct engine *e, int64_t now)
{
    for (uint32_t i = 0; i < engine_n_slots(e); i++) {
        if (!engine_slot_is_away(e, i))
            continue;
        if (i % 3 == 0)
            (void)engine_on_agent_up(e, i, now, NULL);
        else if (i % 3 == 1)
            (void)engine_on_agent_again(e, i, now, NULL);
        else
            (void)engine_on_lost(e, i, FAIL_NODE, "gone", now, NULL);
    }
}

/* Does it at once. Whether the engine then says that it was not to be done is its own affair. */
static void obey(struct engine *e, const struct action *a, int64_t now)
{
    const struct engine_end end = { .cls = FAIL_SIGNAL, .signal = 15, .code = 143, .when = now };
    uint16_t port = 10000;

    switch (a->kind) {
    case ACTION_ASK:
        (void)engine_on_granted(e, a->id, 100 + a->id, now, NULL);
        (void)engine_on_agent_up(e, a->id, now, NULL);
        break;
    case ACTION_PREPARE:
        (void)engine_on_prepared(e, a->id, &port, 1, now, NULL);
        break;
    case ACTION_FORM:
        (void)engine_on_formed(e, now, NULL);
        break;
    case ACTION_START:
        (void)engine_on_started(e, a->id, 1000, now, NULL);
        break;
    case ACTION_STOP:
        (void)engine_on_ended(e, a->id, &end, now, NULL);
        break;
    case ACTION_RELEASE:
    case ACTION_END:
        break;
    }
}

/* True when it has ended. */
static bool live(struct engine *e, int64_t now)
{
    AUTO_BUF lines = { .max = 64 * MIB };
    struct action a;

    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < TURNS && engine_next_action(e, &a); k++) {
            if (a.kind == ACTION_END)
                return true;
            obey(e, &a, now);
        }
        if (i == TURNS / 2 || i == TURNS / 2 + 1)
            (void)engine_kill(e, "me", now, NULL);
        now = engine_deadline(e) < INT64_MAX && engine_deadline(e) > now ? engine_deadline(e)
                                                                         : now + 1000;
        (void)engine_on_time(e, now, NULL);
        if (engine_events(e, &lines) < 0)
            return true; /* -ENOMEM is an end, too */
        buf_reset(&lines);
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct engine_options opt = { .restart = SPEC_RESTART_TASK, .seed = 1 };
    AUTO(engine) struct engine *e = NULL;
    struct outcome o;
    struct job job;

    if (size == 0 || size > SIZE_MAX_)
        return 0;
    make_job(&job, data[0]);
    if (engine_new(&job.spec, &opt, &e, NULL) < 0)
        return 0;
    read_log(e, (const char *)data + 1, (const char *)data + size);
    if (engine_resume(e, T0, NULL) < 0)
        return 0; /* it says why */
    bring_back(e, T0);
    if (!live(e, T0))
        abort(); /* a job that was killed ends */
    engine_outcome(e, &o);
    return 0;
}
