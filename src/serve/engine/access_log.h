/* access_log.h - one line for each request, when asked for:
 *
 *     2026-11-19T01:02:03.456Z id=9f3c-1 from=127.0.0.1 "POST /v2/models/m/infer" status=200
 *         in=3190 out=131 total_us=212 queue_us=12 run_us=45 rows=1
 *
 * (on one line.) What clients say is written so that it cannot look like something else. A disk
 * that is full, or a pipe that nobody reads, loses lines, never requests, and holds nobody up. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access_log {
    int fd; /* -1: none */
    bool socket;
    uint64_t lost; /* lines */
};

struct access_line {
    const char *id, *from, *method, *target;
    int status;
    uint64_t in, out; /* bytes of the bodies */
    int64_t total_ns, queue_ns, run_ns, rows;
};

/* `path` as in struct server_options. */
int access_log_open(struct access_log *l, const char *path, struct err *err);
void access_log_close(struct access_log *l);
void access_log_write(struct access_log *l, const struct access_line *line);
