/* java.h - objects as Java's own serialization writes them, read as plain data. Private to this
 * directory.
 *
 * No class is known here: the bytes describe themselves. An object has the fields that its class
 * names and, behind them, items that its class wrote in its own way; that is where a list keeps
 * its elements and a map its keys and values in turn. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct java; /* opaque: everything that was read */

enum java_kind { JAVA_TEXT, JAVA_OBJECT, JAVA_ENUM, JAVA_ARRAY };

struct java_value {
    enum java_kind kind;
    struct view text;          /* of a text, or the name of an enum's value; not checked */
    struct java_class *class_; /* of the others */
    struct java_slot *slots;   /* an object's fields */
    struct java_value **items; /* NULL stands for Java's null */
    size_t n_items;
};

/* The most values that are read. */
#define JAVA_VALUES_MAX ((size_t)1 << 20)
/* How deep they may be inside each other: fibers have small stacks. */
#define JAVA_DEPTH_MAX 32

/* Reads one value and what hangs on it. The bytes are borrowed for as long as the result lives.
 * -EBADMSG when they are not what Java writes, or too much. *ret is the caller's: java_free(). */
int java_parse(const void *p, size_t n, struct java **ret, struct err *err);
struct java *java_free(struct java *j); /* NULL is fine; always NULL */
AUTO_DEFINE(java, struct java *, java_free);

const struct java_value *java_root(const struct java *j); /* NULL when it was null */

/* A field that refers to a value, or NULL: no such field, null, or not an object. */
const struct java_value *java_field(const struct java_value *v, const char *name);
/* A field that is a number; -ENOENT when there is none. */
int java_number(const struct java_value *v, const char *name, int64_t *ret);
/* A field that is text; empty when there is none. */
struct view java_text(const struct java_value *v, const char *name);
