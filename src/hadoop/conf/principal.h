/* principal.h - the short name of a Kerberos principal, by the rules of the cluster. */
#pragma once
#include "hadoop/conf/conf.h"

/* By hadoop.security.auth_to_local, as Hadoop's own client does it: "RULE:[1:$1@$0](.+@AD)s/@AD//L"
 * and so on, in their order. Without a rule that fits it is the text before the first '/' or
 * '@'. Patterns are POSIX's extended ones; one that only Java knows fits nothing. *ret is the
 * caller's. Pure. */
int conf_short_name(const struct conf *c, const char *principal, char **ret, struct err *err);
