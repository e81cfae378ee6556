/* serve_settings.h - what a deployment is started with and keeps until it ends: the members
 * "settings" of each model and "gateway" of its plan. They are there to be compared with a file
 * that says something else by now. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/serve/serve_want.h"

/* Writes them into a plan whose models are those of `w`, in its order. */
int serve_settings_add(json_t *plan, const struct serve_want *w, struct err *err);

/* Appends which keys of `w` are not those of the plan: "mlp: cpus is 2, not 1; gateway: …". What a
 * plan does not have is not compared: it may be of an older version. 1: some were; 0: none. */
int serve_settings_differ(const json_t *plan, const struct serve_want *w, struct buf *ret,
                          struct err *err);
