/* spec_value.c - single values and objects of a gateway's document.
 *
 * A name is checked before it is kept, because it becomes part of a configuration file and of
 * commands that end at a blank, a semicolon or a line's end. */
#include "serve/gateway/spec_value.h"
#include "base/str.h"
#include "serve/gateway/gateway_spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int spec_bad(struct err *err, const char *where, const char *key, const char *what)
{
    return err_set(err, -EINVAL, "%s: '%s' %s", where, key, what);
}

/* ---- single values ---- */

static bool spec_plain(const char *s, const char *also)
{
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              strchr(also, *s)))
            return false;
    return true;
}

static int spec_name(char *out, const json_t *v, const char *where, const char *key,
                     struct err *err)
{
    const char *s = json_string_value(v);

    if (!s || !*s || strlen(s) >= GATEWAY_NAME || !spec_plain(s, "._-") || *s == '.' || *s == '-')
        return spec_bad(err, where, key,
                        "must be a name: at most 63 letters, digits, '.', '_' and '-'");
    (void)snprintf(out, GATEWAY_NAME, "%s", s);
    return 0;
}

/* The path of a request, with GATEWAY_VERSION_HERE any number of times. */
static bool spec_is_target(const char *s)
{
    AUTO_FREE char *rest = strdup(s);
    char *at;

    while (rest && (at = strstr(rest, GATEWAY_VERSION_HERE))) {
        size_t n = strlen(GATEWAY_VERSION_HERE);

        *at = '1';
        memmove(at + 1, at + n, strlen(at + n) + 1);
    }
    return rest && spec_plain(rest, "/._-+~,=:@%?&");
}

/* No blank, quote or control character: these texts stand in HAProxy's configuration. */
static int spec_text(char **out, const json_t *v, const struct spec_key *k, const char *where,
                     struct err *err)
{
    const char *s = json_string_value(v);

    if (!s || *s != '/' || strlen(s) > 1024 ||
        !(k->type == SPEC_TARGET ? spec_is_target(s) : spec_plain(s, "/._-+~,=:@%?&")))
        return spec_bad(err, where, k->name,
                        "must begin with '/' and have letters, digits and plain signs only");
    *out = strdup(s);
    return *out ? 0 : err_oom(err);
}

static int spec_number(double *out, const json_t *v, const struct spec_key *k, const char *where,
                       struct err *err)
{
    if (!json_is_number(v))
        return spec_bad(err, where, k->name, "must be a number");
    *out = json_number_value(v);
    if (!(*out >= k->least && *out <= k->most))
        return err_set(err, -EINVAL, "%s: '%s' must be between %g and %g", where, k->name, k->least,
                       k->most);
    if (k->type != SPEC_PERCENT && *out != floor(*out))
        return spec_bad(err, where, k->name, "must be a whole number");
    return 0;
}

static int spec_size(uint64_t *out, const json_t *v, const struct spec_key *k, const char *where,
                     struct err *err)
{
    int r = 0;

    if (json_is_integer(v) && json_integer_value(v) >= 0)
        *out = (uint64_t)json_integer_value(v);
    else
        r = json_is_string(v) ? str_to_size(json_string_value(v), out) : -EINVAL;
    if (r == 0 && !((double)*out >= k->least && (double)*out <= k->most))
        r = -ERANGE;
    return r < 0 ? spec_bad(err, where, k->name, "must be a size, like \"64m\"") : 0;
}

static int spec_time(int64_t *out, const json_t *v, const struct spec_key *k, const char *where,
                     struct err *err)
{
    int r = json_is_string(v) ? str_to_ms(json_string_value(v), out) : -EINVAL;

    if (r == 0 && !((double)*out >= k->least && (double)*out <= k->most))
        return err_set(err, -EINVAL, "%s: '%s' must be between %g and %g milliseconds", where,
                       k->name, k->least, k->most);
    return r < 0 ? spec_bad(err, where, k->name, "must be a time, like \"30s\"") : 0;
}

/* ---- objects ---- */

/* `at` has the type that the row's implies: char[GATEWAY_NAME] for a name, char * for paths,
 * uint64_t for sizes, int64_t for times and SPEC_NUMBER, unsigned for SPEC_COUNT and, in
 * hundredths, for SPEC_PERCENT. */
static int spec_value(void *object, const struct spec_key *k, const json_t *v, const char *where,
                      struct err *err)
{
    void *at = (char *)object + k->offset;
    double number = 0;
    int r;

    switch (k->type) {
    case SPEC_NAME:
        return spec_name(at, v, where, k->name, err);
    case SPEC_PATH:
    case SPEC_TARGET:
        return spec_text(at, v, k, where, err);
    case SPEC_SIZE:
        return spec_size(at, v, k, where, err);
    case SPEC_TIME:
        return spec_time(at, v, k, where, err);
    case SPEC_OTHER:
        return k->read(object, v, where, err);
    case SPEC_FLAG:
        if (!json_is_boolean(v))
            return spec_bad(err, where, k->name, "must be true or false");
        *(bool *)at = json_is_true(v);
        return 0;
    default:
        break;
    }
    r = spec_number(&number, v, k, where, err);
    if (r < 0)
        return r;
    if (k->type == SPEC_NUMBER)
        *(int64_t *)at = (int64_t)number;
    else
        *(unsigned *)at = (unsigned)lround(number * (k->type == SPEC_PERCENT ? 100 : 1));
    return 0;
}

static int spec_unknown(const struct spec_key *keys, const char *key, const char *where,
                        struct err *err)
{
    const char *names[32];
    const char *near;
    char clean[64];
    size_t n = 0;

    for (; keys[n].name; n++)
        names[n] = keys[n].name;
    near = str_nearest(key, names, n);
    (void)str_clean(clean, sizeof(clean), key);
    err_set(err, -EINVAL, "%s: '%s' is not a key of a gateway", where, clean);
    if (near)
        err_hint(err, "did you mean '%s'?", near);
    return -EINVAL;
}

int spec_object(void *object, const struct spec_key *keys, const json_t *v, const char *where,
                struct err *err)
{
    const char *key;
    const json_t *value;

    if (!json_is_object(v))
        return err_set(err, -EINVAL, "%s must be an object", where);
    json_object_foreach((json_t *)v, key, value)
    {
        const struct spec_key *k = keys;
        int r;

        while (k->name && strcmp(k->name, key) != 0)
            k++;
        r = k->name ? spec_value(object, k, value, where, err)
                    : spec_unknown(keys, key, where, err);
        if (r < 0)
            return r;
    }
    for (const struct spec_key *k = keys; k->name; k++)
        if (k->needed && !json_object_get(v, k->name))
            return err_set(err, -EINVAL, "%s: '%s' is missing", where, k->name);
    return 0;
}

int spec_array(const json_t *v, size_t most, const char *where, const char *key, struct err *err)
{
    if (!json_is_array(v))
        return spec_bad(err, where, key, "must be a list");
    if (json_array_size(v) > most)
        return err_set(err, -E2BIG, "%s: '%s' has %zu entries, at most %zu", where, key,
                       json_array_size(v), most);
    return 0;
}
