/* grpc_oip_info.c - the calls of the Open Inference Protocol that ask about the server and its
 * models.
 */
#include "serve/protocol/grpc_oip.h"

#include <string.h>

static int live_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Inference__ServerLiveResponse live = INFERENCE__SERVER_LIVE_RESPONSE__INIT;
    Inference__ServerReadyResponse ready = INFERENCE__SERVER_READY_RESPONSE__INIT;

    (void)p;
    (void)n;
    (void)err;
    live.live = x->served->live;
    ready.ready = x->served->ready;
    return grpc_pack(&x->answer.body, x->op == EXCHANGE_OP_SERVER_LIVE ? &live.base : &ready.base);
}

static int server_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    static const char *extensions[] = { "model_repository" };
    Inference__ServerMetadataResponse a = INFERENCE__SERVER_METADATA_RESPONSE__INIT;

    (void)p;
    (void)n;
    (void)err;
    a.name = x->served->name;
    a.version = x->served->version;
    a.n_extensions = COUNT_OF(extensions);
    a.extensions = extensions;
    return grpc_pack(&x->answer.body, &a.base);
}

static int ready_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Inference__ModelReadyRequest *q =
        grpc_unpack(&inference__model_ready_request__descriptor, p, n, err);
    Inference__ModelReadyResponse a = INFERENCE__MODEL_READY_RESPONSE__INIT;
    int r = q ? grpc_oip_model(x, q->name, q->version, err) : err->code;

    if (q)
        inference__model_ready_request__free_unpacked(q, NULL);
    if (r < 0)
        return r;
    r = model_find(x);
    if (r == -ENOENT)
        return oip_protocol.no_model(x, r, err);
    a.ready = r == 0;
    return grpc_pack(&x->answer.body, &a.base);
}

static Inference__TensorMetadata **slots(struct pool *pool, const struct signature_slots *l)
{
    Inference__TensorMetadata *v = pool_get(pool, l->n, sizeof(*v));

    for (size_t i = 0; v && i < l->n; i++) {
        inference__tensor_metadata__init(&v[i]);
        v[i].name = l->v[i].name;
        v[i].datatype = tensor_type_oip(l->v[i].type);
        v[i].n_shape = l->v[i].rank;
        v[i].shape = l->v[i].dims;
    }
    return v ? pool_pointers(pool, v, l->n, sizeof(*v)) : NULL;
}

static int pack_metadata(struct exchange *x, struct err *err)
{
    Inference__ModelMetadataResponse a = INFERENCE__MODEL_METADATA_RESPONSE__INIT;
    const struct signature none = { 0 }, *s = model_signature(x->model, NULL);
    AUTO_POOL pool = { 0 };

    s = s ? s : &none;
    a.name = x->name;
    a.platform = x->model->platform ? x->model->platform : "";
    a.versions = pool_get(&pool, x->served->models_n, sizeof(*a.versions));
    a.n_inputs = s->inputs.n;
    a.inputs = slots(&pool, &s->inputs);
    a.n_outputs = s->outputs.n;
    a.outputs = slots(&pool, &s->outputs);
    if (!a.versions || !a.inputs || !a.outputs)
        return err_oom(err);
    for (size_t i = 0; i < x->served->models_n; i++) {
        const struct served_model *m = &x->served->models[i];

        if (strcmp(m->name, x->name) != 0 || m->state != MODEL_AVAILABLE)
            continue;
        a.versions[a.n_versions] = pool_number(&pool, m->version);
        if (!a.versions[a.n_versions++])
            return err_oom(err);
    }
    return grpc_pack(&x->answer.body, &a.base);
}

static int metadata_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Inference__ModelMetadataRequest *q =
        grpc_unpack(&inference__model_metadata_request__descriptor, p, n, err);
    int r = q ? grpc_oip_find(x, q->name, q->version, err) : err->code;

    if (q)
        inference__model_metadata_request__free_unpacked(q, NULL);
    return r < 0 ? r : pack_metadata(x, err);
}

static int pack_index(struct exchange *x, bool ready, struct err *err)
{
    Inference__RepositoryIndexResponse a = INFERENCE__REPOSITORY_INDEX_RESPONSE__INIT;
    AUTO_POOL pool = { 0 };
    Inference__ModelIndex *v = pool_get(&pool, x->served->models_n, sizeof(*v));

    for (size_t i = 0; v && i < x->served->models_n; i++) {
        const struct served_model *m = &x->served->models[i];
        Inference__ModelIndex *row = &v[a.n_models];

        if (ready && m->state != MODEL_AVAILABLE)
            continue;
        inference__model_index__init(row);
        row->name = m->name;
        row->version = pool_number(&pool, m->version);
        row->state = oip_index_state(m->state);
        row->reason = m->reason ? m->reason : "";
        if (!row->version)
            return err_oom(err);
        a.n_models++;
    }
    a.models = v ? pool_pointers(&pool, v, a.n_models, sizeof(*v)) : NULL;
    return a.models ? grpc_pack(&x->answer.body, &a.base) : err_oom(err);
}

static int index_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Inference__RepositoryIndexRequest *q =
        grpc_unpack(&inference__repository_index_request__descriptor, p, n, err);
    bool ready = q && q->ready;

    if (!q)
        return err->code;
    inference__repository_index_request__free_unpacked(q, NULL);
    return pack_index(x, ready, err);
}

const struct protocol grpc_oip_protocol = {
    .operations = {
        [EXCHANGE_OP_PREDICT] = { .read = grpc_oip_infer_read, .finish = grpc_oip_infer_finish },
        [EXCHANGE_OP_MODEL_METADATA] = { .read = metadata_read, .answer = exchange_answered },
        [EXCHANGE_OP_MODEL_READY] = { .read = ready_read, .answer = exchange_answered },
        [EXCHANGE_OP_SERVER_LIVE] = { .read = live_read, .answer = exchange_answered },
        [EXCHANGE_OP_SERVER_READY] = { .read = live_read, .answer = exchange_answered },
        [EXCHANGE_OP_SERVER_METADATA] = { .read = server_read, .answer = exchange_answered },
        [EXCHANGE_OP_INDEX] = { .read = index_read, .answer = exchange_answered },
    },
    .status = grpc_status,
    .error = grpc_error,
    .type = "application/grpc",
};
