/* batch.c - joining the inputs of requests, running them at once, and giving each its rows of the
 * outputs. Rows of joined outputs are not copied: a request's tensors look into those of its batch,
 * which stays until the last of them is gone. See batch.h. */
#include "serve/engine/batch.h"
#include "base/str.h"

#include <string.h>
#include <uv.h>

/* ---- what can be joined ---- */

static bool any_rows(const struct signature_slots *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].any_rank || l->v[i].rank == 0 || l->v[i].dims[0] != -1)
            return false;
    return l->n > 0;
}

bool batch_possible(const struct signature *s)
{
    if (s->dynamic)
        return s->rows;
    return any_rows(&s->inputs) && any_rows(&s->outputs);
}

int64_t batch_rows(const struct signature *s, const struct tensors *in)
{
    if (!batch_possible(s) || in->n == 0)
        return -1;
    for (size_t i = 0; i < in->n; i++)
        if (in->v[i].rank == 0 || in->v[i].dims[0] != in->v[0].dims[0])
            return -1;
    return in->v[0].dims[0] > 0 ? in->v[0].dims[0] : -1;
}

/* The order counts: order_inputs() (exchange.c) has put it right for all but dynamic signatures. */
bool batch_alike(const struct tensors *a, const struct tensors *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct tensor *x = &a->v[i], *y = &b->v[i];

        if (x->type != y->type || x->rank != y->rank || !str_eq(x->name, y->name) ||
            memcmp(x->dims + 1, y->dims + 1, (x->rank - 1) * sizeof(x->dims[0])) != 0)
            return false;
    }
    return true;
}

/* ---- joining ---- */

static int join_input(const struct batch *b, size_t at, struct tensor *t, struct err *err)
{
    const struct tensor *first = &b->v[0]->in.v[at];
    int64_t dims[TENSOR_DIMS_MAX];
    uint8_t *p, *to;
    size_t size = 0;
    int r;

    memcpy(dims, first->dims, sizeof(dims));
    dims[0] = b->rows;
    r = tensor_init(t, first->name, first->type, dims, first->rank, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < b->n; i++)
        size += b->v[i]->in.v[at].size;
    p = to = malloc(size ? size : 1);
    if (!p)
        return err_oom(err);
    for (size_t i = 0; i < b->n; i++) {
        const struct tensor *from = &b->v[i]->in.v[at];

        if (from->size)
            memcpy(to, from->data, from->size);
        to += from->size;
    }
    return tensor_own(t, p, size, p, free, err);
}

static int join(struct batch *b, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < b->v[0]->in.n && r == 0; i++) {
        struct tensor *t = NULL;

        r = tensors_add(&b->in, &t, err);
        if (r == 0)
            r = join_input(b, i, t, err);
    }
    return r;
}

/* Does each output have a row for each row that went in? */
static bool can_be_taken_apart(const struct batch *b)
{
    for (size_t i = 0; i < b->out.n; i++)
        if (b->out.v[i].rank == 0 || b->out.v[i].dims[0] != b->rows)
            return false;
    return true;
}

static int take_rows(const struct batch *b, struct batch_request *q, int64_t first)
{
    int r = 0;

    for (size_t i = 0; i < b->out.n && r == 0; i++) {
        struct tensor *t = NULL;

        r = tensors_add(&q->out, &t, &q->err);
        if (r == 0)
            r = tensor_rows(&b->out.v[i], first, q->own_rows, t);
        if (r == 0) {
            t->name = strdup(b->out.v[i].name);
            r = t->name ? 0 : err_oom(&q->err);
        }
    }
    return r;
}

static void take_apart(struct batch *b)
{
    int64_t first = 0;

    for (size_t i = 0; i < b->n; i++) {
        struct batch_request *q = b->v[i];

        q->result = take_rows(b, q, first);
        first += q->own_rows;
    }
}

/* ---- running ---- */

static void run_one(struct batch *b, struct batch_request *q)
{
    q->result = b->ops->run(b->model, &q->in, &q->out, &q->err);
}

/* False when the requests have to be run one by one: they could not be joined, the run failed,
 * which may be the fault of one of them alone, or the outputs do not have a row for each row
 * (`apart`, which who fills batches remembers). */
static bool run_joined(struct batch *b)
{
    struct err err = ERR_INIT;

    if (join(b, &err) < 0 || b->ops->run(b->model, &b->in, &b->out, &err) < 0)
        return false;
    if (can_be_taken_apart(b)) {
        take_apart(b);
        return true;
    }
    b->apart = true;
    return false;
}

void batch_run(struct runner_task *t)
{
    struct batch *b = (struct batch *)t;

    b->began_ns = (int64_t)uv_hrtime();
    if (b->n == 1 || !run_joined(b)) {
        tensors_done(&b->out);
        for (size_t i = 0; i < b->n; i++)
            run_one(b, b->v[i]);
    }
    tensors_done(&b->in);
    b->ended_ns = (int64_t)uv_hrtime();
}

struct batch *batch_unref(struct batch *b)
{
    if (!b || --b->refs > 0)
        return NULL;
    tensors_done(&b->in);
    tensors_done(&b->out);
    free(b->v);
    free(b);
    return NULL;
}
