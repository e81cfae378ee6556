/* task_store.c - requests to the store as lines, and what its answers mean: "value …", "exists …",
 * "none", "timeout", "keys …", "ok", "error …". See task_store.h. */
#include "serve/deployment/task_store.h"

#include <string.h>

static int store_ask(struct line_client *c, const char **ret, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int store_ask(struct line_client *c, const char **ret, struct err *err, const char *fmt, ...)
{
    AUTO_FREE char *line = NULL;
    va_list ap;
    int r;

    va_start(ap, fmt);
    line = str_vprintf(fmt, ap);
    va_end(ap);
    if (!line)
        return err_oom(err);
    r = line_client_ask(c, line, ret, err);
    if (r == 0 && str_starts(*ret, "error "))
        return err_set(err, -EPROTO, "the job's key-value store: %s", *ret + strlen("error "));
    return r;
}

int task_store_put(struct line_client *c, const char *key, const char *value, struct err *err)
{
    const char *answer = NULL;

    return store_ask(c, &answer, err, "put %s %s", key, value);
}

int task_store_put_new(struct line_client *c, const char *key, const char *value, char **ret,
                       struct err *err)
{
    const char *answer = NULL;
    int r = store_ask(c, &answer, err, "putnew %s %s", key, value);

    if (r < 0 || !str_starts(answer, "exists "))
        return r < 0 ? r : 1;
    *ret = strdup(answer + strlen("exists "));
    return *ret ? 0 : err_oom(err);
}

int task_store_delete(struct line_client *c, const char *key, struct err *err)
{
    const char *answer = NULL;

    return store_ask(c, &answer, err, "del %s", key);
}

/* 0: "none", or "timeout".
 *
 * The answer is the line client's, until its next request: hence the copy. */
static int take_value(const char *answer, char **ret, struct err *err)
{
    if (!str_starts(answer, "value "))
        return 0;
    *ret = strdup(answer + strlen("value "));
    return *ret ? 1 : err_oom(err);
}

int task_store_get(struct line_client *c, const char *key, char **ret, struct err *err)
{
    const char *answer = NULL;
    int r = store_ask(c, &answer, err, "get %s", key);

    return r < 0 ? r : take_value(answer, ret, err);
}

int task_store_wait(struct line_client *c, const char *key, unsigned ms, char **ret,
                    struct err *err)
{
    const char *answer = NULL;
    int r = store_ask(c, &answer, err, "wait %s %u", key, ms);

    return r < 0 ? r : take_value(answer, ret, err);
}

int task_store_list(struct line_client *c, const char *prefix, struct strs *ret, struct err *err)
{
    const char *answer = NULL;
    int r = store_ask(c, &answer, err, "list %s", prefix);

    if (r < 0)
        return r;
    if (!str_starts(answer, "keys"))
        return 0;
    return strs_split(ret, answer + strlen("keys"), " ") < 0 ? err_oom(err) : 0;
}

int task_store_note(struct line_client *c, const char *text, struct err *err)
{
    const char *answer = NULL;

    return store_ask(c, &answer, err, "note %s", text);
}

int task_store_leaving(struct line_client *c, const char *roles, char **ret, struct err *err)
{
    const char *answer = NULL;
    int r = store_ask(c, &answer, err, "leaving %s", roles);

    if (r == 0)
        r = take_value(answer, ret, err);
    if (r == 0)
        return err_set(err, -EPROTO, "the job does not say which replicas are to move");
    return r < 0 ? r : 0;
}

int task_store_move(struct line_client *c, const char *role, int64_t rank, int64_t attempt,
                    struct err *err)
{
    const char *answer = NULL;

    return store_ask(c, &answer, err, "move %s:%lld %lld", role, (long long)rank,
                     (long long)attempt);
}

int task_store_scale(struct line_client *c, const char *role, unsigned n, struct err *err)
{
    const char *answer = NULL;

    return store_ask(c, &answer, err, "scale %s %u", role, n);
}
