/* name.c - see name.h */
#include "model/name.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"
#define FIRST DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool model_name_ok(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= MODEL_NAME_MOST && strchr(FIRST, *name) && strspn(name, FIRST "._-") == n;
}

int model_name_check(const char *what, const char *name, struct err *err)
{
    if (model_name_ok(name))
        return 0;
    err_set(err, -EINVAL, "'%.140s' cannot be the name of %s %s", name,
            strchr("aeiou", *what) ? "an" : "a", what);
    err_hint(err, "letters, digits, '.', '_' and '-', the first a letter or digit, at most %d",
             MODEL_NAME_MOST);
    return -EINVAL;
}

int model_version_parse(const char *text, int64_t *ret, struct err *err)
{
    size_t n = strlen(text);

    if (n > 0 && strspn(text, DIGITS) == n && str_to_i64(text, 1, MODEL_VERSION_MOST, ret) == 0)
        return 0;
    return err_set(err, -EINVAL, "'%.40s' is not a version: versions are numbers from 1 on", text);
}

int model_ref_parse(const char *text, struct model_ref *ret, struct err *err)
{
    size_t n = strcspn(text, ":@");
    int r;

    *ret = (struct model_ref){ 0 };
    if (n > MODEL_NAME_MOST || n == 0)
        return model_name_check("model", text, err);
    memcpy(ret->name, text, n);
    r = model_name_check("model", ret->name, err);
    if (r < 0 || !text[n])
        return r;
    if (text[n] == ':')
        return model_version_parse(text + n + 1, &ret->version, err);
    r = model_name_check("alias", text + n + 1, err);
    if (r == 0)
        snprintf(ret->alias, sizeof(ret->alias), "%s", text + n + 1);
    return r;
}
