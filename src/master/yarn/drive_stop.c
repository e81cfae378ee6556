/* drive_stop.c - when the driver stops in a container: a signal, a ResourceManager that has given
 * this master up, and the end of the job, which only the master that has the job may tell. */
#include "master/yarn/drive_stop.h"
#include "master/yarn/rival.h"

#define SIGNAL_MS 3000 /* from the end of an application to its containers' */

static void drive_say_killed(struct master *m)
{
    struct err err = ERR_INIT;

    (void)engine_kill(m->engine, "YARN", master_now(m), &err);
    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.v[i].agent)
            drive_platform_events.on_lost(m, i, FAIL_PERSON, "the application was killed");
}

/* The NodeManager wants our container to end, and gives us next to no time: either the application
 * was killed, and we say so; or only we are meant, and a new master will take over what we leave as
 * it is. */
int drive_on_signal(struct master *m, struct err *err)
{
    m->interrupted = true;
    fiber_shield(m->loop, true);
    if (platform_is_killed(m->platform)) {
        drive_say_killed(m);
        return 0;
    }
    m->left = true;
    return err_set(err, -ECANCELED, "our container is being ended");
}

/* YARN has ended us. With the application our container ends too: a signal follows, perhaps too
 * soon for what is to be said. Without one only our node was given up, because its NodeManager is
 * dead; then another master has the job, and whatever we did would be against it. */
int drive_given_up(struct master *m, struct err *err)
{
    int64_t until = loop_in(m->loop, SIGNAL_MS);
    int r = 0;

    if (platform_is_killed(m->platform))
        return drive_on_signal(m, err);
    while (r == 0)
        r = cond_wait(m->loop, &m->work, until);
    if (r == -ECANCELED)
        return drive_on_signal(m, err);
    m->left = true;
    return err_set(err, -ECANCELED, "YARN has given us up, and starts another master");
}

/* Only the current master may report the end. A master that the ResourceManager does not answer may
 * have been cut off and replaced; its clients would get a different result from the recorded one.
 */
int drive_right_to_end(struct master *m, struct err *err)
{
    int r;

    m->ended = false; /* whoever follows waits with us */
    r = rival_wait(m);
    if (r == -ECANCELED && !m->interrupted)
        return drive_on_signal(m, err);
    return r == 0 && m->over && !m->interrupted ? drive_given_up(m, err) : r;
}
