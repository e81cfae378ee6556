/* warmup_expected.c - compares an answer with what was expected, value by value, and remembers the
 * way to the present one for the sentence: "outputs[0].data[3] is 0.25 where 0.5 was expected".
 *
 * The data of a tensor of the Open Inference Protocol may be nested or flat, and means the same:
 * what is expected there is compared as flat numbers. See warmup_expected.h. */
#include "serve/engine/warmup_expected.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#define DEPTH_MAX 64
#define PLACE_MAX 240
#define VALUE_MAX 60 /* bytes of one that are shown */
#define RTOL 1e-5    /* as numpy.allclose has them */
#define ATOL 1e-8

struct comparing {
    double rtol, atol;
    char place[PLACE_MAX];
    size_t n;     /* bytes of it */
    size_t depth; /* of the present value */
    struct err *err;
};

static int compare(struct comparing *c, yyjson_val *expected, yyjson_val *found);

/* ---- where ---- */

/* Returns the length before; leave() goes back to it. */
static size_t enter_key(struct comparing *c, const char *key)
{
    size_t before = c->n;

    if (c->n < PLACE_MAX - 1)
        (void)snprintf(c->place + c->n, PLACE_MAX - c->n, "%s%.60s", c->n ? "." : "", key);
    c->n = strlen(c->place);
    c->depth++;
    return before;
}

static size_t enter_index(struct comparing *c, size_t i)
{
    size_t before = c->n;

    if (c->n < PLACE_MAX - 1)
        (void)snprintf(c->place + c->n, PLACE_MAX - c->n, "[%zu]", i);
    c->n = strlen(c->place);
    c->depth++;
    return before;
}

static void leave(struct comparing *c, size_t before)
{
    c->n = before;
    c->place[before] = '\0';
    c->depth--;
}

static void show(yyjson_val *v, char out[VALUE_MAX + 4])
{
    size_t n = 0;
    char *text =
        v ? yyjson_val_write_opts(v, YYJSON_WRITE_ALLOW_INF_AND_NAN, NULL, &n, NULL) : NULL;

    (void)snprintf(out, VALUE_MAX + 4, "%.*s%s", VALUE_MAX, text ? text : "nothing",
                   n > VALUE_MAX ? "…" : "");
    free(text);
}

static int differs(struct comparing *c, yyjson_val *expected, yyjson_val *found)
{
    char is[VALUE_MAX + 4], was[VALUE_MAX + 4];

    show(found, is);
    show(expected, was);
    return err_set(c->err, -EBADMSG, "%s is %s where %s was expected",
                   c->n ? c->place : "the answer", is, was);
}

/* ---- what ---- */

static bool is_near(const struct comparing *c, double expected, double found)
{
    if (isnan(expected) || isnan(found))
        return isnan(expected) && isnan(found);
    if (isinf(expected) || isinf(found))
        return expected == found;
    return fabs(found - expected) <= c->atol + c->rtol * fabs(expected);
}

/* Members of the answer that are not expected are passed over: an answer has an id and versions
 * that nobody writes down. */
static int compare_objects(struct comparing *c, yyjson_val *expected, yyjson_val *found)
{
    size_t i, n;
    yyjson_val *key, *value;
    int r = 0;

    yyjson_obj_foreach(expected, i, n, key, value)
    {
        size_t before = enter_key(c, yyjson_get_str(key));
        yyjson_val *one = yyjson_obj_getn(found, yyjson_get_str(key), yyjson_get_len(key));

        r = one ? compare(c, value, one) : differs(c, value, NULL);
        if (r < 0)
            return r;
        leave(c, before);
    }
    return 0;
}

/* The next value that is no array: arrays of arrays are walked in the order of the document, in
 * which yyjson keeps them. */
struct flat {
    yyjson_val *next;
    size_t left; /* of all values that lie in there */
};

/* A value of yyjson is 16 bytes, and an array is followed by all that it holds, at any depth: the
 * next value behind the array says how far that goes. */
static struct flat flat_of(yyjson_val *array)
{
    size_t bytes = (size_t)((uint8_t *)unsafe_yyjson_get_next(array) - (uint8_t *)array);

    return (struct flat){ unsafe_yyjson_get_first(array), bytes / sizeof(yyjson_val) - 1 };
}

static yyjson_val *flat_next(struct flat *f)
{
    while (f->left > 0) {
        yyjson_val *v = f->next++;

        f->left--;
        if (!yyjson_is_arr(v))
            return v;
    }
    return NULL;
}

static int compare_flat(struct comparing *c, yyjson_val *expected, yyjson_val *found)
{
    struct flat a = flat_of(expected), b = flat_of(found);

    for (size_t i = 0;; i++) {
        yyjson_val *x = flat_next(&a), *y = flat_next(&b);
        size_t before;
        int r;

        if (!x && !y)
            return 0;
        if (!x || !y)
            return err_set(c->err, -EBADMSG, "%s has %s than the %zu numbers that were expected",
                           c->place, x ? "fewer" : "more", x ? (size_t)i + 1 : (size_t)i);
        before = enter_index(c, i);
        r = compare(c, x, y);
        if (r < 0)
            return r;
        leave(c, before);
    }
}

static int compare_arrays(struct comparing *c, yyjson_val *expected, yyjson_val *found)
{
    yyjson_val *one = unsafe_yyjson_get_first(found);
    size_t i, n;
    yyjson_val *value;

    if (c->n >= 5 && strcmp(c->place + c->n - 5, ".data") == 0)
        return compare_flat(c, expected, found);
    if (yyjson_arr_size(expected) != yyjson_arr_size(found))
        return err_set(c->err, -EBADMSG, "%s has %zu elements where %zu were expected",
                       c->n ? c->place : "the answer", yyjson_arr_size(found),
                       yyjson_arr_size(expected));
    yyjson_arr_foreach(expected, i, n, value)
    {
        size_t before = enter_index(c, i);
        int r = compare(c, value, one);

        if (r < 0)
            return r;
        leave(c, before);
        one = unsafe_yyjson_get_next(one);
    }
    return 0;
}

static int compare(struct comparing *c, yyjson_val *expected, yyjson_val *found)
{
    if (c->depth > DEPTH_MAX)
        return err_set(c->err, -EBADMSG, "it is nested too deeply");
    if (yyjson_is_obj(expected) && yyjson_is_obj(found))
        return compare_objects(c, expected, found);
    if (yyjson_is_arr(expected) && yyjson_is_arr(found))
        return compare_arrays(c, expected, found);
    if (yyjson_is_num(expected) && yyjson_is_num(found))
        return is_near(c, yyjson_get_num(expected), yyjson_get_num(found))
                   ? 0
                   : differs(c, expected, found);
    if (yyjson_is_str(expected) && yyjson_is_str(found))
        return yyjson_get_len(expected) == yyjson_get_len(found) &&
                       memcmp(yyjson_get_str(expected), yyjson_get_str(found),
                              yyjson_get_len(found)) == 0
                   ? 0
                   : differs(c, expected, found);
    return yyjson_get_tag(expected) == yyjson_get_tag(found) && !yyjson_is_ctn(expected)
               ? 0
               : differs(c, expected, found);
}

/* ---- the interface ---- */

static int take_tolerance(yyjson_val *v, const char *name, double otherwise, double *ret,
                          struct err *err)
{
    *ret = v ? yyjson_get_num(v) : otherwise;
    if (v && (!yyjson_is_num(v) || !(*ret >= 0)))
        return err_set(err, -EINVAL, "'%s' must be a number that is not negative", name);
    return 0;
}

static int check_keys(yyjson_val *root, struct err *err)
{
    static const char *const keys[] = { "request", "expected", "rtol", "atol" };
    size_t i, n;
    yyjson_val *key, *value;

    yyjson_obj_foreach(root, i, n, key, value)
    {
        size_t k = 0;

        while (k < COUNT_OF(keys) && !yyjson_equals_str(key, keys[k]))
            k++;
        if (k == COUNT_OF(keys))
            return err_set(err, -EINVAL,
                           "there is no '%.60s' beside 'request': expected, rtol, atol",
                           yyjson_get_str(key));
    }
    return 0;
}

static int take_request(yyjson_val *request, struct buf *file, struct err *err)
{
    size_t n = 0;
    AUTO_FREE char *text =
        yyjson_val_write_opts(request, YYJSON_WRITE_ALLOW_INF_AND_NAN, NULL, &n, NULL);

    if (!text)
        return err_oom(err);
    buf_reset(file);
    return buf_add(file, text, n) < 0 ? err_oom(err) : 0;
}

/*     {"instances": […]}                                a request alone
 *     {"request": {"instances": […]}, "expected": {"predictions": […]}, "rtol": 1e-4}
 *
 * *file becomes the request in either case. A file that is no JSON is left to whoever answers it.
 */
int warmup_expected_read(struct buf *file, struct warmup_expected *ret, struct err *err)
{
    yyjson_doc *doc = file->len ? yyjson_read_opts((char *)file->data, file->len,
                                                   YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL)
                                : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *request = yyjson_obj_get(root, "request");
    int r;

    *ret = (struct warmup_expected){ .doc = doc };
    if (!request)
        return 0; /* whoever answers it says what is wrong with it */
    ret->value = yyjson_obj_get(root, "expected");
    r = check_keys(root, err);
    if (r == 0 && !yyjson_is_obj(request))
        r = err_set(err, -EINVAL, "'request' must be the body of a request, an object");
    if (r == 0 && !ret->value)
        r = err_set(err, -EINVAL, "'expected' is missing beside 'request'");
    if (r == 0)
        r = take_tolerance(yyjson_obj_get(root, "rtol"), "rtol", RTOL, &ret->rtol, err);
    if (r == 0)
        r = take_tolerance(yyjson_obj_get(root, "atol"), "atol", ATOL, &ret->atol, err);
    return r < 0 ? r : take_request(request, file, err);
}

int warmup_expected_check(const struct warmup_expected *e, const void *answer, size_t n,
                          struct err *err)
{
    struct comparing c = { .rtol = e->rtol, .atol = e->atol, .err = err };
    yyjson_doc *doc;
    int r;

    if (!e->value)
        return 0;
    doc = yyjson_read_opts((char *)(uintptr_t)answer, n, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL);
    if (!doc)
        return err_set(err, -EBADMSG, "the answer is no JSON");
    r = compare(&c, e->value, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return r;
}

void warmup_expected_done(struct warmup_expected *e)
{
    yyjson_doc_free(e->doc);
    *e = (struct warmup_expected){ 0 };
}
