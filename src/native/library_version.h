/* library_version.h - which version of a framework a library is, without loading it: its file's
 * name says it (libonnxruntime.so.1.31.1), or the Python package that brought it. Blocks on the
 * disk. Any thread. */
#pragma once
#include "native/library_find.h"

/* "1.31.1"; NULL when neither says it. The caller's. */
char *library_version(const struct find_library *l, const char *path);
