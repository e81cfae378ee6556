/* replay.h - output that tasks left in their files, shown. Fibers only. */
#pragma once
#include "cmd/job/logfiles.h"
#include "cmd/job/screen.h"
#include "cmd/job/show.h"

/* Shows a file from the byte `from` on. No time passes meanwhile for `show`, so that the same lines
 * of several tasks find each other. */
int replay_file(const struct logfile *f, uint64_t from, struct show *show, struct screen *screen,
                struct err *err);
