/* replay_private.h - what replay.c (files) and replay_rest.c (what a master did not send) share. */
#pragma once
#include "follow/replay.h"

/* The bytes [from, to) of a file, or as many as there are. */
int replay_part(const struct logfile *f, uint64_t from, uint64_t to, uint64_t before,
                struct show *show, struct screen *screen, struct err *err);
int replay_size_of(const struct logfile *f, uint64_t *ret, struct err *err);
bool replay_same_stream(const struct logfile *a, const struct logfile *b);
