/* spec_read.h - from a tree of texts, lists and maps to fields, by the rows of the key tables.
 *
 * Private to the readers: spec_yaml.c (single values and maps), spec_lists.c (the rest) and
 * spec_flags.c. Functions here return 0 after a mistake too, which is then in the faults, so that
 * the next value is looked at; negative is -ENOMEM only. */
#pragma once
#include "job/spec/spec_keys.h"
#include "job/spec/spec_tree.h"

#define SPEC_LIST_MAX 4096 /* entries of one list or map: looked through one by one */

struct spec_reader {
    struct spec *spec;
    struct spec_faults *f;
    struct buf path; /* of the value at hand: "roles.worker.env" */
    int line;        /* of the value at hand; 0: none */
};

/* Reads a value into the field of a row. `base` is the struct that the row is about. */
int spec_read_value(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                    void *base);
/* Reads a map, each key by its row. */
int spec_read_map(struct spec_reader *r, const struct spec_key *table, const struct spec_node *n,
                  void *base);
/* Lists and maps of one type each (spec_lists.c), called by spec_read_value(). */
int spec_read_list(struct spec_reader *r, const struct spec_key *k, const struct spec_node *n,
                   void *base);

/* Goes down to a key or an element (key NULL) and back: `*mark` keeps the way. */
int spec_read_enter(struct spec_reader *r, const char *key, size_t i, size_t *mark);
void spec_read_leave(struct spec_reader *r, size_t mark);

/* Adds a fault about the value at hand. */
int spec_read_fault(struct spec_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "expected a number, found a list" */
int spec_read_expected(struct spec_reader *r, const char *what, const struct spec_node *found);
/* "unknown key (did you mean 'memory'?)" */
int spec_read_unknown(struct spec_reader *r, const struct spec_key *table, const char *name);
/* "'tsak' is not one of never, task, gang (did you mean 'task'?)" */
int spec_read_bad_choice(struct spec_reader *r, const char *text, const char *const *choices);
/* The place of `text` in a NULL-terminated list; -1 when it is not there. */
int spec_choice(const char *text, const char *const *choices);
