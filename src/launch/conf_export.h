/* conf_export.h - the cluster's configuration as one small XML document, for a machine that may
 * have none, or another one.
 *
 * It has every setting that ydl reads and that is set: those of hadoop/conf/keys.h, and by prefix
 * those with a name service, an id or a mount point in their names. References (${…}) are resolved
 * here, where their environment is. conf_parse() of it gives the same view of the cluster. Such
 * settings hold no secrets. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "hadoop/conf/conf.h"

#define CONF_EXPORT_MAX (256 * KIB)

/* Appends the document. -E2BIG past CONF_EXPORT_MAX, -EINVAL for a value that XML cannot hold; then
 * nothing is appended. */
int conf_export(const struct conf *c, struct buf *out, struct err *err);
