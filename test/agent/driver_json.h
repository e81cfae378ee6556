/* driver_json.h - any protobuf message as JSON and back, by its descriptor: fields by their names,
 * bytes as base64, what has its default is left out. For tests. */
#pragma once
#include "base/json.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdlib.h>

/* An assertion that is there in every build: nothing here survives a lack of memory. */
static inline void must(bool fine)
{
    if (!fine)
        abort();
}

/* *ret is the caller's: protobuf_c_message_free_unpacked(). A name that the message does not have
 * is -EINVAL. */
int driver_from_json(const ProtobufCMessageDescriptor *d, const json_t *v, ProtobufCMessage **ret,
                     struct err *err);
json_t *driver_to_json(const ProtobufCMessage *m); /* the caller's */
