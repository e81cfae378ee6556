/* history.h - a job's past, read from its events log. Pure.
 *
 * Lines are applied one after the other; the result is what `status --json` shows, the same
 * document for a live job (made by the master from its own log) and for a past one. */
#pragma once
#include "base/err.h"
#include "base/json.h"

struct history; /* opaque */
int history_new(struct history **ret, struct err *err);
struct history *history_free(struct history *h);
AUTO_DEFINE(history, struct history *, history_free);

/* One line without its newline. A line that is no record (cut short by a crash) gives -EINVAL and
 * changes nothing. */
int history_apply(struct history *h, const char *line, size_t n, struct err *err);

#define HISTORY_UNSAVED_EXIT 73 /* of a job that succeeded, when its results could not be saved */

/* The document:
 *   {"job","name","user","platform","framework","state","reason","generation","restarts",
 *    "created","started","ended" (ms since 1970 or null),"exit" (null while it runs),"whose",
 *    "roles":[{"name","count","states":{"RUNNING":2,…},"step","total"}],
 *    "tasks":[{"task","role","rank","state","ready","generation","attempt","agent","node","host",
 *              "ports","pid","since","code","class","step","total","metrics"}],
 *    "story": null | {"task","class","code","signal","text","lines","hint","when"},
 *    "progress": null | {"step","total","eta_ms"},
 *    "unsaved": null | a sentence: results are not where the job wanted them,
 *    "missing": null | {tasks, texts: [a sentence …]}: output that is not known to be saved, of how
 *    many task attempts}
 * A job whose log has no end and whose master is gone is for the caller to mark. */
int history_json(const struct history *h, int with_tasks, json_t **ret, struct err *err);
