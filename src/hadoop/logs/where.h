/* where.h - the directories in which YARN may keep the logs of an application. Private to this
 * directory. Pure: looks at the configuration only. */
#pragma once
#include "base/str.h"
#include "hadoop/conf/conf.h"

/* Adds the directories to `ret`, those that are likeliest first, each once. They are written as the
 * configuration has them: with or without a scheme. `user` is whose application it was. -EINVAL
 * when `app` is no application id or `user` no name. */
int logs_where(const struct conf *c, const char *user, const char *app, struct strs *ret,
               struct err *err);
