/* app_dirs_sweep.h - app_dirs_sweep() in the background of a command, which waits for it only a
 * moment; failures are not reported. Fibers only. */
#pragma once
#include "base/auto.h"
#include "uploads/app_dirs.h"

#define SWEEP_MS 5000     /* then it is left to the next command */
#define SWEEP_WAIT_MS 500 /* how long the end of a command is held up at most */

struct sweep; /* opaque */

/* Begins to remove what ended applications left below BASE/jobs. Unlike app_dirs_sweep() it leaves
 * what the ResourceManager does not know, whatever its age: several clusters may share one file
 * system, and nobody has asked for a cleaning. `fs` and what `alive` points to are borrowed until
 * app_dirs_sweep_end(), `base` is copied. NULL when out of memory, and that is no failure either.
 */
struct sweep *app_dirs_sweep_begin(struct loop *l, struct fs *fs, const char *base,
                                   const struct app_dirs_alive *alive);
struct sweep *app_dirs_sweep_end(struct sweep *s); /* NULL is fine; always NULL */
AUTO_DEFINE(sweep, struct sweep *, app_dirs_sweep_end);
#define AUTO_SWEEP AUTO(sweep) struct sweep
