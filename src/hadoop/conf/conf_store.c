/* conf_store.c - collects settings in the order of reading, then sorts them once and decides for
 * each key which value counts: the last, unless an earlier one is final. See conf_store.h. */
#include "hadoop/conf/conf_store.h"
#include "base/array.h"
#include "base/log.h"
#include "hadoop/conf/conf.h"
#include "hadoop/conf/keys.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* Java asks the system who the user is. We read the file, because the static program has no name
 * service switch to ask; who is not in it is named by the environment, or by number. */
static int conf_store_find_user(char **ret_name, char **ret_home)
{
    FILE *f = fopen("/etc/passwd", "re");
    const char *name = getenv("USER"), *home = getenv("HOME");
    struct passwd pw, *row = NULL;
    char text[4096];

    while (f && fgetpwent_r(f, &pw, text, sizeof(text), &row) == 0 && row)
        if (row->pw_uid == geteuid()) {
            name = row->pw_name;
            home = row->pw_dir;
            break;
        }
    *ret_name = name && *name ? strdup(name) : str_printf("%u", (unsigned)geteuid());
    *ret_home = strdup(home && *home ? home : "/");
    if (f)
        fclose(f);
    return *ret_name && *ret_home ? 0 : -ENOMEM;
}

int store_new(const char *dir, struct conf **ret, struct err *err)
{
    AUTO_CONF *c = calloc(1, sizeof(*c));

    if (!c)
        return err_oom(err);
    c->dir = strdup(dir);
    if (!c->dir || conf_store_find_user(&c->user_name, &c->user_home) < 0)
        return err_oom(err);
    *ret = take(c);
    return 0;
}

const char *conf_user(const struct conf *c)
{
    return c->user_name;
}

static void setting_done(struct setting *s)
{
    free(s->key);
    free(s->value);
}

struct conf *conf_free(struct conf *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        setting_done(&c->v[i]);
    free(c->v);
    strs_done(&c->files);
    free(c->dir);
    free(c->user_name);
    free(c->user_home);
    free(c);
    return NULL;
}

int store_add(struct conf *c, const struct xml_property *p, size_t file, struct err *err)
{
    struct setting s = { .final = p->final, .file = file, .line = p->line, .order = c->n };

    if (c->n == STORE_MAX)
        return err_set(err, -E2BIG, "%s:%d: more than %d settings", c->files.v[file], p->line,
                       STORE_MAX);
    s.key = strdup(key_current(p->name));
    s.value = p->value ? strdup(p->value) : NULL;
    if (s.key && (!p->value || s.value) && ARRAY_ADD(c->v, c->n, s) == 0)
        return 0;
    setting_done(&s);
    return err_oom(err);
}

static int by_key_and_order(const void *a, const void *b)
{
    const struct setting *x = a, *y = b;
    int r = strcmp(x->key, y->key);

    return r ? r : x->order < y->order ? -1 : 1;
}

static void trace_final(const struct conf *c, const struct setting *s, const struct setting *kept)
{
    trace(LOG_CONF, "'%s' is final since %s:%d, ignoring %s:%d", s->key, c->files.v[kept->file],
          kept->line, c->files.v[s->file], s->line);
}

/* Of the settings v[0..n), which have the same key and are in the order of reading, the one that
 * counts goes to *ret; the rest is freed. False when none has a value. A final property locks its
 * key also when it has no value of its own, as with Hadoop. */
static bool conf_store_decide(const struct conf *c, struct setting *v, size_t n,
                              struct setting *ret)
{
    struct setting *kept = NULL, *locked_by = NULL;

    for (size_t i = 0; i < n; i++) {
        if (v[i].value && locked_by)
            trace_final(c, &v[i], locked_by);
        else if (v[i].value)
            kept = &v[i];
        if (v[i].final && !locked_by)
            locked_by = &v[i];
    }
    for (size_t i = 0; i < n; i++)
        if (&v[i] != kept)
            setting_done(&v[i]);
    if (kept)
        *ret = *kept;
    return kept != NULL;
}

void store_seal(struct conf *c)
{
    size_t n = 0, end;

    if (c->n == 0)
        return;
    qsort(c->v, c->n, sizeof(*c->v), by_key_and_order);
    for (size_t i = 0; i < c->n; i = end) {
        struct setting s;

        for (end = i + 1; end < c->n && str_eq(c->v[end].key, c->v[i].key); end++)
            ;
        if (conf_store_decide(c, c->v + i, end - i, &s))
            c->v[n++] = s;
    }
    c->n = n;
}

size_t store_from(const struct conf *c, const char *prefix)
{
    size_t low = 0, high = c->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(c->v[mid].key, prefix) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct setting *store_find(const struct conf *c, const char *key)
{
    size_t i;

    key = key_current(key);
    i = store_from(c, key);
    return i < c->n && str_eq(c->v[i].key, key) ? &c->v[i] : NULL;
}
