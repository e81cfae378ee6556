/* pip.h - a Python environment with certain packages in it, made once.
 *
 *     $XDG_CACHE_HOME/ydl/pip/KEY/
 *         env/     the environment, made by `python3 -m venv` and filled by its pip
 *         log      what pip said
 *         done     it is complete; its time is when it was last used
 *         lock     held by whoever makes it, and by the pip that does, should that be orphaned
 *
 * KEY is a hash of what is asked for and of the Python that it is for: the words, what is in files
 * of requirements and in those that they name, in wheels, and the interpreter's version and place.
 * Environments unused for a month are removed when another one is made.
 *
 * Fibers only. Ctrl-C also ends pip. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

struct pip_options {
    const struct strs *words; /* packages as pip takes them, and files of requirements */
    /* What is going on: the last line of pip's, now and then; `begun` before it is started. May be
     * NULL. */
    void (*on_line)(void *arg, const char *line);
    void (*on_begin)(void *arg);
    void *arg;
};

/* *ret is the caller's: the environment's path. When pip fails the error has what it said last, and
 * *ret_log (the caller's too; else NULL) names the file with all of it. */
int pip_env(struct loop *l, const struct pip_options *o, char **ret, char **ret_log,
            struct err *err);

/* Appends the environments that are complete, those used last first: their directories. Blocks on
 * the disk. Any thread. */
int pip_made(struct strs *ret, struct err *err);

/* ---- for tests ---- */

#define PIP_KEY_TEXT 33
/* The key. `python` is whatever tells one Python from another. */
int pip_key(const struct strs *words, const char *python, char ret[PIP_KEY_TEXT], struct err *err);
