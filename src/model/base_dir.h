/* base_dir.h - a base directory as TensorFlow Serving has it: BASE/1, BASE/2 … each a model. Other
 * names in it are ignored, there and here. Fibers only. */
#pragma once
#include "model/models.h"
#include "model/publish.h"

struct progress;

/* 1: a directory with numbered versions; 0: one model, a file or a directory, which may well hold
 * directories with numbers when it is a handler or a command. */
int base_dir_is(struct fs *fs, const char *path, struct err *err);

/* The numbers in a base directory, in rising order. -ENOENT with a sentence when there is none. */
int base_dir_versions(struct fs *fs, const char *base, struct version_list *ret, struct err *err);

/* Publishes BASE/version as that version of the model; one that is there with the same files is
 * fine: ret->unchanged. */
int base_dir_import(const struct models *r, struct fs *fs, const char *base,
                    const struct model_publish *what, struct model_published *ret, struct err *err);
/* Copies a version to BASE/version, which appears at once. Returns 1, or 0 when that is there
 * already. */
int base_dir_export(const struct models *r, const struct manifest *m, struct fs *to,
                    const char *base, struct progress *progress, struct err *err);
