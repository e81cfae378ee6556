/* tf_api.h - as much of TensorFlow's C interface as is used to run models.
 *
 * Declared by us: the header comes with a wheel, which need not be there when ydl is built. What
 * TensorFlow calls TF_Graph, TF_Session, TF_Operation, TF_Tensor and TF_Status is opaque. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define TF_STRING 7       /* of its types; the others are tensor_type_tf_number() */
#define TF_STRING_SIZE 24 /* of a TF_TString, whatever it holds */

enum tf_code { /* of a status */
               TF_OK = 0,
               TF_INVALID_ARGUMENT = 3,
               TF_NOT_FOUND = 5,
               TF_RESOURCE_EXHAUSTED = 8,
               TF_OUT_OF_RANGE = 11,
               TF_UNIMPLEMENTED = 12,
};

/* The n-th output of an operation. Handed over by value. */
struct tf_output {
    void *operation;
    int at;
};

struct tf_api {
    const char *(*version)(void);
    void *(*new_status)(void);
    void (*delete_status)(void *status);
    int (*get_code)(const void *status);
    const char *(*message)(const void *status);
    void *(*new_options)(void);
    void (*delete_options)(void *options);
    void (*set_config)(void *options, const void *config, size_t n, void *status);
    void *(*new_graph)(void);
    void (*delete_graph)(void *graph);
    void *(*load)(const void *options, const void *run_options, const char *dir,
                  const char *const *tags, int n_tags, void *graph, void *meta_graph, void *status);
    void *(*operation)(void *graph, const char *name);
    int (*operation_outputs)(void *operation);
    void *(*next_operation)(void *graph, size_t *at); /* from 0 on; NULL: that was the last */
    const char *(*operation_type)(void *operation);
    void (*run)(void *session, const void *run_options, const struct tf_output *in,
                void *const *in_values, int n_in, const struct tf_output *out, void **out_values,
                int n_out, const void *const *targets, int n_targets, void *run_metadata,
                void *status);
    void (*close_session)(void *session, void *status);
    void (*delete_session)(void *session, void *status);
    /* The bytes become the tensor's, also when it fails. */
    void *(*new_tensor)(int type, const int64_t *dims, int rank, void *p, size_t n,
                        void (*release)(void *p, size_t n, void *arg), void *arg);
    void (*delete_tensor)(void *tensor);
    int (*tensor_type)(const void *tensor);
    int (*tensor_rank)(const void *tensor);
    int64_t (*tensor_dim)(const void *tensor, int i);
    size_t (*tensor_size)(const void *tensor);
    void *(*tensor_data)(const void *tensor);
    void (*string_init)(void *s);
    void (*string_copy)(void *s, const char *p, size_t n);
    const char *(*string_data)(const void *s);
    size_t (*string_size)(const void *s);
    void (*string_done)(void *s);
};
