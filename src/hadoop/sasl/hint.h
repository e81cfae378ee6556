/* hint.h - what to do when a login fails, for causes that we see ourselves and for those that a
 * server tells us in its own words. No I/O, any thread. */
#pragma once
#include "base/err.h"

/* Remedies that more than one file knows a cause for. */
extern const char sasl_hint_clock[];      /* clocks differ */
extern const char sasl_hint_ticket[];     /* the ticket has run out */
extern const char sasl_hint_server_key[]; /* the server cannot read what the KDC wrote for it */

/* Adds a hint to an error that holds a server's refusal of a login: `message` is what the server
 * said, in Hadoop's case the text of a Java exception. Unknown texts add nothing. */
void sasl_remote_hint(struct err *err, const char *message);
