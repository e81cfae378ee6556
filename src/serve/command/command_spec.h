/* command_spec.h - what a model's command.json says (model/format/command_json.h), as it is run.
 * Waits for the disk. Any thread. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct command_spec {
    char *dir;         /* of the model: where the program runs, absolute */
    char *name;        /* the model's, by its manifest or directory */
    int64_t version;   /* by the manifest, else 1 */
    struct strs words; /* with {port} and {dir} in them */
    char *health;      /* NULL: it is ready when it accepts connections */
};

/* 1: `path` is such a model, a directory or a version of the registry; 0: it is another one, and
 * `ret` is empty. -EINVAL with a sentence. *ret needs command_spec_done() in any case. */
int command_spec_open(const char *path, struct command_spec *ret, struct err *err);
void command_spec_done(struct command_spec *s);
/* The words with the port and the directory in their places. `ret` is empty before. -ENOMEM */
int command_spec_words(const struct command_spec *s, unsigned port, struct strs *ret);
#define AUTO_COMMAND_SPEC AUTO_DONE(command_spec_done) struct command_spec
