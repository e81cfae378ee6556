/* tfs_json.h - what the requests of TensorFlow Serving's REST API have in common. Private. */
#pragma once
#include "serve/protocol/json_values.h"
#include "serve/protocol/protocol.h"

/* Most bytes of a value in a message. */
#define TFS_SHOWN 257

/* A request's object. */
int tfs_json_read(const void *p, size_t n, yyjson_doc **ret, struct err *err);
/* "JSON Value: … TEXT". */
int tfs_format_error(yyjson_val *v, struct err *err, const char *text);
/* Its "signature_name", or NULL; borrowed from the document. */
int tfs_signature_name(yyjson_val *root, const char **ret, struct err *err);
/* Makes x->own of what the request's object has, and x->signature that. */
int tfs_learn_inputs(struct exchange *x, yyjson_val *root, struct err *err);
