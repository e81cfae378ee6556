/* protocol.h - what a protocol is, and what they share. Private to this folder.
 *
 * A protocol is a table of what can be asked in it. exchange.c routes a request to one, finds the
 * model, and calls the functions of the row; whatever fails comes back to it as a struct err, whose
 * `detail` is the exchange_code, and becomes an answer in the words of the protocol. */
#pragma once
#include "serve/protocol/exchange.h"

struct operation {
    bool model; /* is about one version of a model, which must be there and ready */
    bool body;  /* reads a body first: POST */
    /* Reads the body into x->inputs; or answers, when there is nothing to run. NULL without body.
     */
    int (*read)(struct exchange *x, const void *p, size_t n, struct err *err);
    /* Writes the answer's body: for a request without a body, or without a model to run. */
    int (*answer)(struct exchange *x, struct err *err);
    /* Writes the answer's body from a model's outputs. */
    int (*finish)(struct exchange *x, const struct tensors *outputs, struct err *err);
};

#define OPERATIONS (EXCHANGE_OP_UNLOAD + 1)

struct protocol {
    struct operation operations[OPERATIONS];
    int (*status)(enum exchange_code code); /* HTTP's, for a failure */
    /* The body of an answer that tells a failure. */
    int (*error)(struct buf *out, enum exchange_code code, const char *text);
    /* What is said of a model that model_find() did not find. */
    int (*no_model)(const struct exchange *x, int code, struct err *err);
    const char *type; /* Content-Type of answers */
};

extern const struct protocol tfs_protocol, oip_protocol;

/* Sets `err` with a code of gRPC in `detail`; always negative. */
int exchange_err(struct err *err, enum exchange_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The `answer` of operations that have answered while reading. */
int exchange_answered(struct exchange *x, struct err *err);
/* What a new exchange begins with. */
void exchange_init(struct exchange *x, const struct served *s);

/* Which protocol and operation a request means: x->protocol, op, name, version, label. 0, or 1 when
 * it is none of ours; a failure has x->protocol set, so that it can be told. */
int route(struct exchange *x, const struct exchange_request *q, struct err *err);

/* The model of x->name, and its x->version, x->label or newest version that is available. -ENOENT:
 * no such model or version; -ENODATA: no such label; -EAGAIN: not available now (x->model is one of
 * its versions then). */
int model_find(struct exchange *x);
/* The signature of that name, or the default one for NULL. NULL: there is none. */
const struct signature *model_signature(const struct served_model *m, const char *name);

/* A tensor of these outputs for each slot of the signature that is wanted, in its order; `ret` has
 * room for all. How many; INTERNAL when one is missing. */
int pick_outputs(const struct exchange *x, const struct tensors *outputs, const struct tensor **ret,
                 struct err *err);

/* TensorFlow Serving. */
int tfs_predict_read(struct exchange *x, const void *p, size_t n, struct err *err);
int tfs_predict_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
int tfs_examples_read(struct exchange *x, const void *p, size_t n, struct err *err);
int tfs_classify_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
int tfs_regress_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
int tfs_status(struct exchange *x, struct err *err);
int tfs_metadata(struct exchange *x, struct err *err);
/* That there is no such version to tell of. */
int tfs_no_version(const struct exchange *x, struct err *err);
/* "float": TensorFlow's name of an element type in messages. */
const char *tfs_type_name(enum tensor_type t);

/* Open Inference Protocol. */
int oip_infer_read(struct exchange *x, const void *p, size_t n, struct err *err);
int oip_infer_finish(struct exchange *x, const struct tensors *outputs, struct err *err);
int oip_raw_read(struct exchange *x, const void *p, size_t n, struct err *err);
int oip_health(struct exchange *x, struct err *err);
int oip_server_metadata(struct exchange *x, struct err *err);
int oip_model_metadata(struct exchange *x, struct err *err);
int oip_model_ready(struct exchange *x, struct err *err);
int oip_index_read(struct exchange *x, const void *p, size_t n, struct err *err);
int oip_load_read(struct exchange *x, const void *p, size_t n, struct err *err);
/* "READY": a state as the index of the repository has it. */
const char *oip_index_state(enum model_state s);
