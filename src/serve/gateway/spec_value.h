/* spec_value.h - reads the values of a gateway's JSON document by a table of keys. Pure. */
#pragma once
#include "base/json.h"
#include <stdbool.h>
#include <stddef.h>

enum spec_type {
    SPEC_NAME,    /* char[GATEWAY_NAME]: letters, digits, . _ - */
    SPEC_PATH,    /* char *: an absolute file name */
    SPEC_TARGET,  /* char *: the path of a request, perhaps with {version} */
    SPEC_FLAG,    /* bool */
    SPEC_COUNT,   /* unsigned */
    SPEC_NUMBER,  /* int64_t: a version */
    SPEC_PERCENT, /* unsigned: in hundredths */
    SPEC_SIZE,    /* uint64_t: bytes, or "64m" */
    SPEC_TIME,    /* int64_t: "30s", kept in milliseconds */
    SPEC_OTHER,   /* read by `read` */
};

struct spec_key {
    const char *name;
    enum spec_type type;
    size_t offset;
    bool needed;
    double least, most;
    /* Of SPEC_OTHER. `where` names the object in errors. */
    int (*read)(void *object, const json_t *v, const char *where, struct err *err);
};

#define SPEC_WHERE 160

/* "WHERE: 'KEY' WHAT". Always -EINVAL. */
int spec_bad(struct err *err, const char *where, const char *key, const char *what);
/* Fills the object's fields; `keys` ends with a row without a name. An unknown key is an error. */
int spec_object(void *object, const struct spec_key *keys, const json_t *v, const char *where,
                struct err *err);
/* Is it a list of at most `most` entries? */
int spec_array(const json_t *v, size_t most, const char *where, const char *key, struct err *err);
