/* warmup_records.c - walks a file of records and takes the requests out of them, field by field.
 * What a request is sent to is written anew, everything else is copied. See warmup_records.h. */
#include "serve/engine/warmup_records.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct field {
    uint64_t number;
    enum wire wire;
    struct view bytes;  /* of WIRE_BYTES */
    const uint8_t *all; /* tag and value */
    size_t n;
};

/* ---- records ---- */

static uint64_t little_endian(const uint8_t *p)
{
    uint64_t n = 0;

    for (size_t i = 8; i > 0; i--)
        n = n << 8 | p[i - 1];
    return n;
}

/* The head is the length and its checksum; the checksum of the bytes stands behind them. */
int warmup_record_next(struct view *file, struct view *ret, struct err *err)
{
    const uint8_t *head;
    uint64_t n;

    if (file->n == 0)
        return 0;
    head = view_bytes(file, 12);
    n = head ? little_endian(head) : 0;
    if (!head || n > file->n || file->n - n < 4)
        return err_set(err, -EINVAL, "a record is cut off");
    *ret = view_sub(file, (size_t)n);
    (void)view_bytes(file, 4);
    return 1;
}

/* ---- messages ---- */

/* The next field; false at the end or with m->bad. */
static bool records_field(struct view *m, struct field *ret)
{
    const uint8_t *begin = m->p;
    uint64_t tag;

    if (m->n == 0 || m->bad)
        return false;
    tag = view_varint(m);
    *ret = (struct field){ .number = tag >> 3, .wire = (enum wire)(tag & 7), .all = begin };
    switch (ret->wire) {
    case WIRE_VARINT:
        (void)view_varint(m);
        break;
    case WIRE_64:
        (void)view_bytes(m, 8);
        break;
    case WIRE_32:
        (void)view_bytes(m, 4);
        break;
    case WIRE_BYTES:
        tag = view_varint(m);
        m->bad |= tag > m->n;
        ret->bytes = m->bad ? view_of(NULL, 0) : view_sub(m, (size_t)tag);
        break;
    default:
        m->bad = true;
    }
    ret->n = m->bad ? 0 : (size_t)(m->p - begin);
    return !m->bad;
}

/* The last field of bytes with that number: 1, 0 when there is none, -EINVAL for no message. */
static int records_find(struct view m, uint64_t number, struct view *ret)
{
    struct field f;
    int found = 0;

    while (records_field(&m, &f))
        if (f.number == number && f.wire == WIRE_BYTES) {
            *ret = f.bytes;
            found = 1;
        }
    return m.bad ? -EINVAL : found;
}

static int records_put(struct buf *b, unsigned number, const void *p, size_t n)
{
    int r = buf_add_varint(b, number << 3 | WIRE_BYTES);

    if (r == 0)
        r = buf_add_varint(b, n);
    return r < 0 || n == 0 ? r : buf_add(b, p, n);
}

/* model_spec { name, signature_name } */
static int records_put_spec(struct buf *ret, const char *name, struct view signature)
{
    AUTO_BUF spec = { .max = 64 * KIB };
    int r = records_put(&spec, 1, name, strlen(name));

    if (r == 0 && signature.n > 0)
        r = records_put(&spec, 3, signature.p, signature.n);
    return r < 0 ? r : records_put(ret, 1, spec.data, spec.len);
}

static int records_copy(struct view m, struct buf *ret)
{
    struct field f;
    int r = 0;

    while (r == 0 && records_field(&m, &f))
        if (f.number != 1)
            r = buf_add(ret, f.all, f.n);
    return m.bad ? -EINVAL : r;
}

int warmup_record_request(struct view record, const char *name, struct buf *ret, struct err *err)
{
    struct view log, request, spec, signature = { 0 };
    int r = records_find(record, 6, &log);

    if (r == 1)
        r = records_find(log, 1, &request);
    if (r == 0)
        return 0;
    if (r == 1)
        r = records_find(request, 1, &spec);
    if (r == 1)
        r = records_find(spec, 3, &signature);
    if (r >= 0)
        r = records_put_spec(ret, name, signature);
    if (r == 0)
        r = records_copy(request, ret);
    if (r == -EINVAL)
        return err_set(err, r, "a record is no PredictionLog");
    return r < 0 ? err_set(err, r, "a record is too large") : 1;
}
