/* conf.h - the cluster's configuration: core-site.xml, hdfs-site.xml, yarn-site.xml.
 *
 * Read once from a directory, as Hadoop's own programs read it: <xi:include>, `final`, renamed
 * keys, ${…} from other settings, the environment (${env.NAME}, ${env.NAME:-default}) and the few
 * Java properties that make sense here (user.name, user.home, java.io.tmpdir). After loading a
 * conf does not change, so any thread may read it. Loading blocks on the local disk.
 *
 * A setting with an invalid value is an error that names its file and line. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>

struct conf; /* opaque */

/* Which directory to read: `flag` (what --conf says, or NULL), HADOOP_CONF_DIR, YARN_CONF_DIR,
 * $HADOOP_HOME/etc/hadoop, /etc/hadoop/conf. A directory that was named must exist; the others are
 * taken when they do. *ret is the caller's. -ENOENT when there is none. */
int conf_find_dir(const char *flag, char **ret, struct err *err);

/* Reads the files of `dir`, and resource-types.xml where there is one. A file that is missing is
 * fine as long as one of the three is there; one that is broken or cannot be read is not. *ret is
 * the caller's: conf_free(). */
int conf_load(const char *dir, struct conf **ret, struct err *err);

/* The same from `n` bytes of one file, called `name` in errors, without includes: for a
 * configuration that came over a wire, and for tests. */
int conf_parse(const char *name, const void *p, size_t n, struct conf **ret, struct err *err);

struct conf *conf_free(struct conf *c); /* NULL is fine; always NULL */
AUTO_DEFINE(conf, struct conf *, conf_free);
#define AUTO_CONF AUTO(conf) struct conf

const char *conf_dir(const struct conf *c); /* borrowed; "" after conf_parse */
/* Whom the system says this process runs as: as in /etc/passwd, else $USER, else the number. */
const char *conf_user(const struct conf *c);

/* The value of `key` or its default (keys.h), with ${…} put in and without white space around it.
 * *ret is the caller's, and NULL when the key is not set and has no default. -EINVAL when twenty
 * ${…} were put in and it still was not done. A reference that cannot be resolved stays as it is
 * written. */
int conf_str(const struct conf *c, const char *key, char **ret, struct err *err);

/* Typed, by the same rule. A key that is not set and has no default is -ENODATA. */
int conf_int(const struct conf *c, const char *key, int64_t *ret, struct err *err);
int conf_bool(const struct conf *c, const char *key, bool *ret, struct err *err);
/* Milliseconds. "10s", "5m" and so on; what a plain number means is in the key's row. */
int conf_ms(const struct conf *c, const char *key, int64_t *ret, struct err *err);
/* Bytes. "64m", "1g", or a plain number. */
int conf_size(const struct conf *c, const char *key, uint64_t *ret, struct err *err);
/* Adds the words of a list to `ret`; none when the key is not set. */
int conf_list(const struct conf *c, const char *key, struct strs *ret, struct err *err);

/* Adds the name of every key that is set and begins with `prefix` to `ret`, sorted. */
int conf_keys(const struct conf *c, const char *prefix, struct strs *ret, struct err *err);

/* "-EINVAL: yarn-site.xml:12: 'KEY' is 'VALUE', WHAT", for callers that reject a value. */
int conf_bad(const struct conf *c, const char *key, const char *value, const char *what,
             struct err *err);
