/* client_lifeline.h - an agent beside the client lives for as long as the client does. */
#pragma once
#include "base/err.h"

struct agent;

/* Watches standard input in a fiber of its own, and ends the agent as SIGHUP would when the other
 * end closes. Returns at once. */
int lifeline_begin(struct agent *a, struct err *err);
