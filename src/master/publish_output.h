/* publish_output.h - the job's output becomes a version of a model when the job has succeeded. See
 * publish_output.c. Loop thread only. */
#pragma once
#include "base/json.h"
#include "loop/fiber.h"
#include <stdbool.h>

struct master;

struct publish_output {
    struct fiber *fiber; /* does it; NULL: not yet, or it has ended */
    struct cond ended;
    bool begun;
    bool told; /* the log has the version, which a master before us may have made */
};

/* Does the job end with something that this master has to publish? */
bool publish_wanted(const struct master *m);
/* All is saved: begins, and is true when nothing is left to be done. The driver is woken then. */
bool publish_look(struct master *m);
/* The time for saving is over: gives up and says so. False when nothing is under way. Fibers only.
 */
bool publish_late(struct master *m);
void publish_end(struct master *m); /* gives up and says nothing; fibers only */
/* A note of a master before us. */
void publish_restore(struct master *m, const json_t *note);
