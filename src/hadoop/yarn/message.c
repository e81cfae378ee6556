/* message.c - protobuf-c frees what it unpacked by walking the descriptor. A message built here
 * from malloc'ed parts looks the same, so the same call frees it. See message.h. */
#include "hadoop/yarn/message.h"

#include <stdint.h>
#include <string.h>

void *message_new(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *m = calloc(1, type->sizeof_message);

    if (m)
        protobuf_c_message_init(type, m);
    return m;
}

void *message_copy(const void *message)
{
    const ProtobufCMessage *m = message;
    AUTO_FREE uint8_t *packed = NULL;
    size_t n;

    if (!m)
        return NULL;
    n = protobuf_c_message_get_packed_size(m);
    packed = malloc(n ? n : 1);
    if (!packed)
        return NULL;
    protobuf_c_message_pack(m, packed);
    return protobuf_c_message_unpack(m->descriptor, NULL, n, packed);
}

void *message_free(void *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
    return NULL;
}

/* Room for one more. One at a time: the array may have come from unpacking, without a spare place.
 */
static int message_grow(void ***array, size_t n)
{
    void **more = reallocarray(*array, n + 1, sizeof(**array));

    if (!more)
        return -ENOMEM;
    *array = more;
    return 0;
}

int message_add(void ***array, size_t *n, void *item)
{
    if (!item || message_grow(array, *n) < 0) {
        message_free(item);
        return -ENOMEM;
    }
    (*array)[(*n)++] = item;
    return 0;
}

int message_add_text(char ***array, size_t *n, const char *text)
{
    AUTO_FREE char *copy = strdup(text);

    if (!copy || message_grow((void ***)array, *n) < 0)
        return -ENOMEM;
    (*array)[(*n)++] = take(copy);
    return 0;
}

int message_text(char **field, const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        return -ENOMEM;
    *field = copy;
    return 0;
}

int message_bytes(ProtobufCBinaryData *field, protobuf_c_boolean *has, const void *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, p, n);
    *field = (ProtobufCBinaryData){ .len = n, .data = copy };
    if (has)
        *has = true;
    return 0;
}
