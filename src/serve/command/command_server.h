/* command_server.h - the server of a command model: the program behind it, and a port in front.
 *
 *     listening ──► starting the program ──► ready ──signal──► draining ──► gone
 *
 * /v2/health/live, /v2/health/ready, /v2/models/NAME[/versions/N]/ready and
 * /monitoring/prometheus/metrics are its own; every other path is the program's. Fibers only. */
#pragma once
#include "serve/command/command_spec.h"
#include "serve/engine/server.h"

/* Of `o`, those are used that are not about backends and batches: o->queue_max is how many requests
 * may be in flight, o->deadline_ms how long the program may take to begin an answer, and from one
 * piece of it to the next. Serves until the running fiber is cancelled, then drains. -ECHILD: the
 * program ended before it was ready; -ETIMEDOUT: requests were cut off after grace_ms. */
int command_server_run(struct loop *l, const struct server_options *o, const struct command_spec *m,
                       struct err *err);
