/* worker_message.h - what the server and a worker say to each other.
 *
 *     server                                    worker
 *       │      ◄── READY, a description of the model ── │  in the second region
 *       │  tensors in the first region ── RUN ──►       │
 *       │      ◄── DONE, tensors in the second ──       │
 *       │      ◄── FAILED or REFUSED, a sentence ──     │  likewise
 *
 * Messages are a fixed number of bytes on a socket that keeps their bounds. Tensors lie in a region
 * as a head, a record for each, then names and values, wherever the records say. All numbers are in
 * this machine's order: nothing here leaves it.
 *
 * What comes from a worker is hostile, and may change while it is looked at: a head and its records
 * are copied before they are read, and names and values when they have been found to lie inside the
 * region. Pure logic: any thread. */
#pragma once
#include "serve/tensor.h"

#define WORKER_MAGIC 0x574c4459u /* "YDLW" */
#define WORKER_TENSORS_MAX 256
#define WORKER_NAME_MAX 1024
#define WORKER_ALIGN 64 /* of values in a region */

enum worker_kind {
    WORKER_RUN = 1,
    WORKER_READY,
    WORKER_DONE,
    WORKER_FAILED,  /* the handler's fault */
    WORKER_REFUSED, /* the request's */
    WORKER_KINDS_,
};

struct worker_message {
    uint32_t magic, kind;
    uint64_t sequence; /* of the run; an answer has that of its question */
    uint64_t size;     /* bytes of the region that it is about */
};

struct worker_head {
    uint32_t magic, count;
};

struct worker_record {
    uint32_t type, rank, name_size, zero;
    int64_t dims[TENSOR_DIMS_MAX];
    uint64_t name_at, at, size; /* from the region's beginning */
};

/* Is it a message of a worker, as long as one, with a number that is expected? -EPROTO with a
 * sentence. */
int worker_message_check(const struct worker_message *m, size_t n, uint64_t sequence,
                         struct err *err);

/* Bytes that these take in a region. -E2BIG past `max`, or for more than WORKER_TENSORS_MAX. */
int worker_tensors_size(const struct tensors *l, size_t max, size_t *ret, struct err *err);
/* Puts them there; `p` has as many bytes as worker_tensors_size() said. */
void worker_tensors_put(const struct tensors *l, uint8_t *p);
/* Takes copies of the tensors in `n` bytes at `p`, which somebody else may be changing, into an
 * empty `ret`. -EPROTO with a sentence; `ret` is empty then. */
int worker_tensors_take(const uint8_t *p, size_t n, struct tensors *ret, struct err *err);
/* A copy of a text of at most `cap` - 1 bytes, cleaned for logs and answers. */
void worker_text_take(const uint8_t *p, size_t n, char *out, size_t cap);
