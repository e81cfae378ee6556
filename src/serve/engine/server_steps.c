/* server_steps.c - steps of an exchange that take long when much is to be read or printed: 64 MiB
 * of JSON are a tenth of a second, in which nobody else would be answered. So what is large is done
 * by a thread of the pool, while the request's fiber waits; and the memory that reading JSON takes
 * for a moment is charged like that of requests. */
#include "loop/work.h"
#include "serve/engine/server_private.h"

struct step {
    struct server_request *q;
    struct exchange *x;
    const char *path; /* of a call of gRPC; NULL: a body */
    uint64_t cost;
    enum exchange_step result;
};

static int step_cost(void *arg)
{
    struct step *s = arg;

    s->cost = exchange_body_cost(s->x, s->q->body.data, s->q->body.len);
    return 0;
}

static int step_read(void *arg)
{
    struct step *s = arg;
    const struct buf *b = &s->q->body;

    s->result = s->path ? exchange_grpc(s->x, s->path, b->data, b->len, &s->q->server->served)
                        : exchange_body(s->x, b->data, b->len);
    return 0;
}

static int step_finish(void *arg)
{
    struct step *s = arg;

    s->result = exchange_finish(s->x, &s->q->q.out);
    return 0;
}

/* Without a thread it is done here: slowly, but done. */
static void step_do(struct step *s, int (*fn)(void *arg), bool large)
{
    if (!large || work_run(s->q->server->loop, fn, s) < 0)
        (void)fn(s);
}

enum exchange_step server_read(struct server_request *q, struct exchange *x)
{
    struct step s = { .q = q, .x = x };
    struct budget *memory = &q->server->memory;

    if (q->body.len > SERVER_LARGE) {
        step_do(&s, step_cost, true);
        if (budget_take(memory, s.cost) < 0) {
            q->never = s.cost + q->charged > memory->max;
            return exchange_fail(x, EXCHANGE_EXHAUSTED,
                                 "The server has no memory left to read so much JSON; binary "
                                 "tensors take less");
        }
    }
    step_do(&s, step_read, q->body.len > SERVER_LARGE);
    budget_give(memory, s.cost);
    return s.result;
}

enum exchange_step server_read_grpc(struct server_request *q, struct exchange *x, const char *path)
{
    struct step s = { .q = q, .x = x, .path = path };

    step_do(&s, step_read, q->body.len > SERVER_LARGE);
    return s.result;
}

void server_finish(struct server_request *q, struct exchange *x)
{
    struct step s = { .q = q, .x = x };
    uint64_t n = 0;

    for (size_t i = 0; i < q->q.out.n; i++)
        n += q->q.out.v[i].size;
    step_do(&s, step_finish, n > SERVER_LARGE);
}
