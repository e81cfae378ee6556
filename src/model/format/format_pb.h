/* format_pb.h - the fields of a protobuf message, one after the other, without its schema and
 * without reading what is skipped: a model of gigabytes is walked by reading its few kilobytes of
 * structure. Bounded by format_pages.h. Private to this directory. */
#pragma once
#include "model/format/format_pages.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/* A message that is being walked. */
struct pb {
    struct pages *pages;
    uint64_t at, end;
    bool bad; /* it is no message: cut off, or of an unknown wire type */
};

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value; /* of a varint */
    uint64_t at, n; /* of bytes: where they are, and how many */
};

struct pb pb_of(struct pages *p); /* the whole file */
/* The next field; false at the end, or when it is bad. */
bool pb_next(struct pb *m, struct pb_field *ret);
/* The message in a field of bytes. */
struct pb pb_in(const struct pb *m, const struct pb_field *f);
/* The text in a field of bytes, a new string, cut at `max` bytes and at a NUL; NULL when it cannot
 * be had: m->bad, or pages_failed(). */
char *pb_text(struct pb *m, const struct pb_field *f, size_t max);
bool pb_is(const struct pb_field *f, uint32_t number, enum pb_wire wire);
