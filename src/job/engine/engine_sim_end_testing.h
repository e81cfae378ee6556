/* engine_sim_end_testing.h - what still happens in the pretended world when the job has ended. */
#pragma once
#include "job/engine/engine_sim_drive_testing.h"

/* Whatever still comes after the end changes nothing: containers that are given or taken, agents
 * that say what they have saved or only now did as they were told. */
static void outlive(struct sim *w)
{
    struct outcome before, after;
    struct action a;

    engine_outcome(w->e, &before);
    for (uint32_t i = 0; i < engine_n_slots(w->e); i++) {
        static const enum sim_kind more[] = { SIM_GRANTED, SIM_REFUSED, SIM_LOST, SIM_LEAVING,
                                              SIM_AWAY };

        post(w, more[draw(w, COUNT_OF(more))], i, draw(w, 60000));
        w->queue[w->n_queue - 1].life = w->slots[i].life;
    }
    for (uint32_t n = 0; w->n_queue > 0 && n < 1000; n++) {
        struct sim_message m = take_first(w);

        w->now = m.at > w->now ? m.at : w->now;
        happen(w, &m);
        CHECK(w, !engine_next_action(w->e, &a));
        CHECK(w, engine_deadline(w->e) == INT64_MAX);
    }
    engine_outcome(w->e, &after);
    CHECK(w, after.state == before.state && after.exit == before.exit);
    CHECK(w, after.task == before.task && after.when == before.when);
}
