/* exchange.h - one request to a model server and its answer, in any of the protocols.
 *
 * Bytes in, tensors out, a model is run by somebody else, tensors in, bytes out. No socket, no
 * backend, no clock: the server that holds these drives an exchange through its steps.
 *
 *     struct exchange x = { 0 };                  // one per request
 *
 *     step = exchange_begin(&x, &request, &server);      // method, path and headers: no body yet
 *     if (step == EXCHANGE_BODY)                         // read the body, then
 *         step = exchange_body(&x, body, size);
 *     if (step == EXCHANGE_RUN) {                        // run x.model by x.signature on x.inputs
 *         if (… worked)
 *             exchange_finish(&x, outputs, n);
 *         else
 *             exchange_fail(&x, EXCHANGE_UNAVAILABLE, "…");   // also: queue full, deadline, …
 *     }
 *     // step is EXCHANGE_DONE now: x.answer is what to send
 *     exchange_done(&x);
 *
 * exchange_fail() may be called at any step before EXCHANGE_DONE, for instance when the body is too
 * large or its sender too slow; the protocol of the request decides what the answer looks like.
 * EXCHANGE_OTHER means that the path is none of ours: the server has pages of its own (/metrics),
 * or answers 404 by exchange_fail(&x, EXCHANGE_NOT_FOUND, …).
 *
 * Who owns what. The exchange owns what it has parsed (inputs, wanted outputs, the id) and its
 * answer; exchange_done() frees them, and needs nothing else to be there still. It borrows:
 *   - of the request, method, target and headers during exchange_begin() only;
 *   - the body until x.inputs are no longer used: binary tensors are looked at where they arrived.
 *     It may be freed after exchange_finish(), exchange_fail() or exchange_done(), whichever is
 *     first: each of them drops the inputs;
 *   - the served models, until EXCHANGE_DONE: x.model and x.signature point to them. A model that
 *     can go away is held by the server for as long (a reference per exchange);
 *   - the outputs during exchange_finish() only.
 *
 * Any thread, one at a time per exchange; steps may be taken on different threads. Nothing waits.
 * Out of memory is answered like any other failure (500), perhaps without a body. */
#pragma once
#include "serve/signature.h"

/* Failures by the names and numbers that gRPC has; HTTP's status follows by protocol. */
enum exchange_code {
    EXCHANGE_OK = 0,
    EXCHANGE_CANCELLED = 1,
    EXCHANGE_UNKNOWN = 2,
    EXCHANGE_INVALID = 3, /* the request is wrong */
    EXCHANGE_DEADLINE = 4,
    EXCHANGE_NOT_FOUND = 5,
    EXCHANGE_EXISTS = 6,
    EXCHANGE_DENIED = 7,
    EXCHANGE_EXHAUSTED = 8, /* the queue is full, the body too large: HTTP 429 */
    EXCHANGE_PRECONDITION = 9,
    EXCHANGE_ABORTED = 10,
    EXCHANGE_RANGE = 11,
    EXCHANGE_UNIMPLEMENTED = 12,
    EXCHANGE_INTERNAL = 13,
    EXCHANGE_UNAVAILABLE = 14,
    EXCHANGE_DATA_LOSS = 15,
    EXCHANGE_UNAUTHENTICATED = 16,
};

/* The states of a model version, as TensorFlow Serving names and numbers them. */
enum model_state {
    MODEL_UNKNOWN = 0,
    MODEL_START = 10,
    MODEL_LOADING = 20,
    MODEL_AVAILABLE = 30,
    MODEL_UNLOADING = 40,
    MODEL_END = 50,
};

/* One version of a model, as its server knows it. */
struct served_model {
    const char *name;
    int64_t version;           /* >= 1 */
    const char *const *labels; /* aliases that lead to this version; `labels_n` of them */
    size_t labels_n;
    const char *platform; /* "onnx_onnxv1"; NULL: "" */
    enum model_state state;
    enum exchange_code code;            /* why it is not available, OK without a reason */
    const char *reason;                 /* the same as a sentence; NULL: "" */
    const struct signature *signatures; /* one named SIGNATURE_DEFAULT, or the first, is the
                                           default; none as long as it is not loaded */
    size_t signatures_n;
    void *user; /* the server's own */
};

/* The server itself. */
struct served {
    const char *name, *version; /* "ydl", "0.15" */
    bool live, ready;           /* what /v2/health says */
    const struct served_model *models;
    size_t models_n;
    size_t answer_max; /* most bytes of an answer; 0: EXCHANGE_ANSWER_MAX */
};
#define EXCHANGE_ANSWER_MAX (256 * MIB)
/* Most bytes of JSON in a body; reading them takes up to 16 times as much memory, which is what
 * exchange_body_cost() tells. Binary tensors are limited by the server only. */
#define EXCHANGE_JSON_MAX (64 * MIB)

/* What is asked for. */
enum exchange_op {
    EXCHANGE_OP_NONE,
    EXCHANGE_OP_PREDICT, /* also infer */
    EXCHANGE_OP_CLASSIFY,
    EXCHANGE_OP_REGRESS,
    EXCHANGE_OP_MODEL_STATUS,
    EXCHANGE_OP_MODEL_METADATA,
    EXCHANGE_OP_MODEL_READY,
    EXCHANGE_OP_SERVER_LIVE,
    EXCHANGE_OP_SERVER_READY,
    EXCHANGE_OP_SERVER_METADATA,
    EXCHANGE_OP_INDEX, /* what the repository has */
    EXCHANGE_OP_LOAD,  /* answered with UNIMPLEMENTED: deployments decide what is loaded */
    EXCHANGE_OP_UNLOAD,
};

enum exchange_step {
    EXCHANGE_OTHER, /* not a path of these protocols */
    EXCHANGE_BODY,  /* the request's body is needed: exchange_body() */
    EXCHANGE_RUN,   /* the model is to be run on x.inputs */
    EXCHANGE_DONE,  /* x.answer is complete */
};

/* The head of an HTTP request. */
struct exchange_request {
    const char *method;                  /* "POST" */
    const char *target;                  /* path and query as they came, still quoted */
    const char *inference_header_length; /* Inference-Header-Content-Length; NULL: not there */
    const char *content_type;            /* NULL: not there */
};

/* An output that the request names. */
struct exchange_wanted {
    char *name;
    bool binary; /* as bytes behind the JSON of the answer */
};

struct exchange_answer {
    int status;              /* of HTTP */
    enum exchange_code code; /* of gRPC, and for counting */
    const char *type;        /* Content-Type; static */
    /* What Inference-Header-Content-Length says, when there is a binary part; else -1. */
    int64_t header_length;
    const char *allow; /* the Allow header of a 405; NULL: none; static */
    struct buf body;   /* may be moved out: another buffer in its place must be zeroed */
};

struct protocol; /* how one of them reads and writes: private to this folder */

/* Zeroed before exchange_begin(). The server reads; only this folder writes. */
struct exchange {
    enum exchange_op op;
    const struct served *served;
    const struct served_model *model; /* found by name and version or label; NULL: none asked for */
    const struct signature *signature; /* the one to run; for EXCHANGE_RUN */
    struct signature
        own; /* what a dynamic one is for this request; `signature` points to it then */
    struct tensors inputs;          /* checked against it, all there, in its order */
    struct exchange_wanted *wanted; /* outputs to compute; none: all. Names exist. */
    size_t wanted_n;
    struct exchange_answer answer;

    /* What the protocol remembers from the request for its answer. */
    const struct protocol *protocol;
    char *name, *label, *id;
    int64_t version; /* -1: none asked for */
    int64_t rows;    /* of a request in rows (TensorFlow Serving's "instances"); -1: in columns */
    bool bare;       /* one input without its name */
    bool raw;        /* a binary request without a JSON header */
    bool binary_output;
    int64_t json_length; /* of the JSON before binary tensors; -1: all of the body */
};

enum exchange_step exchange_begin(struct exchange *x, const struct exchange_request *q,
                                  const struct served *s);
/* Bytes of memory, at most, that exchange_body() takes while it reads: not what it keeps. It looks
 * at all of the JSON. */
uint64_t exchange_body_cost(const struct exchange *x, const void *p, size_t n);
/* `p` is borrowed as told above. */
enum exchange_step exchange_body(struct exchange *x, const void *p, size_t n);
/* Outputs of the model by name, in any order; what the request does not want may be among them, and
 * what is missing makes it an internal error. Always EXCHANGE_DONE, with an answer. */
enum exchange_step exchange_finish(struct exchange *x, const struct tensors *outputs);
/* Answers with an error in the protocol of the request. `text` is copied. */
enum exchange_step exchange_fail(struct exchange *x, enum exchange_code code, const char *text);
/* Frees what the exchange owns, at any step; it is zeroed then. */
void exchange_done(struct exchange *x);

/* A call of gRPC instead of an HTTP request: `path` is "/inference.GRPCInferenceService/ModelInfer"
 * and so on, `p` one message without its frame, borrowed like a body. EXCHANGE_RUN or
 * EXCHANGE_DONE; EXCHANGE_OTHER for a method that is not known. The answer's body is a message
 * without its frame; with a code other than OK it is the status message, as text. */
enum exchange_step exchange_grpc(struct exchange *x, const char *path, const void *p, size_t n,
                                 const struct served *s);

static inline void auto_exchange_(struct exchange *x)
{
    exchange_done(x);
}
#define AUTO_EXCHANGE AUTO(exchange) struct exchange
