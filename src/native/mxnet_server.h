/* mxnet_server.h - a scheduler or a server of MXNet's distributed key-value store, without Python.
 *
 * What `import mxnet` does in such a process, less the import: ps-lite runs inside libmxnet.so and
 * learns its place from DMLC_* variables. A scheduler needs nothing else. A server without an
 * optimizer adds up what workers push (dist_sync with update_on_kvstore=False); with one
 * (optimizer.h) it learns itself, also asynchronously. */
#pragma once
#include "native/mxnet_api.h"
#include <stddef.h>

enum mxnet_role { MXNET_SCHEDULER, MXNET_SERVER };

/* What the environment says: checked, so that what ps-lite would do about it (abort, or wait for
 * ever) does not happen. Values are borrowed from whoever gave them. */
#define MXNET_VARIABLES_MAX 16
struct mxnet_place {
    enum mxnet_role role;
    const char *names[MXNET_VARIABLES_MAX], *values[MXNET_VARIABLES_MAX];
    size_t n;
};

/* `get` is getenv, or a test's. -EINVAL with a sentence. Any thread. */
int mxnet_place_read(char *(*get)(const char *name), struct mxnet_place *ret, struct err *err);

struct mxnet_options {
    const struct mxnet_api *api;
    const struct mxnet_place *place;
    /* Said by the server when something cannot go on in a callback of MXNet's, from which there is
     * no way back: tells and ends the process. Does not return. */
    void (*give_up)(void *arg, const struct err *err);
    void (*note)(void *arg, const char *text); /* a line for the log */
    void *arg;
};

/* Plays the role until every node of the job has ended. Blocks; on the main thread. */
int mxnet_serve(const struct mxnet_options *o, struct err *err);
