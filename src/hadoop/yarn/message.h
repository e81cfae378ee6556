/* message.h - protobuf messages built on the heap, in the shape that unpacking gives them.
 *
 * Such a message owns all it points to, so one call frees it, however it came to be: rpc_free().
 * Pure. Everything that returns a pointer returns NULL when out of memory. */
#pragma once
#include "base/auto.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

/* An empty message of a type. */
void *message_new(const ProtobufCMessageDescriptor *type);
#define MESSAGE_NEW(type) message_new(&type##__descriptor)

/* A deep copy; of NULL, NULL. */
void *message_copy(const void *message);

/* NULL is fine; always NULL. */
void *message_free(void *message);

static inline void auto_message_(void *p)
{
    message_free(*(void **)p);
}
/* AUTO_MESSAGE Yarn__Resource *r = NULL; */
#define AUTO_MESSAGE AUTO(message)

/* Appends to a repeated field of messages: MESSAGE_ADD(request, ask, row). `item` is taken over,
 * also when that fails (0 or -ENOMEM); a NULL item counts as out of memory. */
#define MESSAGE_ADD(message, field, item)                                                          \
    message_add((void ***)&(message)->field, &(message)->n_##field, (item))
int message_add(void ***array, size_t *n, void *item);

/* Appends a copy of a string to a repeated field of strings. */
#define MESSAGE_ADD_TEXT(message, field, text)                                                     \
    message_add_text((char ***)&(message)->field, &(message)->n_##field, (text))
int message_add_text(char ***array, size_t *n, const char *text);

/* Sets a string field that is unset or at its default to a copy: MESSAGE_TEXT(m->name, "x"). */
#define MESSAGE_TEXT(field, text) message_text((char **)&(field), (text))
int message_text(char **field, const char *text);

/* The same for bytes. */
int message_bytes(ProtobufCBinaryData *field, protobuf_c_boolean *has, const void *p, size_t n);
