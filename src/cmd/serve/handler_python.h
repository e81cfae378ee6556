/* handler_python.h - the Python that runs a handler. Fibers only. */
#pragma once
#include "cmd/serve/serve_version.h"

/* Into v->library: the one that was named; else that of an environment with the handler's
 * requirements, made once; else the active one. */
int handler_python(struct loop *l, const struct serve_find *how, struct serve_version *v,
                   struct err *err);
