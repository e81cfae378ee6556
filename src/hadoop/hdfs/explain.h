/* explain.h - the NameNode's exceptions as sentences for people. Pure. */
#pragma once
#include "base/err.h"

/* `err` holds what a call gave (rpc.h); makes it "'/x': no such file or directory" and the like,
 * with code and hint that fit, and returns the code. `verb` is what was tried: "create". */
int explain(const char *verb, const char *path, int r, struct err *err);
