/* replay_private.h - what replay.c (files) and replay_rest.c (what a master did not send) share. */
#pragma once
#include "follow/replay.h"

/* The bytes [from, to) of a file, or as many as there are; `before` of the stream are in others. */
struct replay_bytes {
    uint64_t from, to, before;
};
int replay_part(const struct logfile *f, struct replay_bytes b, struct show *show,
                struct screen *screen, struct err *err);
int replay_size_of(const struct logfile *f, uint64_t *ret, struct err *err);
bool replay_same_stream(const struct logfile *a, const struct logfile *b);
