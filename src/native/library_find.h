/* library_find.h - where a framework's C library is.
 *
 * Nobody installs libmxnet.so, libtensorflow_cc.so.2 or libxgboost.so for itself: it comes
 * inside a Python package, which is unpacked somewhere in an environment. Places, best first:
 *
 *   1. what --lib says: a file, or a directory to look in;
 *   2. what the library's own variable says (MXNET_LIBRARY_PATH): the same;
 *   3. the Python of the command that we stand in for, else the first python3 or python in PATH:
 *      its site-packages; where they cannot be told from its place (pyenv's shims, user packages,
 *      PYTHONPATH) it is asked;
 *   4. archives unpacked beside us: every directory in the working directory, and our own;
 *   5. the loader's ways (LD_LIBRARY_PATH, ld.so.conf).
 *
 * In a directory DIR are looked for: DIR/FILE, DIR/PACKAGE/FILE, DIR/lib/FILE, and
 * DIR/lib/pythonX/site-packages/PACKAGE/FILE.
 *
 * Blocks: on the disk, and for at most FIND_ASK_MS on a Python. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include <stdbool.h>

#define FIND_ASK_MS 20000

/* One library. */
struct find_library {
    const char *what;     /* for sentences: "MXNet" */
    const char *file;     /* "libmxnet.so" */
    bool versioned;       /* or that name and a version: "libonnxruntime.so.1.31.1", the newest */
    const char *package;  /* the directory of the Python package that brings it, and its name */
    const char *inner;    /* where in that directory it is: "capi"; NULL: in itself */
    const char *variable; /* may name the file or its directory; NULL: none */
    const char *const *cuda; /* files beside it that it opens by itself to use CUDA; NULL: none */
};

extern const struct find_library find_lightgbm, find_mxnet, find_onnxruntime, find_tensorflow,
    find_xgboost;

/* Where to look. All borrowed; NULL: nothing of that kind. */
struct find_places {
    const char *lib;      /* --lib */
    const char *variable; /* the value of library->variable */
    char *const *command; /* what we stand in for; NULL-terminated */
    const char *path;     /* PATH */
    const char *cwd;      /* the working directory */
    const char *self;     /* the directory that our program is in */
    bool only_command;    /* 3 is the command's own Python or none, and 5 is left out */
};

/* The library's file name: a path, or just library->file for the loader to find (then nobody has
 * looked whether it can). -ENOENT with a sentence that says what to do. *ret is the caller's. */
int find_library(const struct find_library *l, const struct find_places *p, char **ret,
                 struct err *err);

/* The file below a directory (or the file itself), as above; NULL when it is not there. The
 * caller's. */
char *find_below(const struct find_library *l, const char *dir);
