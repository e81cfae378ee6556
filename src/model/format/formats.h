/* formats.h - which format a model has, and what its files say of it, recognised by content.
 *
 * A model is a file or a directory; a recogniser sees its files' names and reads what it needs of
 * their bytes. Nothing of the model is run, and no answer costs more than FORMAT_FIELDS steps.
 * `read` may wait where the files are far away, so: fibers, unless the reader says otherwise. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_file {
    const char *path; /* below the model's directory: "variables/variables.index" */
    uint64_t size;
};

/* The files of a model, sorted by path. Everything is borrowed. */
struct format_tree {
    const struct format_file *files;
    size_t n;
    /* Exactly `n` bytes of a file from `at`, all of them inside it. */
    int (*read)(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err);
    void *arg;
};

/* What was found. */
struct format_facts {
    const char *format; /* "onnx", …; NULL when none was recognised */
    char *entry;        /* the file to load; "" for the directory itself */
    json_t *framework;  /* {name, version?, …}: who can load it */
    json_t *signatures; /* {NAME: {inputs: [{name, datatype, shape}], outputs: […]}} or NULL */
};

#define FORMAT_FIELDS 20000000 /* steps through one file */

/* Recognises a model. 0 and the facts, which are the caller's: format_facts_done(). -EINVAL with a
 * sentence when it has no known format, when several of its files are models, or when the one it
 * has is damaged. */
int format_find(const struct format_tree *tree, struct format_facts *ret, struct err *err);
void format_facts_done(struct format_facts *f);

#define AUTO_FORMAT_FACTS AUTO_DONE(format_facts_done) struct format_facts
