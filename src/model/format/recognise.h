/* recognise.h - what the formats share: their table rows, files by name, and making signatures.
 * Private to this directory. */
#pragma once
#include "base/buf.h"
#include "base/str.h"
#include "model/format/formats.h"

/* Each returns 1 when it is the format (and fills `ret`), 0 when it is not, or an error for a model
 * of the format that cannot be what it says. */
typedef int format_tree_fn(const struct format_tree *t, struct format_facts *ret, struct err *err);
typedef int format_file_fn(const struct format_tree *t, size_t file, struct format_facts *ret,
                           struct err *err);

/* Of the whole directory. */
format_tree_fn command_look, python_look, saved_model_look, mxnet_look;
/* Of one file. */
format_file_fn onnx_look, xgboost_look, lightgbm_look;

/* Where a file is in the tree; t->n when it is not. */
size_t format_file_at(const struct format_tree *t, const char *path);
/* Is the name in a list that strs_sort() has sorted? A model may have a million names, and ask for
 * each of them. */
bool format_names_have(const struct strs *sorted, const char *name);
/* The beginning of a file, at most `max` bytes of it, as text (it may hold NULs). */
int format_head(const struct format_tree *t, size_t file, size_t max, struct buf *ret,
                struct err *err);
/* All of a JSON file. 0 when it is none or is larger than `max`, 1 and the value. */
int format_json(const struct format_tree *t, size_t file, size_t max, json_t **ret,
                struct err *err);

/* Adds {name, datatype, shape}; `shape` NULL: not known. Used up in any case. */
int format_tensor(json_t *list, const char *name, const char *datatype, json_t *shape,
                  struct err *err);
/* {NAME: {inputs, outputs}}; both are used up. */
int format_signature(json_t **ret, const char *name, json_t *inputs, json_t *outputs,
                     struct err *err);
/* A dimension list of `n` numbers: [-1, 784]. NULL when out of memory. */
json_t *format_shape(const int64_t *v, size_t n);
