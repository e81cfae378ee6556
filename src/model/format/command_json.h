/* command_json.h - command.json, the file of a model that is a program of its own:
 *
 *     { "command": ["./llama-server", "-m", "weights.gguf", "--port", "{port}"],
 *       "health": "/health" }
 *
 * {port} stands for the port that the program must listen on, {dir} for the model's directory. The
 * registry looks at it when a model is pushed, and the model server when it starts one. Pure. */
#pragma once
#include "base/err.h"
#include "base/json.h"

#define COMMAND_JSON "command.json"
#define COMMAND_JSON_MAX (64 * KIB)

/* -EINVAL with what is wrong, and an example as the hint. `file` is what the sentence calls it.
 * Keys that are not known are let through: a later version may know them. After 0 "command" is a
 * list of words without NULs, the first one not empty, and "health" is a path or null or not there.
 */
int command_json_check(const json_t *v, const char *file, struct err *err);
/* The same for a sentence of the caller's. -EINVAL */
int command_json_bad(const char *file, struct err *err, const char *what);
