/* route.c - which path means what.
 *
 *     POST /v1/models/NAME[/versions/N|/labels/L]:predict|:classify|:regress
 *     GET  /v1/models/NAME[/versions/N|/labels/L][/metadata]
 *     GET  /v2    /v2/health/live    /v2/health/ready
 *     GET  /v2/models/NAME[/versions/N][/ready]
 *     POST /v2/models/NAME[/versions/N]/infer
 *     POST /v2/repository[/R]/index    /v2/repository[/R]/models/NAME/load|unload
 *
 * Below /v1 the words of a path, but not names, may be in any case, and what is not understood is a
 * malformed request (400), a wrong method too: TensorFlow Serving matches regular expressions.
 * Below /v2 case counts, and a wrong method is 405. */
#include "base/str.h"
#include "serve/protocol/protocol.h"
#include "wire/http_query.h"

#include <string.h>
#include <strings.h>

/* A cursor in a path. */
struct path {
    const char *p, *end;
    bool any_case;
};

/* Eats this word if it is there. */
static bool eat(struct path *at, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(at->end - at->p) < n ||
        (at->any_case ? strncasecmp(at->p, word, n) : strncmp(at->p, word, n)) != 0)
        return false;
    at->p += n;
    return true;
}

/* The same if the path ends behind it. */
static bool eat_last(struct path *at, const char *word)
{
    struct path copy = *at;

    if (!eat(&copy, word) || copy.p != copy.end)
        return false;
    *at = copy;
    return true;
}

/* "/" and a part of at least one byte up to one of `stops`, or the end. */
static bool eat_part(struct path *at, const char *stops, const char **ret, size_t *ret_n)
{
    struct path copy = *at;

    if (!eat(&copy, "/"))
        return false;
    *ret = copy.p;
    while (copy.p < copy.end && !strchr(stops, *copy.p))
        copy.p++;
    *ret_n = (size_t)(copy.p - *ret);
    if (*ret_n == 0)
        return false;
    *at = copy;
    return true;
}

static int keep(char **into, const char *s, size_t n, const char *what, struct err *err)
{
    char *text = NULL;
    int r = http_unquote(s, n, false, &text);

    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        return exchange_err(err, EXCHANGE_INVALID, "Failed to decode %s:%.*s", what,
                            (int)(n < 200 ? n : 200), s);
    free(*into);
    *into = text;
    return 0;
}

/* Digits; 1 when it is something else. */
static int keep_version(struct exchange *x, const char *s, size_t n, struct err *err)
{
    int64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return 1;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s[i] - '0', &v))
            return exchange_err(err, EXCHANGE_INVALID,
                                "Failed to convert version: %.*s to numeric.",
                                (int)(n < 200 ? n : 200), s);
    }
    x->version = v;
    return 0;
}

static int malformed(const struct exchange_request *q, const struct path *all, struct err *err)
{
    size_t n = (size_t)(all->end - all->p);

    return exchange_err(err, EXCHANGE_INVALID, "Malformed request: %.20s %.*s", q->method,
                        (int)(n < 300 ? n : 300), all->p);
}

/* [/versions/N|/labels/L]: 0, 1 when a version is no number, or a failure. */
static int tfs_version(struct exchange *x, struct path *at, struct err *err)
{
    struct path copy = *at;
    const char *s;
    size_t n;
    int r = 0;

    if (eat(&copy, "/versions") && eat_part(&copy, "/:", &s, &n)) {
        r = keep_version(x, s, n, err);
        if (r == 0)
            *at = copy;
    } else if (copy = *at, eat(&copy, "/labels") && eat_part(&copy, "/:", &s, &n)) {
        r = keep(&x->label, s, n, "model version label", err);
        if (r == 0)
            *at = copy;
    }
    return r;
}

/* What does not match is malformed, also a version that is no number: in TensorFlow Serving's
 * regular expression it would not match either, and only a number that is too large is told by
 * name. */
static int tfs_post(struct exchange *x, const struct exchange_request *q, struct path at,
                    struct err *err)
{
    static const struct {
        const char *word;
        enum exchange_op op;
    } rows[] = {
        { ":predict", EXCHANGE_OP_PREDICT },
        { ":classify", EXCHANGE_OP_CLASSIFY },
        { ":regress", EXCHANGE_OP_REGRESS },
    };
    const struct path all = at;
    const char *name;
    size_t n;
    int r;

    if (!eat(&at, "/v1/models") || !eat_part(&at, "/:", &name, &n))
        return malformed(q, &all, err);
    r = keep(&x->name, name, n, "model name", err);
    if (r == 0)
        r = tfs_version(x, &at, err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(rows); i++) {
        if (eat_last(&at, rows[i].word)) {
            x->op = rows[i].op;
            return 0;
        }
    }
    return r < 0 ? r : malformed(q, &all, err);
}

static int tfs_get(struct exchange *x, const struct exchange_request *q, struct path at,
                   struct err *err)
{
    const struct path all = at;
    const char *name;
    size_t n;
    int r = 0;

    if (!eat(&at, "/v1/models"))
        return malformed(q, &all, err);
    if (eat_part(&at, "/:", &name, &n))
        r = keep(&x->name, name, n, "model name", err);
    if (r == 0)
        r = tfs_version(x, &at, err);
    if (r < 0)
        return r;
    x->op = eat_last(&at, "/metadata") ? EXCHANGE_OP_MODEL_METADATA : EXCHANGE_OP_MODEL_STATUS;
    if (r > 0 || at.p != at.end)
        return malformed(q, &all, err);
    if (!x->name)
        return exchange_err(err, EXCHANGE_INVALID, "Missing model name in request.");
    return 0;
}

static int tfs_route(struct exchange *x, const struct exchange_request *q, struct path at,
                     struct err *err)
{
    at.any_case = true;
    if (strcmp(q->method, "POST") == 0)
        return tfs_post(x, q, at, err);
    if (strcmp(q->method, "GET") == 0)
        return tfs_get(x, q, at, err);
    return malformed(q, &at, err);
}

/* Of /v2: what stands behind the optional parts, how it is asked for, and what it is. */
struct oip_row {
    const char *last, *method;
    enum exchange_op op;
};

static const struct oip_row server_rows[] = {
    { "", "GET", EXCHANGE_OP_SERVER_METADATA },
    { "/", "GET", EXCHANGE_OP_SERVER_METADATA },
    { "/health/live", "GET", EXCHANGE_OP_SERVER_LIVE },
    { "/health/ready", "GET", EXCHANGE_OP_SERVER_READY },
    { NULL, NULL, 0 },
};
static const struct oip_row model_rows[] = {
    { "", "GET", EXCHANGE_OP_MODEL_METADATA },
    { "/ready", "GET", EXCHANGE_OP_MODEL_READY },
    { "/infer", "POST", EXCHANGE_OP_PREDICT },
    { NULL, NULL, 0 },
};
static const struct oip_row index_rows[] = {
    { "/index", "POST", EXCHANGE_OP_INDEX },
    { NULL, NULL, 0 },
};
static const struct oip_row repository_rows[] = {
    { "/load", "POST", EXCHANGE_OP_LOAD },
    { "/unload", "POST", EXCHANGE_OP_UNLOAD },
    { NULL, NULL, 0 },
};

static int oip_row(struct exchange *x, const struct exchange_request *q, const struct oip_row *rows,
                   struct path at, struct err *err)
{
    for (; rows->last; rows++) {
        if (!eat_last(&at, rows->last))
            continue;
        x->op = rows->op;
        if (strcmp(q->method, rows->method) == 0)
            return 0;
        x->answer.allow = rows->method;
        return exchange_err(err, EXCHANGE_UNIMPLEMENTED, "%.20s is not possible here: use %s",
                            q->method, rows->method);
    }
    return exchange_err(err, EXCHANGE_NOT_FOUND, "there is no such path in the protocol: %.*s",
                        (int)(strcspn(q->target, "?") < 300 ? strcspn(q->target, "?") : 300),
                        q->target);
}

static int oip_model(struct exchange *x, struct path *at, struct err *err)
{
    struct path copy;
    const char *s;
    size_t n;
    int r;

    if (!eat_part(at, "/", &s, &n))
        return 0; /* no row begins like this */
    r = keep(&x->name, s, n, "model name", err);
    copy = *at;
    if (r < 0 || !eat(&copy, "/versions") || !eat_part(&copy, "/", &s, &n))
        return r;
    r = keep_version(x, s, n, err);
    if (r > 0)
        return exchange_err(err, EXCHANGE_INVALID, "the version '%.*s' is not a number",
                            (int)(n < 100 ? n : 100), s);
    *at = copy;
    return r;
}

static int oip_repository(struct exchange *x, const struct exchange_request *q, struct path at,
                          struct err *err)
{
    struct path inner = at;
    const char *s;
    size_t n;
    int r;

    /* The name of a repository stands between, or does not: there is only one. */
    if (!(eat(&inner, "/models/") || eat_last(&inner, "/index")))
        (void)eat_part(&at, "/", &s, &n);
    inner = at;
    if (!eat(&inner, "/models"))
        return oip_row(x, q, index_rows, at, err);
    if (!eat_part(&inner, "/", &s, &n))
        return oip_row(x, q, index_rows, at, err);
    r = keep(&x->name, s, n, "model name", err);
    return r < 0 ? r : oip_row(x, q, repository_rows, inner, err);
}

static int oip_route(struct exchange *x, const struct exchange_request *q, struct path at,
                     struct err *err)
{
    int r;

    (void)eat(&at, "/v2");
    if (eat(&at, "/models")) {
        r = oip_model(x, &at, err);
        if (r < 0)
            return r;
        return oip_row(x, q, x->name ? model_rows : repository_rows, at, err);
    }
    if (eat(&at, "/repository"))
        return oip_repository(x, q, at, err);
    return oip_row(x, q, server_rows, at, err);
}

int route(struct exchange *x, const struct exchange_request *q, struct err *err)
{
    struct path at = { q->target, q->target + strcspn(q->target, "?"), .any_case = true };
    struct path copy = at;

    if (eat(&copy, "/v1/")) {
        x->protocol = &tfs_protocol;
        return tfs_route(x, q, at, err);
    }
    copy = at;
    copy.any_case = at.any_case = false;
    if (eat(&copy, "/v2") && (copy.p == copy.end || *copy.p == '/')) {
        x->protocol = &oip_protocol;
        return oip_route(x, q, at, err);
    }
    return 1;
}
