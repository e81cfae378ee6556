/* ort_api.h - as much of ONNX Runtime's C interface as is used.
 *
 * The library exports one function, OrtGetApiBase. It gives a table of functions for the version
 * that is asked for; newer libraries give older tables unchanged, because a table only ever grows
 * at its end. So the places of the functions are fixed; `gap_N` are those that we leave out, N the
 * place of the first. ort_api_test.c checks the places. Everything is opaque but the table. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 6 /* of ONNX Runtime 1.6: any library since then will do */

/* Element types, in their order. */
enum ort_type {
    ORT_TYPE_NONE,
    ORT_TYPE_FLOAT,
    ORT_TYPE_UINT8,
    ORT_TYPE_INT8,
    ORT_TYPE_UINT16,
    ORT_TYPE_INT16,
    ORT_TYPE_INT32,
    ORT_TYPE_INT64,
    ORT_TYPE_STRING,
    ORT_TYPE_BOOL,
    ORT_TYPE_FLOAT16,
    ORT_TYPE_DOUBLE,
    ORT_TYPE_UINT32,
    ORT_TYPE_UINT64,
    ORT_TYPE_COMPLEX64,
    ORT_TYPE_COMPLEX128,
    ORT_TYPE_BFLOAT16,
    ORT_TYPES_,
};

enum ort_code { /* of a status */
                ORT_OK,
                ORT_FAIL,
                ORT_INVALID_ARGUMENT,
                ORT_NO_SUCHFILE,
                ORT_NO_MODEL,
                ORT_ENGINE_ERROR,
                ORT_RUNTIME_EXCEPTION,
                ORT_INVALID_PROTOBUF,
                ORT_MODEL_LOADED,
                ORT_NOT_IMPLEMENTED,
                ORT_INVALID_GRAPH,
                ORT_EP_FAIL,
};

#define ORT_LOG_ERROR 3 /* least severity that it logs */
#define ORT_OPTIMIZE_ALL 99
#define ORT_KIND_TENSOR 1 /* of a value; others are sequences and maps */
#define ORT_ARENA 1       /* an allocator that keeps freed memory */
#define ORT_MEMORY_DEFAULT 0

/* How CUDA is to be used. Members that newer versions have added behind these are zero, their
 * default. */
struct ort_cuda {
    int device;
    int conv_search; /* 1: by heuristics, not by trying all for each new shape */
    size_t memory_max;
    int arena_extend; /* 1: by what is asked for, not by powers of two */
    int copy_in_default_stream;
    int has_stream;
    void *stream;
    void *arena;
    int newer[16];
};

typedef void *ort_status; /* NULL: fine; else it has to be released */

struct ort_api {
    void *gap_0[1];
    int (*get_code)(const void *status); /* 1 */
    const char *(*get_message)(const void *status);
    ort_status (*create_env)(int level, const char *id, void **ret);
    void *gap_4[3];
    ort_status (*create_session)(const void *env, const char *path, const void *options,
                                 void **ret); /* 7 */
    void *gap_8[1];
    ort_status (*run)(void *session, const void *run_options, const char *const *in_names,
                      const void *const *in, size_t n_in, const char *const *out_names,
                      size_t n_out, void **out); /* 9 */
    ort_status (*create_options)(void **ret);    /* 10 */
    void *gap_11[12];
    ort_status (*set_optimization)(void *options, int level); /* 23 */
    ort_status (*set_intra_threads)(void *options, int n);    /* 24 */
    ort_status (*set_inter_threads)(void *options, int n);    /* 25 */
    void *gap_26[4];
    ort_status (*input_count)(const void *session, size_t *ret);  /* 30 */
    ort_status (*output_count)(const void *session, size_t *ret); /* 31 */
    void *gap_32[1];
    ort_status (*input_type)(const void *session, size_t i, void **ret);  /* 33 */
    ort_status (*output_type)(const void *session, size_t i, void **ret); /* 34 */
    void *gap_35[1];
    ort_status (*input_name)(const void *session, size_t i, void *allocator, char **ret);  /* 36 */
    ort_status (*output_name)(const void *session, size_t i, void *allocator, char **ret); /* 37 */
    void *gap_38[10];
    ort_status (*create_tensor)(void *allocator, const int64_t *dims, size_t rank, int type,
                                void **ret); /* 48 */
    ort_status (*create_tensor_with_data)(const void *memory, void *p, size_t n,
                                          const int64_t *dims, size_t rank, int type,
                                          void **ret);                       /* 49 */
    ort_status (*is_tensor)(const void *value, int *ret);                    /* 50 */
    ort_status (*tensor_data)(void *value, void **ret);                      /* 51 */
    ort_status (*fill_strings)(void *value, const char *const *v, size_t n); /* 52 */
    ort_status (*strings_size)(const void *value, size_t *ret);              /* 53 */
    ort_status (*get_strings)(const void *value, void *p, size_t n, size_t *offsets,
                              size_t n_offsets);                      /* 54 */
    ort_status (*cast_to_tensor)(const void *type, const void **ret); /* 55 */
    ort_status (*type_kind)(const void *type, int *ret);              /* 56 */
    void *gap_57[3];
    ort_status (*element_type)(const void *info, int *ret);       /* 60 */
    ort_status (*rank)(const void *info, size_t *ret);            /* 61 */
    ort_status (*dims)(const void *info, int64_t *ret, size_t n); /* 62 */
    void *gap_63[2];
    ort_status (*value_info)(const void *value, void **ret); /* 65 */
    void *gap_66[3];
    ort_status (*create_cpu_memory)(int allocator, int memory, void **ret); /* 69 */
    void *gap_70[6];
    ort_status (*allocator_free)(void *allocator, void *p); /* 76 */
    void *gap_77[1];
    ort_status (*default_allocator)(void **ret); /* 78 */
    void *gap_79[14];
    void (*release_status)(ort_status status); /* 93 */
    void *gap_94[1];
    void (*release_session)(void *session); /* 95 */
    void (*release_value)(void *value);     /* 96 */
    void *gap_97[1];
    void (*release_type)(void *type);       /* 98 */
    void (*release_value_info)(void *info); /* 99 */
    void (*release_options)(void *options); /* 100 */
    void *gap_101[24];
    ort_status (*providers)(char ***ret, int *ret_n); /* 125 */
    ort_status (*release_providers)(char **v, int n); /* 126 */
    void *gap_127[3];
    ort_status (*add_config)(void *options, const char *key, const char *value); /* 130 */
    void *gap_131[21];
    ort_status (*append_cuda)(void *options, const struct ort_cuda *cuda); /* 152 */
};

struct ort_base {
    const struct ort_api *(*get_api)(uint32_t version); /* NULL: it is too old for it */
    const char *(*version)(void);
};
