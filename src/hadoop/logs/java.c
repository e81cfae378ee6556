/* java.c - a recursive reader of Java's object stream, by its tag bytes. Objects get handles in
 * the order of reading and may be referred to later, so the tree it makes is kept in a table too;
 * depth and numbers are limited. See java.h. */
#include "hadoop/logs/java.h"
#include "base/array.h"

#include <string.h>

enum tag {
    TAG_NULL = 0x70,
    TAG_REFERENCE,
    TAG_CLASS,
    TAG_OBJECT,
    TAG_STRING,
    TAG_ARRAY,
    TAG_BLOCK = 0x77,
    TAG_END,
    TAG_LONG_BLOCK = 0x7a,
    TAG_LONG_STRING = 0x7c,
    TAG_ENUM = 0x7e,
};

#define FIRST_HANDLE 0x7e0000u
#define FIELDS_MAX 256
#define SUPERS_MAX 16

enum { WRITES_MORE = 1, SERIALIZABLE = 2, EXTERNALIZABLE = 4, IN_BLOCKS = 8 };

struct java_field {
    char type; /* B C D F I J S Z, L or [ */
    struct view name;
};

struct java_class {
    struct java_class *next; /* of all */
    struct java_class *super;
    struct view name;
    uint8_t flags;
    size_t n_fields;
    struct java_field *fields;
};

struct java_slot {
    const struct java_field *field;
    int64_t number;
    struct java_value *value;
};

/* What a later part of the stream may refer to by number. */
struct handle {
    struct java_class *class_;
    struct java_value *value; /* or */
};

struct node {
    struct node *next;
    struct java_value v;
};

/* A view into the caller's bytes and one flat table of all that was made: values refer to each
 * other in circles, so none owns another, and java_free() goes through the lists. */
struct java {
    struct view in;
    int depth;
    size_t n_values;
    struct node *nodes;
    struct java_class *classes;
    struct handle *handles;
    size_t n_handles;
    struct java_value *root;
};

/* -EBADMSG and -ENOMEM travel as they are; java_parse() finds the words. */
static int read_value(struct java *j, uint8_t tag, struct java_value **ret);

static int add_handle(struct java *j, struct java_class *class_, struct java_value *value)
{
    return ARRAY_ADD(j->handles, j->n_handles, (struct handle){ class_, value });
}

static const struct handle *read_reference(struct java *j)
{
    uint32_t n = view_be32(&j->in) - FIRST_HANDLE;

    return j->in.bad || n >= j->n_handles ? NULL : &j->handles[n];
}

static struct view short_text(struct java *j)
{
    uint16_t n = view_be16(&j->in);

    return view_sub(&j->in, n);
}

static int new_value(struct java *j, enum java_kind kind, struct java_value **ret)
{
    struct node *n;

    if (++j->n_values > JAVA_VALUES_MAX)
        return -EBADMSG;
    n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->next = j->nodes;
    j->nodes = n;
    n->v.kind = kind;
    *ret = &n->v;
    return add_handle(j, NULL, &n->v);
}

static int java_add_item(struct java_value *v, struct java_value *item)
{
    return ARRAY_ADD(v->items, v->n_items, item);
}

/* ---- classes ---- */

/* What a class wrote for itself, up to its end mark. The items go to `v` unless that is NULL. Bytes
 * in blocks (the capacity of a list, say) are passed over: the objects between them are enough to
 * know a list or a map. */
static int java_read_more(struct java *j, struct java_value *v)
{
    for (;;) {
        struct java_value *item = NULL;
        uint8_t tag = view_u8(&j->in);
        int r;

        if (j->in.bad)
            return -EBADMSG;
        if (tag == TAG_END)
            return 0;
        if (tag == TAG_BLOCK || tag == TAG_LONG_BLOCK) {
            size_t n = tag == TAG_BLOCK ? view_u8(&j->in) : view_be32(&j->in);

            view_bytes(&j->in, n);
            continue;
        }
        r = read_value(j, tag, &item);
        if (r == 0 && v && ++j->n_values > JAVA_VALUES_MAX)
            r = -EBADMSG;
        if (r == 0 && v)
            r = java_add_item(v, item);
        if (r < 0)
            return r;
    }
}

static int read_fields_of_class(struct java *j, struct java_class *c)
{
    size_t n = view_be16(&j->in);
    int r = 0;

    if (n > FIELDS_MAX)
        return -EBADMSG;
    c->fields = calloc(n + 1, sizeof(*c->fields));
    if (!c->fields)
        return -ENOMEM;
    c->n_fields = n;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct java_value *type = NULL;

        c->fields[i].type = (char)view_u8(&j->in);
        c->fields[i].name = short_text(j);
        if (c->fields[i].type == 'L' || c->fields[i].type == '[')
            r = read_value(j, view_u8(&j->in), &type);
        else if (!c->fields[i].type || !strchr("BCDFIJSZ", c->fields[i].type))
            r = -EBADMSG;
    }
    return r;
}

static int read_class(struct java *j, struct java_class **ret);

/* The class gets its handle before its fields are read, as Java's writer counts them: a field may
 * refer to its own class. */
static int read_new_class(struct java *j, struct java_class **ret)
{
    struct java_class *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -ENOMEM;
    c->next = j->classes;
    j->classes = c;
    c->name = short_text(j);
    view_be64(&j->in); /* the version of the class */
    r = add_handle(j, c, NULL);
    c->flags = view_u8(&j->in);
    if (r == 0)
        r = read_fields_of_class(j, c);
    if (r == 0)
        r = java_read_more(j, NULL);
    if (r == 0)
        r = read_class(j, &c->super);
    *ret = c;
    return r;
}

static int read_class(struct java *j, struct java_class **ret)
{
    uint8_t tag = view_u8(&j->in);
    const struct handle *h;
    int r = -EBADMSG;

    *ret = NULL;
    if (tag == TAG_NULL && !j->in.bad)
        return 0;
    if (tag == TAG_REFERENCE) {
        h = read_reference(j);
        *ret = h ? h->class_ : NULL;
        return *ret ? 0 : -EBADMSG;
    }
    if (tag == TAG_CLASS && ++j->depth <= JAVA_DEPTH_MAX)
        r = read_new_class(j, ret);
    j->depth -= tag == TAG_CLASS;
    return r;
}

/* ---- values ---- */

static int read_string(struct java *j, uint8_t tag, struct java_value **ret)
{
    uint64_t n = tag == TAG_STRING ? view_be16(&j->in) : view_be64(&j->in);
    int r = new_value(j, JAVA_TEXT, ret);

    if (r == 0 && n > j->in.n)
        r = -EBADMSG;
    if (r == 0)
        (*ret)->text = view_sub(&j->in, (size_t)n);
    return r;
}

static int java_read_field(struct java *j, char type, struct java_slot *s)
{
    switch (type) {
    case 'B':
    case 'Z':
        s->number = (int64_t)(view_u8(&j->in) ^ 0x80) - 0x80; /* with its sign */
        break;
    case 'C':
    case 'S':
        s->number = (int16_t)view_be16(&j->in);
        break;
    case 'I':
    case 'F':
        s->number = (int32_t)view_be32(&j->in);
        break;
    case 'J':
    case 'D':
        s->number = (int64_t)view_be64(&j->in);
        break;
    default:
        return read_value(j, view_u8(&j->in), &s->value);
    }
    return 0;
}

/* The chain of classes, the lowest last; the number of them or a negative code. An object's fields
 * stand in the stream from the highest class down to its own. */
static int class_chain(struct java_class *c, struct java_class *chain[SUPERS_MAX],
                       size_t *ret_slots)
{
    int n = 0;

    *ret_slots = 0;
    for (struct java_class *at = c; at; at = at->super, n++) {
        if (n == SUPERS_MAX)
            return -EBADMSG;
        *ret_slots += at->n_fields;
    }
    for (int i = n - 1; i >= 0; i--, c = c->super)
        chain[i] = c;
    return n;
}

/* What a class writes by its own methods (a list its elements, a map its keys and values) comes
 * after its fields, as blocks of bytes and objects, up to an end mark. */
static int java_read_part(struct java *j, const struct java_class *c, struct java_value *v,
                          struct java_slot *slot)
{
    int r = 0;

    if (c->flags & EXTERNALIZABLE)
        return c->flags & IN_BLOCKS ? java_read_more(j, v) : -EBADMSG;
    for (size_t i = 0; i < c->n_fields && r == 0; i++) {
        slot[i].field = &c->fields[i];
        r = j->in.bad ? -EBADMSG : java_read_field(j, c->fields[i].type, &slot[i]);
    }
    return r == 0 && c->flags & WRITES_MORE ? java_read_more(j, v) : r;
}

/* The object gets its handle after its class and before its fields, as the writer counts: a field
 * may refer to the object itself. */
static int read_object(struct java *j, uint8_t tag, struct java_value **ret)
{
    struct java_class *chain[SUPERS_MAX] = { NULL }, *c = NULL;
    struct java_value *v = NULL;
    size_t n_slots = 0, at = 0;
    int n, r = read_class(j, &c);

    (void)tag;
    if (r == 0)
        r = c ? new_value(j, JAVA_OBJECT, &v) : -EBADMSG;
    if (r != 0)
        return r;
    *ret = v;
    v->class_ = c;
    n = class_chain(c, chain, &n_slots);
    j->n_values += n_slots;
    if (n < 0 || j->n_values > JAVA_VALUES_MAX)
        return -EBADMSG;
    v->slots = calloc(n_slots + 1, sizeof(*v->slots));
    if (!v->slots)
        return -ENOMEM;
    for (int i = 0; i < n && r == 0; i++) {
        r = java_read_part(j, chain[i], v, v->slots + at);
        at += chain[i]->n_fields;
    }
    return r;
}

static int read_enum(struct java *j, uint8_t tag, struct java_value **ret)
{
    struct java_value *name = NULL;
    int r = read_class(j, &(struct java_class *){ NULL });

    (void)tag;
    if (r == 0)
        r = new_value(j, JAVA_ENUM, ret);
    if (r == 0)
        r = read_value(j, view_u8(&j->in), &name);
    if (r == 0 && name && name->kind == JAVA_TEXT)
        (*ret)->text = name->text;
    return r;
}

static int read_array(struct java *j, uint8_t tag, struct java_value **ret)
{
    struct java_class *c = NULL;
    uint32_t n;
    int r = read_class(j, &c);

    (void)tag;
    if (r == 0)
        r = c && c->name.n >= 2 ? new_value(j, JAVA_ARRAY, ret) : -EBADMSG;
    if (r < 0)
        return r;
    (*ret)->class_ = c;
    n = view_be32(&j->in);
    for (uint32_t i = 0; i < n && r == 0; i++) {
        struct java_slot s = { NULL };

        if (j->in.bad || ++j->n_values > JAVA_VALUES_MAX)
            return -EBADMSG;
        r = java_read_field(j, (char)c->name.p[1], &s);
        if (r == 0 && s.value)
            r = java_add_item(*ret, s.value);
    }
    return r;
}

static int read_null(struct java *j, uint8_t tag, struct java_value **ret)
{
    (void)j;
    (void)tag;
    *ret = NULL;
    return 0;
}

static int read_referred(struct java *j, uint8_t tag, struct java_value **ret)
{
    const struct handle *h = read_reference(j);

    (void)tag;
    *ret = h ? h->value : NULL;
    return *ret ? 0 : -EBADMSG;
}

static const struct {
    uint8_t tag;
    int (*read)(struct java *j, uint8_t tag, struct java_value **ret);
} readers[] = {
    { TAG_NULL, read_null },     { TAG_REFERENCE, read_referred }, { TAG_OBJECT, read_object },
    { TAG_STRING, read_string }, { TAG_LONG_STRING, read_string }, { TAG_ARRAY, read_array },
    { TAG_ENUM, read_enum },
};

/* Depth is counted here, the one place through which every recursion goes, so that no stream can
 * use up our stack. */
static int read_value(struct java *j, uint8_t tag, struct java_value **ret)
{
    int r = -EBADMSG;

    if (j->in.bad || ++j->depth > JAVA_DEPTH_MAX)
        return -EBADMSG;
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (readers[i].tag == tag)
            r = readers[i].read(j, tag, ret);
    j->depth--;
    return r == 0 && j->in.bad ? -EBADMSG : r;
}

int java_parse(const void *p, size_t n, struct java **ret, struct err *err)
{
    AUTO(java) struct java *j = calloc(1, sizeof(*j));
    int r = 0;

    if (!j)
        return err_oom(err);
    j->in = view_of(p, n);
    if (view_be32(&j->in) != 0xaced0005)
        r = -EBADMSG;
    if (r == 0)
        r = read_value(j, view_u8(&j->in), &j->root);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        return err_set(err, r, "its index is not what Java writes");
    *ret = take(j);
    return 0;
}

/* ---- what was read, and its end ---- */

struct java *java_free(struct java *j)
{
    if (!j)
        return NULL;
    for (struct node *n = j->nodes, *next; n; n = next) {
        next = n->next;
        free(n->v.slots);
        free(n->v.items);
        free(n);
    }
    for (struct java_class *c = j->classes, *next; c; c = next) {
        next = c->next;
        free(c->fields);
        free(c);
    }
    free(j->handles);
    free(j);
    return NULL;
}

const struct java_value *java_root(const struct java *j)
{
    return j->root;
}

/* The slots end with one that has no field. A lower class's field hides a higher one's. */
static const struct java_slot *find_slot(const struct java_value *v, const char *name)
{
    const struct java_slot *found = NULL;

    if (!v || v->kind != JAVA_OBJECT)
        return NULL;
    for (const struct java_slot *s = v->slots; s->field; s++)
        if (s->field->name.n == strlen(name) && memcmp(s->field->name.p, name, strlen(name)) == 0)
            found = s;
    return found;
}

const struct java_value *java_field(const struct java_value *v, const char *name)
{
    const struct java_slot *s = find_slot(v, name);

    return s ? s->value : NULL;
}

int java_number(const struct java_value *v, const char *name, int64_t *ret)
{
    const struct java_slot *s = find_slot(v, name);

    if (!s || !strchr("BIJSZ", s->field->type))
        return -ENOENT;
    *ret = s->number;
    return 0;
}

struct view java_text(const struct java_value *v, const char *name)
{
    const struct java_value *text = java_field(v, name);

    return text && text->kind == JAVA_TEXT ? text->text : view_of("", 0);
}
