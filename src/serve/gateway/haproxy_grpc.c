/* haproxy_grpc.c - see haproxy_grpc.h. An answer to a call is one of HTTP 200 without a body, whose
 * headers have the status; clients show its text. */
#include "serve/gateway/haproxy_grpc.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define GRPC_SUFFIX ":grpc"
#define GRPC_IS_CALL "{ var(txn.call) -m found }"

/* Of the message: the frame's head, then the name of a model and its version. */
#define GRPC_BEGINNING "512"
#define GRPC_FRAME_HEAD "5"
#define GRPC_FIELDS "req.body,bytes(" GRPC_FRAME_HEAD "," GRPC_BEGINNING ")"

/* Status codes of gRPC that are used here. */
enum { GRPC_NOT_FOUND = 5, GRPC_UNIMPLEMENTED = 12, GRPC_UNAVAILABLE = 14, GRPC_NO_KEY = 16 };

const char *haproxy_grpc_backend(char out[HAPROXY_BACKEND], const struct gateway_model *m,
                                 int64_t version)
{
    (void)snprintf(out, HAPROXY_BACKEND, "%s:%lld" GRPC_SUFFIX, m->name, (long long)version);
    return out;
}

size_t haproxy_grpc_beside(const char *backend)
{
    size_t n = strlen(backend), suffix = strlen(GRPC_SUFFIX);

    return n > suffix && str_eq(backend + n - suffix, GRPC_SUFFIX) ? n - suffix : 0;
}

bool haproxy_grpc_is_wanted(const struct gateway_spec *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->models[i].n; k++)
            if (s->models[i].versions[k].grpc)
                return true;
    return false;
}

/* `text` has nothing that would have to be quoted, in either format. */
static int grpc_answer(struct buf *out, int status, const char *text, const char *condition)
{
    return buf_printf(out,
                      "    http-request return status 200 hdr content-type application/grpc "
                      "hdr grpc-status %d hdr grpc-message \"%s\" %s\n",
                      status, text, condition);
}

int haproxy_grpc_calls(struct buf *out)
{
    return buf_add_str(out, "    http-request set-var(txn.call) int(1) if { fc_http_major 2 } "
                            "{ req.hdr(content-type) -m beg application/grpc }\n"
                            "    http-after-response set-var(txn.grpc) res.hdr(grpc-status)\n");
}

int haproxy_grpc_key(struct buf *out, const char *text)
{
    return grpc_answer(out, GRPC_NO_KEY, text, "if " GRPC_IS_CALL " !open !known");
}

/* Of a message in a message the inner one is taken out first: a path of fields would be followed
 * beyond its end. A name that is not that of a model here is answered by the first model, which
 * says so.
 *
 * Where the names stand, by the numbers of the fields:
 *
 *     oip   ModelInferRequest, ModelMetadataRequest …   name 1, version 2, both texts
 *     tfs   PredictRequest …                            model_spec 1 { name 1, version 2 { 1 } } */
int haproxy_grpc_names(const char *dir, struct buf *out)
{
    return buf_printf(
        out,
        "    acl oip path_beg /inference.\n"
        "    acl tfs path_beg /tensorflow.serving.\n"
        "    http-request wait-for-body time 10s at-least " GRPC_BEGINNING " if " GRPC_IS_CALL "\n"
        "    http-request set-var(txn.name) " GRPC_FIELDS ",protobuf(1) if " GRPC_IS_CALL " oip\n"
        "    http-request set-var(txn.name) " GRPC_FIELDS
        ",protobuf(1),protobuf(1) if " GRPC_IS_CALL " tfs\n"
        "    http-request set-var(txn.model) var(txn.name) if " GRPC_IS_CALL
        " { var(txn.name),map_str(%s/route.map) -m found }\n"
        "    http-request set-var(txn.version) " GRPC_FIELDS ",protobuf(2) if " GRPC_IS_CALL
        " oip\n"
        "    http-request set-var(txn.version) " GRPC_FIELDS
        ",protobuf(1),protobuf(2),protobuf(1,int64) if " GRPC_IS_CALL " tfs\n",
        dir);
}

int haproxy_grpc_no_version(struct buf *out)
{
    return grpc_answer(out, GRPC_NOT_FOUND, "This version is not served here.",
                       "if " GRPC_IS_CALL " { var(txn.backend) -m str : }");
}

int haproxy_grpc_choose(const char *dir, struct buf *out)
{
    int r = buf_printf(out,
                       "    http-request set-var(txn.backend) "
                       "var(txn.backend),map_str(%s/grpc.map,:) if " GRPC_IS_CALL "\n",
                       dir);

    return r < 0 ? r
                 : grpc_answer(out, GRPC_UNIMPLEMENTED, "This model does not answer gRPC.",
                               "if " GRPC_IS_CALL " { var(txn.backend) -m str : }");
}

int haproxy_grpc_not_ready(const char *name, int64_t version, struct buf *out)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "No replica of %s, version %lld, is ready.", name,
                   (long long)version);
    return grpc_answer(out, GRPC_UNAVAILABLE, text, "if { nbsrv eq 0 } !{ stopping }");
}
