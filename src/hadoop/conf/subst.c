/* subst.c - replaces ${…} one reference at a time and looks at the result again, as Hadoop does,
 * with limits on rounds and length so that settings cannot grow without end. See subst.h. */
#include "hadoop/conf/subst.h"
#include "base/buf.h"
#include "hadoop/conf/conf.h"
#include "hadoop/conf/keys.h"

#include <string.h>

#define ROUNDS_MAX 20

/* The first ${name} in `text` whose name is not empty and has no blank and no dollar in it. */
static const char *find_reference(const char *text, size_t *ret_n)
{
    const char *p = text;

    while ((p = strstr(p, "${")) != NULL) {
        size_t n = strcspn(p + 2, "}$ ");

        if (n > 0 && p[2 + n] == '}') {
            *ret_n = n;
            return p;
        }
        if (p[2 + n] == '\0')
            return NULL; /* an open brace hides what is behind it */
        p += 2 + n;
    }
    return NULL;
}

/* ${env.NAME}, ${env.NAME-default when unset}, ${env.NAME:-default when unset or empty}. */
static int from_environment(const char *name, char **ret)
{
    size_t n = strcspn(name, "-");
    bool or_empty = n > 0 && name[n] == '-' && name[n - 1] == ':';
    AUTO_FREE char *variable = strndup(name, n - or_empty);
    const char *value;

    if (!variable)
        return -ENOMEM;
    value = getenv(variable);
    if (name[n] == '-' && (!value || (or_empty && !*value)))
        value = name + n + 1;
    if (!value)
        return 0;
    *ret = strdup(value);
    return *ret ? 0 : -ENOMEM;
}

/* What `name` stands for, or NULL in *ret. As Java's client looks: the environment, system
 * properties, then the settings, of which one may have the name of a property. */
static int subst_look_up(const struct conf *c, const char *name, char **ret)
{
    const struct setting *s;
    const struct key *k;
    const char *value = NULL;
    int r;

    *ret = NULL;
    if (str_starts(name, "env.") && name[4]) {
        r = from_environment(name + 4, ret);
        if (r < 0 || *ret)
            return r;
    }
    if (str_eq(name, "user.name"))
        value = c->user_name;
    else if (str_eq(name, "user.home"))
        value = c->user_home;
    else if (str_eq(name, "java.io.tmpdir"))
        value = "/tmp";
    if (!value) {
        s = store_find(c, name);
        k = key_find(key_current(name));
        value = s ? s->value : k ? k->fallback : NULL;
    }
    if (!value)
        return 0;
    *ret = strdup(value);
    return *ret ? 0 : -ENOMEM;
}

static int splice(const char *text, const char *at, size_t n, const char *value, char **ret)
{
    AUTO_BUF b = { .max = XML_TEXT_MAX };
    int r;

    r = buf_add(&b, text, (size_t)(at - text));
    if (r == 0)
        r = buf_add_str(&b, value);
    if (r == 0)
        r = buf_add_str(&b, at + n);
    if (r < 0)
        return r;
    *ret = buf_text(&b) ? strdup(buf_text(&b)) : NULL;
    return *ret ? 0 : -ENOMEM;
}

/* One round: 1 when something was put in (*text is new), 0 when nothing is left to do. A value that
 * holds its own ${name} sets *loop. */
static int put_in(const struct conf *c, char **text, bool *loop)
{
    AUTO_FREE char *name = NULL, *value = NULL, *reference = NULL;
    char *next = NULL;
    const char *at;
    size_t n;
    int r;

    at = find_reference(*text, &n);
    if (!at)
        return 0;
    name = strndup(at + 2, n);
    reference = strndup(at, n + 3);
    if (!name || !reference)
        return -ENOMEM;
    r = subst_look_up(c, name, &value);
    if (r < 0 || !value)
        return r;
    if (strstr(value, reference)) {
        *loop = true;
        return 0;
    }
    r = splice(*text, at, n + 3, value, &next);
    if (r < 0)
        return r;
    free(*text);
    *text = next;
    return 1;
}

int subst(const struct conf *c, const char *key, const char *text, char **ret, struct err *err)
{
    AUTO_FREE char *now = strdup(text), *original = strdup(text);
    bool loop = false;
    int r = 1;

    if (!now || !original)
        return err_oom(err);
    for (int round = 0; r > 0 && round < ROUNDS_MAX; round++)
        r = put_in(c, &now, &loop);
    if (r > 0)
        return conf_bad(c, key, text, "which refers to too many other settings", err);
    if (r == -E2BIG)
        return conf_bad(c, key, text, "which is too long once ${…} is put in", err);
    if (r < 0)
        return err_oom(err);
    *ret = loop ? take(original) : take(now);
    return 0;
}
