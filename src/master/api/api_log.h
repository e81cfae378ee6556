/* api_log.h - answers wait for the log. See api_log.c. */
#pragma once
#include "master/master_private.h"

int api_await_log(struct master *m, struct err *err); /* of what the engine was told; fibers only */
int api_is_leaving(struct err *err);                  /* sets it; -EAGAIN */
