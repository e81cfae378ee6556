/* java_private.h - what java.c, which reads, and java_look.c, which looks, share. */
#pragma once
#include "hadoop/logs/java.h"

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
