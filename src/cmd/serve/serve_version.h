/* serve_version.h - a version of the registry that is to be served: found, and everything that can
 * be wrong with it is looked at: its format, and the library that runs it. Fibers only. */
#pragma once
#include "base/sha256.h"
#include "client/job_call.h"
#include "model/models.h"

struct serve_version {
    struct manifest m;
    char *registry;           /* its path, or hdfs://… */
    char *path;               /* of the version, there */
    char *requirements;       /* of a handler: a file of this machine; NULL: none */
    char *library;            /* or a handler's Python; NULL: the model is a program of its own */
    char sha256[SHA256_TEXT]; /* of the library; "" where the loader finds it */
    char *number;             /* the library's version; NULL: not known */
};

/* As the options say it; NULL: default. */
struct serve_find {
    const char *registry, *lib, *python;
    const json_t *plan; /* of the deployment that it is for; NULL: a new one */
    bool quiet;
};

/* `ret` is the caller's in any case: serve_version_done(). */
int serve_version_find(struct job_call *x, const struct serve_find *how,
                       const struct model_ref *ref, struct serve_version *ret, struct err *err);
void serve_version_done(struct serve_version *v);
static inline void auto_serve_version_(struct serve_version *v)
{
    serve_version_done(v);
}
#define AUTO_SERVE_VERSION AUTO(serve_version) struct serve_version

/* As a plan has it: {version, path, format, library, sha256, manifest}. The caller's; NULL when out
 * of memory.
 */
json_t *serve_version_json(const struct serve_version *v);
/* The library for a person, "ONNX Runtime 1.31.1, /…/libonnxruntime.so.1.31.1 sha256 fc44…", and as
 * {name, version, path, sha256} with null for what is not known. Both the caller's; NULL when out
 * of memory. */
char *serve_version_library(const struct serve_version *v);
json_t *serve_version_library_json(const struct serve_version *v);
