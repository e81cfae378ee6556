/* mxnet_private.h - what the files of this backend share: a model, and the executors that are bound
 * to it, each for inputs of its own shapes. */
#pragma once
#include "base/str.h"
#include "serve/backend/backend.h"
#include "serve/backend/mx_api.h"

#include <pthread.h>

#define MX_EXECUTORS 8 /* shapes that are kept ready; the one that was not used longest goes */

struct mx_library {
    struct mx_api api;
    char version[24];
};

/* The symbol, bound to weights and to inputs of these shapes. */
struct mx_executor {
    void *executor;
    void *
        *args; /* all of the symbol's; those of `mine` are freed with it, the others are weights */
    bool *mine;
    void **outputs; /* one for each of the signature */
    int64_t *dims;  /* of all inputs, TENSOR_DIMS_MAX for each */
    uint64_t used;  /* when, counted in runs */
};

struct mx_model {
    const struct mx_library *library;
    void *symbol;
    struct signature signature;
    struct strs args, aux;  /* names, in the symbol's order */
    void **weights, **auxs; /* by argument and by state; NULL: an input or a label */
    size_t *input_args;     /* which argument each input is */
    pthread_mutex_t lock;   /* of what follows, and of all runs: MXNet wants one at a time */
    struct mx_executor executors[MX_EXECUTORS];
    uint64_t runs;
};

/* `code` with the last error of the library, as one line, behind `what`. */
int mx_failed(const struct mx_library *l, int code, const char *what, struct err *err);

enum tensor_type mx_type_to_tensor(int type); /* TENSOR_NONE: one that we do not have */
int mx_type_of_tensor(enum tensor_type type); /* -1 likewise */

/* The shapes of arguments and outputs for inputs of these shapes (`TENSOR_DIMS_MAX` numbers and one
 * rank for each). Borrowed from MXNet until this thread calls it again. -EINVAL when MXNet cannot
 * tell, or says that they do not fit. */
struct mx_shapes {
    uint32_t n_args, n_outputs;
    const uint32_t *arg_rank, *output_rank;
    const uint32_t **arg_dims, **output_dims;
};
int mx_infer(const struct mx_model *m, const int64_t *dims, const size_t *ranks,
             struct mx_shapes *ret, struct err *err);

void mx_executor_done(const struct mx_library *l, struct mx_executor *e);

/* See struct backend_ops. */
int mx_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err);
