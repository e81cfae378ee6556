/* conf_store.h - the settings of a conf while they are read and after. Private to this directory.
 *
 * Settings are added in the order of the files; sealing decides which of several with the same
 * name counts and makes them searchable. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "hadoop/conf/xml.h"
#include <stddef.h>

#define STORE_MAX 100000 /* settings, counted before duplicates are dropped */

struct setting {
    char *key;   /* by its present name */
    char *value; /* NULL: only says that the key is final */
    bool final;
    size_t file; /* index in conf.files */
    int line;
    size_t order; /* of reading */
};

struct conf {
    char *dir;
    char *user_name, *user_home; /* for ${user.name} and ${user.home} */
    struct strs files;           /* every file read, as errors call it */
    struct setting *v;           /* sorted by key once sealed */
    size_t n;
};

/* An empty conf that knows who runs it. *ret is the caller's: conf_free(). */
int store_new(const char *dir, struct conf **ret, struct err *err);
/* Adds what was read from the file that was added last. */
int store_add(struct conf *c, const struct xml_property *p, size_t file, struct err *err);
/* The last one wins, unless an earlier one is final. To be called once. */
void store_seal(struct conf *c);
/* The setting of `key`, also by an old name; NULL when it is not set. */
const struct setting *store_find(const struct conf *c, const char *key);
/* The index of the first setting whose key is not before `prefix`; the count when there is none. */
size_t store_from(const struct conf *c, const char *prefix);
