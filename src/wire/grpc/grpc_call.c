/* grpc_call.c - one call: what it holds, and what a handler asks of it. Its answer is in
 * grpc_answer.c.
 *
 *     receiving ──the client's last frame──► running ──grpc_answer(), grpc_fail()──► answered
 *         └───────── refused: too large, too slow, no such method ─────────────────────▲
 *
 * Two things hold a call: its stream (`id`, 0 once nghttp2 has closed it) and its handler
 * (`running`). A client that goes away closes the stream, upon which the handler is cancelled;
 * whichever of the two ends last frees the call. See grpc.h and grpc_session.h. */
#include "loop/loop.h"
#include "wire/grpc/grpc_session.h"

#include <string.h>

/* ---- budgets ---- */

bool grpc_budget_take(struct grpc_call *c, size_t n)
{
    struct grpc_session *s = c->session;

    if (budget_take(&s->held, n) < 0)
        return false;
    if (budget_take(s->all, n) < 0) {
        budget_give(&s->held, n);
        return false;
    }
    c->held += n;
    return true;
}

void grpc_budget_give(struct grpc_call *c, size_t n)
{
    budget_give(&c->session->held, n);
    budget_give(c->session->all, n);
    c->held -= n;
}

/* ---- life ---- */

struct grpc_call *grpc_call_new(struct grpc_session *s, int32_t id)
{
    struct grpc_call *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->session = s;
    c->id = id;
    c->began = s->now;
    c->deadline = LOOP_NEVER;
    c->identity = true;
    grpc_frame_init(&c->in, s->o->limits.message_max);
    c->next = s->calls;
    if (c->next)
        c->next->prev = c;
    s->calls = c;
    s->n_calls++;
    return c;
}

void grpc_call_forget(struct grpc_call *c)
{
    grpc_frame_done(&c->in);
    grpc_budget_give(c, c->held - c->out.len);
}

static void call_kept_free(struct grpc_kept *v, size_t n)
{
    while (n > 0)
        free(v[--n].value);
    free(v);
}

void grpc_call_free(struct grpc_call *c)
{
    struct grpc_session *s = c->session;

    *(c->prev ? &c->prev->next : &s->calls) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    s->n_calls--;
    s->quiet_since = s->now;
    grpc_budget_give(c, c->held);
    grpc_frame_done(&c->in);
    buf_done(&c->out);
    call_kept_free(c->metadata, c->n_metadata);
    call_kept_free(c->answer, c->n_answer);
    free(c);
}

void grpc_call_closed(struct grpc_call *c)
{
    c->id = 0;
    if (c->running)
        c->session->hooks.on_gone(c->session->hooks.user, c);
    else
        grpc_call_free(c);
}

/* ---- what a handler asks ---- */

const char *grpc_path(const struct grpc_call *c)
{
    return c->method->path;
}

struct view grpc_message(const struct grpc_call *c)
{
    return view_of(c->in.body.data, c->in.body.len);
}

const char *grpc_metadata(const struct grpc_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_metadata; i++)
        if (strcmp(c->metadata[i].name, name) == 0)
            return c->metadata[i].value;
    return NULL;
}

int64_t grpc_deadline(const struct grpc_call *c)
{
    return c->deadline;
}

struct stream *grpc_stream(struct grpc_call *c)
{
    return c->session->hooks.stream;
}
