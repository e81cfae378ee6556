/* onnxruntime_private.h - what the two files of this backend share: a model and its functions. */
#pragma once
#include "serve/backend/backend.h"
#include "serve/backend/ort_api.h"

struct ort_library {
    const struct ort_api *api;
    const char *version;
    void *env;       /* one per process */
    void *allocator; /* the default one; not to be released */
    void *memory;    /* "where our own bytes are": the processor's */
};

struct ort_model {
    const struct ort_library *library;
    void *session;
    struct signature signature;
    char **in_names, **out_names; /* of the signature's slots; the strings are its own */
};

/* Releases the status; a negative errno with its text behind `what`, or 0. */
int ort_check(const struct ort_api *api, ort_status status, const char *what, struct err *err);

enum tensor_type ort_type_to_tensor(int type); /* TENSOR_NONE: one that we do not have */
int ort_type_of_tensor(enum tensor_type type);

/* See struct backend_ops. */
int ort_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err);
