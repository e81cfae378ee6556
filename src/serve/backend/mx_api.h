/* mx_api.h - as much of MXNet's C interface as is used to run models, as version 1.9 has it.
 *
 * Declared by us: the header comes with a wheel, which need not be there when ydl is built. Handles
 * are opaque. Every call returns 0, or -1 and the reason by last_error(). Lists that calls return
 * are MXNet's, until the same thread calls again; handles in them are the caller's. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define MX_CPU 1
#define MX_TYPES 13 /* of elements: see mxnet_backend.c */

/* Shapes as MXNet wants and gives them: where each begins in one list of dimensions. */
struct mx_api {
    const char *(*last_error)(void); /* of this thread */
    int (*version)(int *ret);
    int (*list_ops)(uint32_t *ret_n, const char ***ret);
    int (*symbol_load)(const char *file, void **ret);
    int (*symbol_free)(void *symbol);
    int (*symbol_args)(void *symbol, uint32_t *ret_n, const char ***ret);
    int (*symbol_aux)(void *symbol, uint32_t *ret_n, const char ***ret);
    int (*infer_shape)(void *symbol, uint32_t n, const char **names, const uint32_t *begin,
                       const uint32_t *dims, uint32_t *ret_n_in, const uint32_t **ret_in_rank,
                       const uint32_t ***ret_in_dims, uint32_t *ret_n_out,
                       const uint32_t **ret_out_rank, const uint32_t ***ret_out_dims,
                       uint32_t *ret_n_aux, const uint32_t **ret_aux_rank,
                       const uint32_t ***ret_aux_dims, int *ret_complete);
    int (*infer_type)(void *symbol, uint32_t n, const char **names, const int *types,
                      uint32_t *ret_n_in, const int **ret_in, uint32_t *ret_n_out,
                      const int **ret_out, uint32_t *ret_n_aux, const int **ret_aux,
                      int *ret_complete);
    int (*arrays_load)(const char *file, uint32_t *ret_n, void ***ret, uint32_t *ret_n_names,
                       const char ***ret_names);
    int (*array_new)(const uint32_t *dims, uint32_t rank, int device, int device_id, int delay,
                     int type, void **ret);
    int (*array_free)(void *array);
    int (*array_shape)(void *array, uint32_t *ret_rank, const uint32_t **ret_dims);
    int (*array_type)(void *array, int *ret);
    int (*array_write)(void *array, const void *p, size_t elements);
    int (*array_read)(void *array, void *p, size_t elements); /* waits for what computes it */
    int (*bind)(void *symbol, int device, int device_id, uint32_t n_map, const char **map_names,
                const int *map_devices, const int *map_ids, uint32_t n, void **args, void **grads,
                uint32_t *grad_kinds, uint32_t n_aux, void **aux, void *shared, void **ret);
    int (*forward)(void *executor, int is_training);
    int (*executor_outputs)(void *executor, uint32_t *ret_n, void ***ret);
    int (*executor_free)(void *executor);
};
