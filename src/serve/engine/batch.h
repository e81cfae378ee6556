/* batch.h - requests that are run together; for batcher.c and batch.c. */
#pragma once
#include "serve/engine/batcher.h"
#include "serve/engine/runner.h"

struct batch {
    struct runner_task task; /* first */
    struct batcher *of;
    const struct backend_ops *ops;
    void *model;
    struct batch_request **v; /* a reference to each */
    size_t n;
    int64_t rows;           /* of all */
    uint64_t bytes;         /* of all inputs */
    bool here;              /* it runs on the loop's thread */
    unsigned refs;          /* requests whose outputs lie in `out`, and the batcher while it runs */
    bool apart;             /* the outputs could not be taken apart by rows: do not join again */
    struct tensors in, out; /* joined */
    int64_t began_ns, ended_ns;
};

/* The rows that a request adds to a batch; -1 when it cannot be joined with others. */
int64_t batch_rows(const struct signature *s, const struct tensors *in);
/* Are they alike but for the number of rows? */
bool batch_alike(const struct tensors *a, const struct tensors *b);
/* Does the model take and give any number of rows? */
bool batch_possible(const struct signature *s);

/* Runs all of them; each has its result then. On a thread of the runner. */
void batch_run(struct runner_task *t);
struct batch *batch_unref(struct batch *b); /* NULL is fine; always NULL */
