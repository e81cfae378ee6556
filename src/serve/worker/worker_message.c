/* worker_message.c - tensors into shared memory and out of it. See worker_message.h. */
#include "serve/worker/worker_message.h"
#include "base/str.h"

#include <string.h>

#define TEXT_MAX 1024

int worker_message_check(const struct worker_message *m, size_t n, uint64_t sequence,
                         struct err *err)
{
    if (n != sizeof(*m))
        return err_set(err, -EPROTO, "the worker sent a message of %zu bytes", n);
    if (m->magic != WORKER_MAGIC || m->kind <= WORKER_RUN || m->kind >= WORKER_KINDS_)
        return err_set(err, -EPROTO, "the worker sent a message of an unknown kind");
    if (m->sequence != sequence)
        return err_set(err, -EPROTO, "the worker answered a request that it was not asked");
    return 0;
}

/* ---- into a region ---- */

/*     0                head: magic, count
 *     8                count records of 104 bytes
 *                      name, gap up to 64, values;  name, gap up to 64, values; …
 *
 * Values are aligned for numpy, which makes arrays of them where they lie. The places in a record
 * are what counts: a worker may put names and values elsewhere. */
static size_t worker_aligned(size_t n)
{
    return (n + WORKER_ALIGN - 1) / WORKER_ALIGN * WORKER_ALIGN;
}

int worker_tensors_size(const struct tensors *l, size_t max, size_t *ret, struct err *err)
{
    size_t n = sizeof(struct worker_head) + l->n * sizeof(struct worker_record);

    if (l->n > WORKER_TENSORS_MAX)
        return err_set(err, -E2BIG, "%zu inputs: a handler takes at most %d", l->n,
                       WORKER_TENSORS_MAX);
    for (size_t i = 0; i < l->n; i++) {
        size_t name = l->v[i].name ? strlen(l->v[i].name) : 0;

        if (name > WORKER_NAME_MAX)
            return err_set(err, -E2BIG, "the name of an input has more than %d bytes",
                           WORKER_NAME_MAX);
        n += name;
        if (l->v[i].size > max || worker_aligned(n) > max - l->v[i].size)
            return err_set(err, -E2BIG, "the inputs have more than %zu bytes", max);
        n = worker_aligned(n) + l->v[i].size;
    }
    *ret = n;
    return n <= max ? 0 : err_set(err, -E2BIG, "the inputs have more than %zu bytes", max);
}

void worker_tensors_put(const struct tensors *l, uint8_t *p)
{
    const struct worker_head head = { WORKER_MAGIC, (uint32_t)l->n };
    size_t at = sizeof(head) + l->n * sizeof(struct worker_record);

    memcpy(p, &head, sizeof(head));
    for (size_t i = 0; i < l->n; i++) {
        const struct tensor *t = &l->v[i];
        struct worker_record r = { .type = t->type,
                                   .rank = (uint32_t)t->rank,
                                   .name_size = t->name ? (uint32_t)strlen(t->name) : 0,
                                   .name_at = at,
                                   .size = t->size };

        memcpy(r.dims, t->dims, sizeof(r.dims));
        if (t->name)
            memcpy(p + at, t->name, r.name_size);
        r.at = worker_aligned(at + r.name_size);
        if (t->size)
            memcpy(p + r.at, t->data, t->size);
        at = r.at + t->size;
        memcpy(p + sizeof(head) + i * sizeof(r), &r, sizeof(r));
    }
}

/* ---- out of a region ---- */

/* Without an addition that could overflow. */
static bool worker_inside(uint64_t at, uint64_t size, size_t n)
{
    return at <= n && size <= n - at;
}

static int worker_record_check(const struct worker_record *r, size_t n, struct err *err)
{
    if (r->type <= TENSOR_NONE || r->type >= TENSOR_TYPES_)
        return err_set(err, -EPROTO, "the worker's answer has an unknown element type");
    if (r->rank > TENSOR_DIMS_MAX)
        return err_set(err, -EPROTO, "the worker's answer has a tensor of %u dimensions", r->rank);
    if (r->name_size == 0 || r->name_size > WORKER_NAME_MAX)
        return err_set(err, -EPROTO, "the worker's answer has a name of %u bytes", r->name_size);
    if (!worker_inside(r->name_at, r->name_size, n) || !worker_inside(r->at, r->size, n))
        return err_set(err, -EPROTO, "the worker's answer points out of its memory");
    return 0;
}

/* `r` is our copy of the record, checked before. Name and values are copied before they are looked
 * at: the worker may change them at any moment, and a check of what lies in its memory says nothing
 * of the next look. */
static int worker_tensor_take(const struct worker_record *r, const uint8_t *p, struct tensor *t,
                              struct err *err)
{
    char name[WORKER_NAME_MAX + 1];
    uint8_t *copy;
    int e;

    memcpy(name, p + r->name_at, r->name_size);
    name[r->name_size] = '\0';
    if (strlen(name) != r->name_size)
        return err_set(err, -EPROTO, "the worker's answer has a name with a NUL");
    e = tensor_init(t, name, (enum tensor_type)r->type, r->dims, r->rank, err);
    if (e < 0)
        return e == -ENOMEM ? e : err_wrap(err, -EPROTO, "the worker's answer");
    copy = malloc(r->size ? r->size : 1);
    if (!copy)
        return err_oom(err);
    memcpy(copy, p + r->at, r->size);
    e = tensor_own(t, copy, r->size, copy, free, err);
    return e < 0 && e != -ENOMEM ? err_wrap(err, -EPROTO, "the worker's answer") : e;
}

static int worker_take_all(const struct worker_record *records, size_t count, struct view bytes,
                           struct tensors *ret, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        struct tensor *t = NULL;

        r = worker_record_check(&records[i], bytes.n, err);
        if (r == 0)
            r = tensors_add(ret, &t, err);
        if (r == 0)
            r = worker_tensor_take(&records[i], bytes.p, t, err);
        if (r == 0 && tensors_find(ret, t->name) != t)
            r = err_set(err, -EPROTO, "the worker's answer has two outputs of one name");
    }
    return r;
}

int worker_tensors_take(const uint8_t *p, size_t n, struct tensors *ret, struct err *err)
{
    AUTO_FREE struct worker_record *records = NULL;
    struct worker_head head;
    int r;

    if (n < sizeof(head))
        return err_set(err, -EPROTO, "the worker's answer is cut off");
    memcpy(&head, p, sizeof(head));
    if (head.magic != WORKER_MAGIC || head.count > WORKER_TENSORS_MAX)
        return err_set(err, -EPROTO, "the worker's answer is no list of tensors");
    if (head.count > (n - sizeof(head)) / sizeof(*records))
        return err_set(err, -EPROTO, "the worker's answer is cut off");
    records = calloc(head.count + 1, sizeof(*records));
    if (!records)
        return err_oom(err);
    memcpy(records, p + sizeof(head), head.count * sizeof(*records));
    r = worker_take_all(records, head.count, view_of(p, n), ret, err);
    if (r < 0)
        tensors_done(ret);
    return r;
}

void worker_text_take(const uint8_t *p, size_t n, char *out, size_t cap)
{
    char text[TEXT_MAX];

    n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
    memcpy(text, p, n);
    text[n] = '\0';
    (void)str_clean(out, cap, text);
}
