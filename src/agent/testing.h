/* testing.h - places for files, for the agent's unit tests: below TMPDIR, which the torture runner
 * removes with whatever a failed assertion left. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TESTING_PATH 256

/* A new name for mkdtemp() or mkstemp(). */
static inline void testing_template(char out[TESTING_PATH], const char *name)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(out, TESTING_PATH, "%s/ydl-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", name);
}

static inline bool testing_dir(char out[TESTING_PATH], const char *name)
{
    testing_template(out, name);
    return mkdtemp(out) != NULL;
}
