/* mxnet_api.h - as much of MXNet's C interface as is used here, found in libmxnet.so at run time.
 *
 * Declared by us: the header comes with a wheel, which need not be there when ydl is built. Handles
 * are MXNet's and opaque. Every call returns 0, or -1 and the reason by last_error(). */
#pragma once
#include "base/err.h"
#include <stdint.h>

/* Both are called on the thread that is inside run_server(), one at a time. */
typedef void mxnet_on_command(int head, const char *body, void *arg);
/* The arrays are the callee's: array_free(). `weight` stands for the stored one and is written to.
 */
typedef void mxnet_on_update(int key, void *gradient, void *weight, void *arg);

/* An operator, its arrays, and its parameters as text. All borrowed. */
struct mxnet_call {
    const char *op;
    void **in;
    int n_in;
    void *out; /* is written to; NULL: is made, and the caller's then */
    const char **names, **values;
    int n;
};

struct mxnet_api {
    const char *(*last_error)(void); /* of this thread */
    /* Variables that win over those of the process. */
    int (*init_ps_env)(uint32_t n, const char **names, const char **values);
    int (*store_create)(const char *kind, void **ret);
    int (*store_free)(void *store);
    /* Plays the role that the environment names; returns when every node has said goodbye. */
    int (*run_server)(void *store, mxnet_on_command *fn, void *arg);
    int (*set_updater)(void *store, mxnet_on_update *fn, void *arg); /* inside run_server() only */
    /* Applies an operator. */
    int (*apply)(const struct mxnet_api *api, struct mxnet_call *c);
    int (*array_free)(void *array);
    /* What apply() of the real library is made of. */
    int (*find_op)(const char *name, void **ret);
    int (*invoke)(void *op, int n_in, void **in, int *n_out, void ***out, int n_params,
                  const char **names, const char **values);
};

/* Loads the library, which stays for good. -EOPNOTSUPP with the loader's text. */
int mxnet_api_load(const char *library, struct mxnet_api *ret, struct err *err);

/* -EIO with "what: " and the first line of MXNet's reason; the rest is a stack. */
int mxnet_api_failed(const struct mxnet_api *api, const char *what, struct err *err);
