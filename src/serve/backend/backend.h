/* backend.h - a library that runs models: one table for each.
 *
 * A process loads one library and one model, once. Unloading gives back what the library is willing
 * to give back; the end of the process gives back the rest. All of it waits, for the disk or for
 * the processor; run() may be called by several threads at a time, the rest by one. */
#pragma once
#include "base/str.h"
#include "serve/signature.h"

struct backend_load {
    const char *path;          /* of the model: a file or a directory */
    unsigned threads;          /* that one run may use, its caller included */
    unsigned runs;             /* at a time */
    const char *device;        /* "cpu", "cuda", "cuda:1" */
    const struct strs *shapes; /* "NAME=-1x784" of inputs that the model does not say; NULL */
    /* Of those that run in processes of their own: */
    unsigned workers;  /* processes */
    size_t memory_max; /* of the tensors of one run, each way */
    int64_t run_ms;    /* for one run */
};

struct backend_ops {
    const char *name;     /* "onnxruntime" */
    const char *platform; /* what clients are told: "onnx_onnxv1" */
    const char *format;   /* as manifests of the registry have it: "onnx" */
    /* What the model may be called inside a version's directory, best first, with NULL at the end:
     * "model.onnx", "*-symbol.json". A file by itself has one of these endings. */
    const char *const *files;
    const char *says;    /* for a hint: "ONNX (model.onnx)" */
    const char *package; /* of Python, which brings the library: for another hint */
    const char *records; /* a file of TensorFlow Serving's warm-up requests, in the model; NULL */
    bool shapes;         /* it may be told them */
    bool directory;      /* a manifest's entry may be "": the model is the directory */
    /* It runs in processes of its own, each one run at a time; `threads` is for each then. */
    bool workers;
    /* On the processor run() waits for nothing else: neither another process nor a file. What is
     * known to be short may then run on the thread that answers requests. */
    bool computes;
    /* Whether a file that begins with these bytes may be one; NULL: its name is enough. */
    bool (*begins)(const uint8_t *p, size_t n);
    /* *ret_version is the library's. -EOPNOTSUPP when the library is not there or is none. */
    int (*open)(const char *path, void **ret, const char **ret_version, struct err *err);
    /* -EINVAL: the model is broken; -EOPNOTSUPP: it needs another library or device. *ret is the
     * caller's: unload(). The library stays open for as long as the process lives. */
    int (*load)(void *library, const struct backend_load *o, void **ret, struct err *err);
    /* The handle of the i-th signature, which signature() and run() take in the model's place, or
     * NULL when there are fewer; the first is the default. NULL: a model has one and is its handle.
     * Freed with the model. */
    void *(*handle)(void *model, size_t i);
    /* Into an empty one; the caller's. */
    int (*signature)(void *model, struct signature *ret, struct err *err);
    /* `in` has the signature's inputs in its order. `ret` (empty before) gets the outputs, which
     * stay valid until tensors_done(), after unload() no longer. -EINVAL: the input is to blame,
     * anything else is a fault of the model or the library. */
    int (*run)(void *model, const struct tensors *in, struct tensors *ret, struct err *err);
    /* Can it be run now? NULL: always. Does not wait. */
    bool (*ready)(void *model);
    void (*unload)(void *model); /* NULL is fine; not while run() is at work */
};

extern const struct backend_ops backend_lightgbm, backend_mxnet, backend_onnxruntime,
    backend_python, backend_tensorflow, backend_xgboost;

/* The backend for a manifest's format, or NULL. */
const struct backend_ops *backend_for_format(const char *format);
/* The backend whose model lies at `path`: a file, a directory with such a file, or a version of the
 * registry, whose model/ has it. *ret_path is the model's own path and the caller's. -ENOENT with
 * what was looked for. Waits for the disk. */
int backend_locate(const char *path, const struct backend_ops **ret, char **ret_path,
                   struct err *err);
