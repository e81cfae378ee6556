/* grpc_tfs_info.c - TensorFlow Serving's GetModelMetadata and GetModelStatus. */
#include "serve/protocol/grpc_tfs.h"

#include <string.h>

#define PREDICT_METHOD "tensorflow/serving/predict"
#define MAP_URL "type.googleapis.com/tensorflow.serving.SignatureDefMap"

static Tfs__TensorInfoEntry **slots(struct pool *pool, const struct signature_slots *l)
{
    Tfs__TensorInfoEntry *v = pool_get(pool, l->n, sizeof(*v));
    Tfs__TensorInfo *info = pool_get(pool, l->n, sizeof(*info));

    if (!v || !info)
        return NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct signature_slot *s = &l->v[i];

        tfs__tensor_info_entry__init(&v[i]);
        tfs__tensor_info__init(&info[i]);
        v[i].key = s->name;
        v[i].value = &info[i];
        info[i].encoding_case = TFS__TENSOR_INFO__ENCODING_NAME;
        info[i].name = s->internal_name ? s->internal_name : s->name;
        info[i].dtype = (Tfs__DataType)tensor_type_tf_number(s->type);
        info[i].tensor_shape = grpc_tfs_shape(pool, s->dims, s->rank);
        if (!info[i].tensor_shape)
            return NULL;
        info[i].tensor_shape->unknown_rank = s->any_rank;
    }
    return pool_pointers(pool, v, l->n, sizeof(*v));
}

/* All signatures of a model, as one message. */
static int pack_signatures(const struct served_model *m, struct buf *out)
{
    Tfs__SignatureDefMap map = TFS__SIGNATURE_DEF_MAP__INIT;
    AUTO_POOL pool = { 0 };
    Tfs__SignatureDefEntry *v = pool_get(&pool, m->signatures_n, sizeof(*v));
    Tfs__SignatureDef *defs = pool_get(&pool, m->signatures_n, sizeof(*defs));

    if (!v || !defs)
        return -ENOMEM;
    for (size_t i = 0; i < m->signatures_n; i++) {
        const struct signature *s = &m->signatures[i];

        tfs__signature_def_entry__init(&v[i]);
        tfs__signature_def__init(&defs[i]);
        v[i].key = signature_name(s);
        v[i].value = &defs[i];
        defs[i].method_name = s->method ? s->method : PREDICT_METHOD;
        defs[i].n_inputs = s->inputs.n;
        defs[i].inputs = slots(&pool, &s->inputs);
        defs[i].n_outputs = s->outputs.n;
        defs[i].outputs = slots(&pool, &s->outputs);
        if (!defs[i].inputs || !defs[i].outputs)
            return -ENOMEM;
    }
    map.n_signature_def = m->signatures_n;
    map.signature_def = pool_pointers(&pool, v, m->signatures_n, sizeof(*v));
    return map.signature_def ? grpc_pack(out, &map.base) : -ENOMEM;
}

/*     GetModelMetadataResponse
 *       metadata["signature_def"] = Any
 *         type_url  "type.googleapis.com/tensorflow.serving.SignatureDefMap"
 *         value     the bytes of a SignatureDefMap
 *
 * An Any holds a message that is packed by itself: it is made first, and travels as bytes. */
static int pack_metadata(struct exchange *x, struct err *err)
{
    Tfs__GetModelMetadataResponse a = TFS__GET_MODEL_METADATA_RESPONSE__INIT;
    Tfs__AnyEntry entry = TFS__ANY_ENTRY__INIT, *entries = &entry;
    Tfs__Any any = TFS__ANY__INIT;
    AUTO_BUF map = { .max = EXCHANGE_ANSWER_MAX };
    Tfs__Int64Value version;
    Tfs__ModelSpec spec;

    if (pack_signatures(x->model, &map) < 0)
        return err_oom(err);
    any.type_url = MAP_URL;
    any.value = (ProtobufCBinaryData){ map.len, map.data };
    entry.key = "signature_def";
    entry.value = &any;
    grpc_tfs_answered(x, &version, &spec);
    a.model_spec = &spec;
    a.n_metadata = 1;
    a.metadata = &entries;
    return grpc_pack(&x->answer.body, &a.base);
}

static int check_fields(const Tfs__GetModelMetadataRequest *q, struct err *err)
{
    if (q->n_metadata_field == 0)
        return exchange_err(err, EXCHANGE_INVALID,
                            "GetModelMetadataRequest must specify at least one metadata_field");
    for (size_t i = 0; i < q->n_metadata_field; i++) {
        if (strcmp(q->metadata_field[i], "signature_def") != 0)
            return exchange_err(err, EXCHANGE_INVALID, "Metadata field %.100s is not supported",
                                q->metadata_field[i]);
    }
    return 0;
}

static int metadata_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Tfs__GetModelMetadataRequest *q =
        grpc_unpack(&tfs__get_model_metadata_request__descriptor, p, n, err);
    int r = q ? check_fields(q, err) : err->code;

    if (r == 0)
        r = grpc_tfs_find(x, q->model_spec, err);
    if (q)
        tfs__get_model_metadata_request__free_unpacked(q, NULL);
    return r < 0 ? r : pack_metadata(x, err);
}

static int pack_status(struct exchange *x, struct err *err)
{
    Tfs__GetModelStatusResponse a = TFS__GET_MODEL_STATUS_RESPONSE__INIT;
    AUTO_POOL pool = { 0 };
    size_t all = x->served->models_n;
    Tfs__ModelVersionStatus *v = pool_get(&pool, all, sizeof(*v));
    Tfs__Status *status = pool_get(&pool, all, sizeof(*status));

    if (!v || !status)
        return err_oom(err);
    for (size_t i = 0; i < all; i++) {
        const struct served_model *m = &x->served->models[i];
        size_t k = a.n_model_version_status;

        if (strcmp(m->name, x->name) != 0 || (x->version >= 0 && m->version != x->version))
            continue;
        tfs__model_version_status__init(&v[k]);
        tfs__status__init(&status[k]);
        v[k].version = m->version;
        v[k].state = (Tfs__State)m->state;
        v[k].status = &status[k];
        status[k].error_code = (int32_t)m->code;
        status[k].error_message = m->reason ? m->reason : "";
        a.n_model_version_status++;
    }
    if (a.n_model_version_status == 0)
        return tfs_no_version(x, err);
    a.model_version_status = pool_pointers(&pool, v, a.n_model_version_status, sizeof(*v));
    return a.model_version_status ? grpc_pack(&x->answer.body, &a.base) : err_oom(err);
}

/* A version that is being loaded, or could not be, has a status too: other than for a prediction it
 * is no failure that model_find() finds none that is available. Only a label that nobody has is
 * one. */
static int status_read(struct exchange *x, const void *p, size_t n, struct err *err)
{
    Tfs__GetModelStatusRequest *q =
        grpc_unpack(&tfs__get_model_status_request__descriptor, p, n, err);
    int r = q ? grpc_tfs_spec(x, q->model_spec, err) : err->code;

    if (q)
        tfs__get_model_status_request__free_unpacked(q, NULL);
    if (r < 0)
        return r;
    if (x->label && model_find(x) == -ENODATA)
        return tfs_protocol.no_model(x, -ENODATA, err);
    if (x->label && x->model)
        x->version = x->model->version;
    return pack_status(x, err);
}

const struct protocol grpc_tfs_protocol = {
    .operations = {
        [EXCHANGE_OP_PREDICT] = { .read = grpc_tfs_predict_read, .finish = grpc_tfs_predict_finish },
        [EXCHANGE_OP_MODEL_METADATA] = { .read = metadata_read, .answer = exchange_answered },
        [EXCHANGE_OP_MODEL_STATUS] = { .read = status_read, .answer = exchange_answered },
    },
    .status = grpc_status,
    .error = grpc_error,
    .type = "application/grpc",
};
