/* command_process.h - the program of a command model: started, watched, restarted.
 *
 *     starting ──it answers its health path──► ready ──it ends──► down ──a delay──► starting
 *
 * Fibers only. It ends when we do. */
#pragma once
#include "loop/fiber.h"
#include "serve/command/command_spec.h"

struct command_process; /* opaque */

struct command_process_options {
    struct loop *loop;
    const struct command_spec *spec; /* borrowed */
    int64_t load_ms;                 /* until it is ready */
    int64_t grace_ms;                /* after SIGTERM */
};

/* Starts it and waits until it is ready. -ECHILD: it ended before, and how; -ETIMEDOUT. From then
 * on it is kept alive. *ret is the caller's: command_process_stop(). */
int command_process_start(const struct command_process_options *o, struct command_process **ret,
                          struct err *err);
bool command_process_ready(const struct command_process *p); /* NULL: not yet */
unsigned command_process_port(const struct command_process *p);
/* Counts its processes: connections to an earlier one are no use. */
unsigned command_process_life(const struct command_process *p);
/* Why it is not ready. NULL: it is being started. */
const char *command_process_trouble(const struct command_process *p);
/* Ends it. Waits. NULL is fine; always NULL. */
struct command_process *command_process_stop(struct command_process *p);

/* In the child: becomes the program of `argv`, and ends when `parent` does. Does not return unless
 * it fails. */
int command_become(pid_t parent, char **argv, struct err *err);
