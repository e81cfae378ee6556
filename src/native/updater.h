/* updater.h - an optimizer at work on a server's weights, by MXNet's own operators.
 *
 * Keeps what the optimizer needs for each weight (momentum; Adam's two averages) as arrays of
 * MXNet. One thread: the one that is inside run_server(). */
#pragma once
#include "base/auto.h"
#include "native/mxnet_api.h"
#include "native/optimizer.h"

struct updater; /* opaque */

/* `api` is borrowed and outlives it. *ret is the caller's. */
int updater_new(const struct mxnet_api *api, struct updater **ret, struct err *err);
struct updater *updater_free(struct updater *u); /* NULL is fine; always NULL */
AUTO_DEFINE(updater, struct updater *, updater_free);

/* From now on this way. What was kept stays when only numbers change. */
void updater_set(struct updater *u, const struct optimizer *o);

/* One step for one weight; both arrays stay the caller's. Needs updater_set() before. */
int updater_apply(struct updater *u, int key, void *gradient, void *weight, struct err *err);
