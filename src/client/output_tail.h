/* output_tail.h - the last lines of what tasks wrote: where they begin. Fibers only. */
#pragma once
#include "base/json.h"
#include "client/logfiles.h"

/* Where to begin in each file, so that of each stream that is wanted the last `lines` lines come
 * (-1: all), whichever parts they are in: begins[i] for files->v[i], its size where nothing of it
 * is wanted. */
int tail_begins(const struct logfiles *files, const bool streams[2], int64_t lines,
                uint64_t *begins, struct err *err);

/* The same for callers that follow the streams: how many bytes of each come before its last lines,
 * in all its files together. Adds to the object `ret`, which tail_skip() reads. A stream with an
 * unreadable file is shown in full. */
int tail_skips(const struct logfiles *files, const bool streams[2], int64_t lines, json_t *ret,
               struct err *err);
uint64_t tail_skip(const json_t *skips, const char *task, enum piece_stream stream);
/* The same in files that are `earlier`, which tail_skip() does not count. */
uint64_t tail_skip_earlier(const json_t *skips, const char *task, enum piece_stream stream);
