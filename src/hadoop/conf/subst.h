/* subst.h - ${…} in the values of a conf, as Hadoop does it. Private to this directory. */
#pragma once
#include "base/err.h"
#include "hadoop/conf/conf_store.h"

/* Puts in what every ${…} of `text` stands for. At the first that stands for nothing it stops and
 * leaves the rest as it is; a value that contains its own name leaves the whole text as it was.
 * *ret is the caller's. -EINVAL, with the place of `key`, after twenty rounds or when the result
 * would be longer than 1 MiB. */
int subst(const struct conf *c, const char *key, const char *text, char **ret, struct err *err);
