/* command_output.h - what the program prints: passed on to our standard error as it comes, so that
 * the program never waits for somebody who reads ours. Fibers only. */
#pragma once
#include "loop/fiber.h"
#include "serve/line_out.h"

struct command_output; /* opaque */

/* Reads from *fd, which is taken over in any case, and writes to `out`, which is borrowed. *ret is
 * the caller's: command_output_stop(). */
int command_output_start(struct loop *l, int *fd, struct line_out *out, struct command_output **ret,
                         struct err *err);
/* Takes what was printed by now. */
void command_output_look(struct command_output *o);
/* The last line that has anything in it, fit to be shown; "": none. */
const char *command_output_last(const struct command_output *o);
/* Waits. NULL is fine; always NULL. */
struct command_output *command_output_stop(struct command_output *o);
