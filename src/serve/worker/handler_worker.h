/* handler_worker.h - the worker's program, from handler_worker.py, inside ours. */
#pragma once
#include <stddef.h>

struct handler_worker_file {
    const char *name;
    const unsigned char *data;
    size_t size;
};

extern const struct handler_worker_file handler_worker_files[]; /* one; ends with a NULL name */
