/* reconnect.h - finding the master: for the first time, or after the connection was lost. Fibers
 * only. */
#pragma once
#include "base/err.h"

struct agent;

int reconnect_first(struct agent *a, struct err *err);
/* After it was lost, for as long as the lease allows; `err` says why it was, and then why not. */
int reconnect_again(struct agent *a, struct err *err);
