/* python_handler.c - a Python handler: model.py with load(dir) and predict(inputs), run by worker
 * processes beside the server (serve/worker).
 *
 * The library is the interpreter. What a handler takes and gives is what its signature() says; one
 * without takes any tensors. */
#include "base/json.h"
#include "base/str.h"
#include "serve/backend/backend.h"
#include "serve/worker/worker_pool.h"

#include <stdio.h>
#include <string.h>

#define LOAD_MS (10 * 60 * 1000)
#define SLOTS_MAX 256

struct handler_library {
    char *python;
    char version[48]; /* known when a worker runs */
};

struct handler_model {
    struct handler_library *library;
    struct worker_pool *pool;
};

static int handler_open(const char *path, void **ret, const char **ret_version, struct err *err)
{
    AUTO_FREE struct handler_library *l = calloc(1, sizeof(*l));

    if (!l || !(l->python = strdup(path)))
        return err_oom(err);
    *ret_version = l->version;
    *ret = take(l);
    return 0;
}

/* ---- what the worker tells of the model ---- */

static int bad_signature(struct err *err, const char *what)
{
    err_set(err, -EINVAL, "the handler's signature(): %s", what);
    err_hint(err, "it returns {\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": "
                  "[-1, 4]}], \"outputs\": [...]}; shape may be left out");
    return -EINVAL;
}

static int read_dims(const json_t *shape, int64_t *dims, size_t *ret_rank, struct err *err)
{
    *ret_rank = json_array_size(shape);
    if (*ret_rank > TENSOR_DIMS_MAX)
        return bad_signature(err, "a shape has more than 8 dimensions");
    for (size_t i = 0; i < *ret_rank; i++) {
        const json_t *d = json_array_get(shape, i);

        if (!json_is_integer(d))
            return bad_signature(err, "a dimension is a whole number, or -1 for any");
        dims[i] = json_integer_value(d);
    }
    return 0;
}

static int read_slot(struct signature_slots *l, const json_t *v, struct err *err)
{
    const char *name = json_string_value(json_object_get(v, "name"));
    const char *type = json_string_value(json_object_get(v, "datatype"));
    const json_t *shape = json_object_get(v, "shape");
    enum tensor_type t = type ? tensor_type_of_oip(type, strlen(type)) : TENSOR_NONE;
    int64_t dims[TENSOR_DIMS_MAX];
    size_t rank = 0;
    int r;

    if (!name || !*name)
        return bad_signature(err, "an input or output has no name");
    if (t == TENSOR_NONE)
        return bad_signature(err, "'datatype' is one of the Open Inference Protocol, such as FP32");
    if (shape && !json_is_null(shape) && !json_is_array(shape))
        return bad_signature(err, "'shape' is a list");
    r = read_dims(shape, dims, &rank, err);
    if (r < 0)
        return r;
    return signature_add(l, name, NULL, t, json_is_array(shape) ? dims : NULL, rank, err);
}

static int read_slots(struct signature_slots *l, const json_t *list, struct err *err)
{
    const json_t *v;
    size_t i;
    int r = 0;

    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > SLOTS_MAX)
        return bad_signature(err, "'inputs' and 'outputs' are lists of 1 to 256");
    json_array_foreach(list, i, v)
    {
        if (r == 0)
            r = read_slot(l, v, err);
    }
    return r;
}

/* What a worker says of the handler when it has loaded it:
 *
 *     {"python": "3.11.2", "batch": true, "signature": {"inputs": […], "outputs": […]}}
 *
 * Without a signature it is dynamic, and only then `batch` counts: of another one its shapes say
 * whether rows can be joined. */
static int handler_signature(void *model, struct signature *ret, struct err *err)
{
    const struct handler_model *m = model;
    const char *about = worker_pool_about(m->pool), *version;
    AUTO_JSON *v = NULL;
    const json_t *given;
    int r = json_parse("what the handler tells of itself", about, strlen(about), &v, err);

    if (r < 0)
        return r;
    version = json_string_value(json_object_get(v, "python"));
    (void)snprintf(m->library->version, sizeof(m->library->version), "%s", version ? version : "");
    given = json_object_get(v, "signature");
    ret->rows = json_is_true(json_object_get(v, "batch"));
    ret->dynamic = !given || json_is_null(given);
    if (ret->dynamic)
        return 0;
    r = read_slots(&ret->inputs, json_object_get(given, "inputs"), err);
    return r < 0 ? r : read_slots(&ret->outputs, json_object_get(given, "outputs"), err);
}

/* ---- a model ---- */

/* The pool waits until all workers have loaded the model. LOAD_MS is the bound for one of them, and
 * --load-timeout the server's own: whichever is shorter counts. */
static int handler_load(void *library, const struct backend_load *o, void **ret, struct err *err)
{
    AUTO_FREE struct handler_model *m = calloc(1, sizeof(*m));
    struct handler_library *l = library;
    const struct worker_pool_options p = {
        .python = l->python,
        .file = o->path,
        .workers = o->workers ? o->workers : 1,
        .threads = o->threads ? o->threads : 1,
        .memory_max = o->memory_max,
        .load_ms = LOAD_MS,
        .run_ms = o->run_ms,
    };
    int r;

    if (!m)
        return err_oom(err);
    m->library = l;
    r = worker_pool_new(&p, &m->pool, err);
    if (r < 0) {
        err_hint(err,
                 "its worker's output is on standard error; packages that it needs must be in "
                 "the environment of '%s'",
                 l->python);
        return err_wrap(err, r, "'%s'", o->path);
    }
    *ret = take(m);
    return 0;
}

static int handler_run(void *model, const struct tensors *in, struct tensors *ret, struct err *err)
{
    const struct handler_model *m = model;

    return worker_pool_run(m->pool, in, ret, err);
}

static bool handler_ready(void *model)
{
    const struct handler_model *m = model;

    return worker_pool_ready(m->pool);
}

static void handler_unload(void *model)
{
    struct handler_model *m = model;

    if (!m)
        return;
    worker_pool_free(m->pool);
    free(m->library->python); /* no other model has it */
    free(m->library);
    free(m);
}

static const char *const handler_files[] = { "model.py", NULL };

const struct backend_ops backend_python = {
    .name = "python",
    .platform = "python",
    .format = "python",
    .files = handler_files,
    .says = "a Python handler (model.py)",
    .workers = true,
    .open = handler_open,
    .load = handler_load,
    .signature = handler_signature,
    .run = handler_run,
    .ready = handler_ready,
    .unload = handler_unload,
};
