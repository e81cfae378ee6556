/* driver_json.c - see driver_json.h. Only what our schema uses: proto3, no groups, no maps.  */
#include "driver_json.h"
#include "base/str.h"

#include <string.h>

/* ---- from JSON ---- */

static size_t size_of(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static int set_one(const ProtobufCFieldDescriptor *f, const json_t *v, void *at, struct err *err)
{
    ProtobufCBinaryData *bytes = at;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return driver_from_json(f->descriptor, v, at, err);
    case PROTOBUF_C_TYPE_STRING:
        *(char **)at = strdup(json_string_value(v) ? json_string_value(v) : "");
        return 0;
    case PROTOBUF_C_TYPE_BYTES:
        if (str_unbase64(json_string_value(v), &bytes->data, &bytes->len) < 0)
            return err_set(err, -EINVAL, "'%s' is not base64", f->name);
        return 0;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        *(int64_t *)at = json_integer_value(v);
        return 0;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = json_is_true(v);
        return 0;
    default:
        *(int32_t *)at = (int32_t)json_integer_value(v);
        return 0;
    }
}

static int set_list(const ProtobufCFieldDescriptor *f, const json_t *v, char *m, struct err *err)
{
    size_t n = json_array_size(v), size = size_of(f);
    char *list = calloc(n + 1, size);
    int r = 0;

    must(list);
    *(void **)(m + f->offset) = list;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = set_one(f, json_array_get(v, i), list + i * size, err);
        *(size_t *)(m + f->quantifier_offset) = i + 1;
    }
    return r;
}

int driver_from_json(const ProtobufCMessageDescriptor *d, const json_t *v, ProtobufCMessage **ret,
                     struct err *err)
{
    char *m = calloc(1, d->sizeof_message);
    const char *name;
    json_t *value;
    int r = 0;

    must(m);
    protobuf_c_message_init(d, (ProtobufCMessage *)m);
    *ret = (ProtobufCMessage *)m;
    json_object_foreach((json_t *)v, name, value)
    {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(d, name);

        if (!f)
            return err_set(err, -EINVAL, "'%s' has no '%s'", d->short_name, name);
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            *(uint32_t *)(m + f->quantifier_offset) = f->id;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            r = set_list(f, value, m, err);
        else
            r = set_one(f, value, m + f->offset, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- to JSON ---- */

static json_t *one(const ProtobufCFieldDescriptor *f, const void *at)
{
    const ProtobufCBinaryData *bytes = at;
    char *text = NULL;
    json_t *v;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return driver_to_json(*(ProtobufCMessage *const *)at);
    case PROTOBUF_C_TYPE_STRING:
        return json_text(*(char *const *)at);
    case PROTOBUF_C_TYPE_BYTES:
        must(str_base64(bytes->data ? bytes->data : (const uint8_t *)"", bytes->len, &text) == 0);
        v = json_string(text);
        free(text);
        return v;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return json_integer(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_UINT32:
        return json_integer(*(const uint32_t *)at);
    default:
        return json_integer(*(const int32_t *)at);
    }
}

static json_t *list(const ProtobufCFieldDescriptor *f, const char *m)
{
    size_t n = *(const size_t *)(m + f->quantifier_offset), size = size_of(f);
    const char *at = *(const char *const *)(m + f->offset);
    json_t *v = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(v, one(f, at + i * size));
    return v;
}

json_t *driver_to_json(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *d = message->descriptor;
    const char *m = (const char *)message;
    json_t *v = json_object();

    for (unsigned i = 0; i < d->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &d->fields[i];

        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
            *(const uint32_t *)(m + f->quantifier_offset) != f->id)
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            json_object_set_new(v, f->name, list(f, m));
        else if (f->type != PROTOBUF_C_TYPE_MESSAGE || *(void *const *)(m + f->offset))
            json_object_set_new(v, f->name, one(f, m + f->offset));
    }
    return v;
}
