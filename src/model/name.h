/* name.h - names of models and aliases, and how a version is named. Pure.
 *
 *     resnet      resnet:3      resnet@champion
 */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define MODEL_NAME_MOST 128
#define MODEL_NAME (MODEL_NAME_MOST + 1)
/* Room for times in milliseconds, which exporters of TensorFlow use as versions; exact as a double,
 * as programs that read JSON may keep it. */
#define MODEL_VERSION_MOST INT64_C(999999999999999)

/* Letters, digits, '.', '_' and '-', the first one a letter or digit, at most MODEL_NAME_MOST. */
bool model_name_ok(const char *name);
/* -EINVAL with a sentence; `what`: "model", "alias". */
int model_name_check(const char *what, const char *name, struct err *err);

struct model_ref {
    char name[MODEL_NAME];
    int64_t version;        /* 0: none was given */
    char alias[MODEL_NAME]; /* "": none was given */
};

/* -EINVAL with a sentence. */
int model_ref_parse(const char *text, struct model_ref *ret, struct err *err);
/* A version by its digits, from 1 on; -EINVAL with a sentence. */
int model_version_parse(const char *text, int64_t *ret, struct err *err);
