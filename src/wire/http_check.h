/* http_check.h - whether a parsed head can be believed: what decides where a message ends must say
 * it once and clearly, or two servers could see two different requests in the same bytes. Pure. */
#pragma once
#include "wire/http_parse.h"

/* NULL when all is well; else a sentence, and the status to answer. */
const char *http_check_head(const struct http_parse *h, int *ret_status);
