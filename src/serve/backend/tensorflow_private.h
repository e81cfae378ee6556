/* tensorflow_private.h - what the files of this backend share: a model, its signatures, and the
 * words of the library. */
#pragma once
#include "serve/backend/backend.h"
#include "serve/backend/tf_api.h"

struct tf_library {
    struct tf_api api;
    const char *version;
};

/* A signature and where its tensors are in the graph. */
struct tf_way {
    const struct tf_model *model;
    struct signature signature;
    struct tf_output *in, *out;
};

struct tf_model {
    const struct tf_library *library;
    void *graph, *session;
    struct tf_way *ways; /* by ARRAY_ADD until the model is loaded; then they stay where they are */
    size_t n;
};

/* 0, or a negative errno with the status's text behind `what`. */
int tf_check(const struct tf_api *api, const void *status, const char *what, struct err *err);

/* What TensorFlow says of a failure, as one line, without the names of its nodes: "2 root error(s)
 * found.\n  (0) INVALID_ARGUMENT: {{function_node f}} x is wrong\n\t [[{{node f}}]]\n…" becomes
 * "x is wrong". Cut to the room; returns `out`. */
const char *tf_sentence(const char *text, char *out, size_t room);

/* See struct backend_ops; `way` is a struct tf_way. */
int tf_run(void *way, const struct tensors *in, struct tensors *ret, struct err *err);
