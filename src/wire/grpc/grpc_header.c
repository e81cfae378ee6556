/* grpc_header.c - the headers of a call: a table says which of them mean something to us; of the
 * others those are kept that the server has asked for. See grpc_session.h. */
#include "base/array.h"
#include "loop/loop.h"
#include "wire/grpc/grpc_session.h"

#define ENTRY 32 /* bytes that HTTP/2 counts for each header besides its text */
#define TYPE "application/grpc"

static bool header_is(const nghttp2_vec *v, const char *text)
{
    return v->len == strlen(text) && memcmp(v->base, text, v->len) == 0;
}

/* ---- those that mean something ---- */

static void take_method(struct grpc_call *c, const nghttp2_vec *v)
{
    c->posts = header_is(v, "POST");
}

static void take_path(struct grpc_call *c, const nghttp2_vec *v)
{
    for (const struct grpc_method *m = c->session->o->methods; m->path; m++)
        if (header_is(v, m->path))
            c->method = m;
}

/* With or without "+proto", and with parameters. */
static void take_type(struct grpc_call *c, const nghttp2_vec *v)
{
    size_t n = strlen(TYPE);

    c->is_grpc = v->len >= n && memcmp(v->base, TYPE, n) == 0 &&
                 (v->len == n || v->base[n] == '+' || v->base[n] == ';');
}

static void take_encoding(struct grpc_call *c, const nghttp2_vec *v)
{
    c->identity = header_is(v, "identity");
}

static void take_timeout(struct grpc_call *c, const nghttp2_vec *v)
{
    char text[16] = "";
    int64_t ms = 0;

    if (v->len < sizeof(text))
        memcpy(text, v->base, v->len);
    if (grpc_timeout(text, &ms) < 0)
        grpc_call_refuse(c, GRPC_INTERNAL, "the grpc-timeout is none: '250m' is 250 milliseconds");
    else
        c->deadline = c->session->now + ms;
}

static const struct {
    const char *name;
    void (*read)(struct grpc_call *c, const nghttp2_vec *value);
} headers[] = {
    { ":method", take_method },       { ":path", take_path },
    { "content-type", take_type },    { "grpc-encoding", take_encoding },
    { "grpc-timeout", take_timeout },
};

/* ---- those that are kept ---- */

static int header_keep(struct grpc_call *c, const char *name, const nghttp2_vec *v)
{
    char *value = strndup((const char *)v->base, v->len);
    int r =
        value ? ARRAY_ADD(c->metadata, c->n_metadata, (struct grpc_kept){ name, value }) : -ENOMEM;

    if (r < 0)
        free(value);
    return r;
}

int grpc_header_take(struct grpc_call *c, const nghttp2_vec *name, const nghttp2_vec *value)
{
    c->header_bytes += name->len + value->len + ENTRY;
    if (c->header_bytes > c->session->o->limits.header_max) {
        grpc_call_refuse(c, GRPC_RESOURCE_EXHAUSTED, "the headers are too large");
        return 0;
    }
    if (c->whole_header)
        return 0; /* of a trailer, which gRPC's clients have not */
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        if (!header_is(name, headers[i].name))
            continue;
        headers[i].read(c, value);
        return 0;
    }
    for (const char *const *k = c->session->o->metadata; k && *k; k++)
        if (header_is(name, *k))
            return header_keep(c, *k, value);
    return 0;
}

/* Whether a header is one of gRPC is known only when all have come, in whatever order. */
void grpc_header_done(struct grpc_call *c)
{
    struct err err = ERR_INIT;

    c->whole_header = true;
    if (!c->is_grpc)
        grpc_call_reject(c, "415");
    else if (!c->posts)
        grpc_call_reject(c, "405");
    else if (!c->method)
        grpc_call_refuse(c, GRPC_UNIMPLEMENTED, "this server has no such method");
    else if (!c->identity && grpc_answer_header(c, "grpc-accept-encoding", "identity", &err) == 0)
        grpc_call_refuse(c, GRPC_UNIMPLEMENTED, "messages are accepted without compression only");
}
