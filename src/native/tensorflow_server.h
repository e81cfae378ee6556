/* tensorflow_server.h - a TensorFlow server (ps, worker, or the master of in-graph training)
 * without Python, from libtensorflow_cc.so.2. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct tf_options {
    const char *library;   /* a path, or a name for the loader */
    const struct buf *def; /* an encoded ServerDef (tf_cluster.h) */
    /* It listens; sessions reach it at `target` ("grpc://host:port"). */
    void (*on_ready)(void *arg, const char *target);
    void *arg;
};

/* Runs the server, for ever: TensorFlow knows no way to stop one, so whoever wants it to end ends
 * the process. Returns only when it could not be started. Blocks; on the main thread. */
int tf_serve(const struct tf_options *o, struct err *err);
