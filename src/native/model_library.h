/* model_library.h - which library runs a model of a format of the registry, so that the model
 * server can serve it. Any thread. */
#pragma once
#include "native/library_find.h"

bool model_is_served(const char *format); /* can the model server run it? */
/* NULL: none is needed. */
const struct find_library *model_library(const char *format);
