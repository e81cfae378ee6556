/* server_model.c - the model of a server: its library is opened, it is loaded, and each of its
 * signatures becomes something that requests can ask for. See server_private.h. */
#include "base/array.h"
#include "serve/engine/last_words.h"
#include "serve/engine/model_check.h"
#include "serve/engine/server_private.h"

#include <stdlib.h>

#define SIGNATURES_MAX 1024
#define PROGRAM "ydl-native"

static int add_signature(struct server *s, void *handle, struct err *err)
{
    if (ARRAY_ROOM(s->handles, s->signatures_n) < 0 ||
        ARRAY_ROOM(s->signatures, s->signatures_n) < 0)
        return err_oom(err);
    s->handles[s->signatures_n] = handle;
    s->signatures[s->signatures_n] = (struct signature){ 0 };
    return s->source.ops->signature(handle, &s->signatures[s->signatures_n++], err);
}

static int read_signatures(struct server *s, struct err *err)
{
    const struct backend_ops *ops = s->source.ops;
    int r = 0;

    if (!ops->handle)
        return add_signature(s, s->model, err);
    for (size_t i = 0; i < SIGNATURES_MAX && r == 0; i++) {
        void *handle = ops->handle(s->model, i);

        if (!handle)
            break;
        r = add_signature(s, handle, err);
    }
    return r;
}

/* It is not there, too old, or something else. */
static int open_library(struct server *s, const char **ret_version, struct err *err)
{
    const struct backend_ops *ops = s->source.ops;
    int r;

    last_words_set(PROGRAM, "the library '%s' crashed while it was loaded", s->library_path);
    r = ops->open(s->library_path, &s->library, ret_version, err);
    if (r == -EOPNOTSUPP && ops->package)
        err_hint(err,
                 "it comes with a Python package: pip install --upgrade %s, and name the "
                 "environment with --lib or put it first in PATH",
                 ops->package);
    return r;
}

static int load_model(struct server *s, const struct backend_load *load, const char *version,
                      struct err *err)
{
    int r;

    last_words_set(PROGRAM,
                   "the library '%s' (version %s) crashed while it loaded the model '%s', "
                   "which is damaged or made for another version",
                   s->library_path, version, load->path);
    r = s->source.ops->load(s->library, load, &s->model, err);
    last_words_set(PROGRAM, "the library '%s' (version %s) crashed while it ran the model '%s'",
                   s->library_path, version, load->path);
    return r;
}

unsigned server_runs(const struct server *s)
{
    const struct server_options *o = s->o;

    if (!s->source.ops->workers)
        return o->instances;
    return o->workers ? o->workers : o->cpus;
}

int server_load_model(struct server *s, const char **ret_version, struct err *err)
{
    const struct server_options *o = s->o;
    const struct backend_ops *ops = s->source.ops;
    unsigned runs = server_runs(s);
    struct backend_load load = { .path = s->source.path,
                                 .device = o->device,
                                 .runs = runs,
                                 .shapes = o->shapes,
                                 .workers = runs,
                                 .memory_max = o->memory_max,
                                 .run_ms = o->run_ms };
    int r;

    if (o->shapes && o->shapes->n > 0 && !ops->shapes)
        return err_set(err, -EINVAL, "--shape: %s models say their shapes themselves", ops->format);

    /* So many threads compute as there are processors, however many runs there are at a time: each
     * run brings a thread of its own, and the rest are shared, or divided among processes. */
    load.threads = o->cpus > runs ? o->cpus - runs + 1 : 1;
    if (ops->workers)
        load.threads = o->cpus > runs ? o->cpus / runs : 1;
    r = s->source.dir ? model_check(s->source.dir, err) : 0;
    if (r == 0)
        r = o->find(o->user, ops, &s->library_path, err);
    if (r == 0)
        r = open_library(s, ret_version, err);
    if (r == 0)
        r = load_model(s, &load, *ret_version, err);
    return r < 0 ? r : read_signatures(s, err);
}

void server_unload_model(struct server *s)
{
    for (size_t i = 0; i < s->signatures_n; i++)
        signature_done(&s->signatures[i]);
    free(s->signatures);
    free(s->handles);
    if (s->source.ops)
        s->source.ops->unload(s->model);
}

void server_request_aim(struct server_request *q, const struct exchange *x)
{
    const struct server *s = q->server;
    size_t i = (size_t)(x->signature - s->signatures);

    q->q.signature = &s->signatures[i];
    q->q.model = s->handles[i];
}
