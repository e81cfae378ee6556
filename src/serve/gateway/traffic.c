/* traffic.c - series in the order of their names, each with a ring of windows: the oldest is
 * emptied when its turn comes again, so that memory does not depend on the traffic. */
#include "serve/gateway/traffic.h"
#include "base/array.h"
#include "base/str.h"
#include "serve/gateway/haproxy_log.h"

#include <stdio.h>
#include <string.h>

#define SERIES_NAME (2 * HAPROXY_LOG_NAME + 2)

struct series {
    char name[SERIES_NAME]; /* "BACKEND/SERVER" */
    struct traffic_sum windows[TRAFFIC_WINDOWS];
    int64_t began[TRAFFIC_WINDOWS]; /* 0: not in use */
    struct traffic_sum *marked;     /* NULL: no mark */
    struct traffic_sum all;
    int64_t marked_at;
    unsigned at;
};

struct traffic {
    struct series **v;
    size_t n;
};

static struct series *series_free(struct series *s)
{
    if (s)
        free(s->marked);
    free(s);
    return NULL;
}
AUTO_DEFINE(series, struct series *, series_free);

struct traffic *traffic_new(void)
{
    return calloc(1, sizeof(struct traffic));
}

struct traffic *traffic_free(struct traffic *t)
{
    for (size_t i = 0; t && i < t->n; i++)
        series_free(t->v[i]);
    if (t)
        free(t->v);
    free(t);
    return NULL;
}

/* Where a series is, or would be. */
static bool traffic_find(const struct traffic *t, const char *backend, const char *server,
                         size_t *ret)
{
    char name[SERIES_NAME];
    size_t low = 0, high = t->n;

    (void)snprintf(name, sizeof(name), "%.127s/%.127s", backend, server);
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(t->v[middle]->name, name);

        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return false;
}

int traffic_declare(struct traffic *t, const char *backend, const char *server, int64_t now)
{
    AUTO(series) struct series *s = NULL;
    size_t at;
    int r;

    if (traffic_find(t, backend, server, &at))
        return 0;
    if (t->n == TRAFFIC_SERIES)
        return -E2BIG;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    (void)snprintf(s->name, sizeof(s->name), "%.127s/%.127s", backend, server);
    s->began[0] = now;
    r = ARRAY_INSERT(t->v, t->n, at, s);
    if (r == 0)
        s = NULL;
    return r;
}

void traffic_keep(struct traffic *t,
                  int (*keep)(void *user, const char *backend, const char *server), void *user)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n; i++) {
        char name[SERIES_NAME];
        char *slash;

        memcpy(name, t->v[i]->name, sizeof(name));
        slash = strchr(name, '/');
        *slash = '\0';
        if (keep(user, name, slash + 1))
            t->v[kept++] = t->v[i];
        else
            series_free(t->v[i]);
    }
    t->n = kept;
}

static void sum_count(struct traffic_sum *s, const struct haproxy_request *q)
{
    s->requests++;
    s->errors += q->failed;
    s->refused += q->refused;
    s->retried += q->retries > 0;
    histogram_add(&s->times, q->us);
}

/* The window that is open.
 *
 * A minute is three windows of 20 seconds, so that what is called the last minute covers between 40
 * and 60 seconds of a busy series. A window is begun by the first request that comes after the one
 * before it is over: one that is too old is left out when the minute is asked for. */
static struct traffic_sum *series_window(struct series *s, int64_t now)
{
    if (now - s->began[s->at] >= TRAFFIC_WINDOW_MS) {
        s->at = (s->at + 1) % TRAFFIC_WINDOWS;
        s->windows[s->at] = (struct traffic_sum){ 0 };
        s->began[s->at] = now;
    }
    return &s->windows[s->at];
}

static void series_count(struct series *s, const struct haproxy_request *q, int64_t now)
{
    sum_count(series_window(s, now), q);
    if (s->marked)
        sum_count(s->marked, q);
    sum_count(&s->all, q);
}

void traffic_count(struct traffic *t, const struct haproxy_request *q, int64_t now)
{
    size_t at;

    if (traffic_find(t, q->backend, "", &at))
        series_count(t->v[at], q, now);
    if (q->server[0] && traffic_find(t, q->backend, q->server, &at))
        series_count(t->v[at], q, now);
}

static void sum_add(struct traffic_sum *into, const struct traffic_sum *from)
{
    into->requests += from->requests;
    into->errors += from->errors;
    into->refused += from->refused;
    into->retried += from->retried;
    histogram_merge(&into->times, &from->times);
}

int traffic_recent(struct traffic *t, const char *backend, const char *server, int64_t now,
                   struct traffic_sum *ret)
{
    int64_t oldest = now;
    size_t at;

    *ret = (struct traffic_sum){ 0 };
    if (!traffic_find(t, backend, server, &at))
        return -ENOENT;
    for (unsigned i = 0; i < TRAFFIC_WINDOWS; i++) {
        int64_t began = t->v[at]->began[i];

        if (began == 0 || now - began > (int64_t)TRAFFIC_WINDOWS * TRAFFIC_WINDOW_MS)
            continue;
        oldest = began < oldest ? began : oldest;
        sum_add(ret, &t->v[at]->windows[i]);
    }
    ret->span_ms = now - oldest;
    return 0;
}

int traffic_all(const struct traffic *t, const char *backend, const char *server,
                struct traffic_sum *ret)
{
    size_t at;

    *ret = (struct traffic_sum){ 0 };
    if (!traffic_find(t, backend, server, &at))
        return -ENOENT;
    *ret = t->v[at]->all;
    return 0;
}

void traffic_add(struct traffic *t, const char *backend, const char *server,
                 const struct traffic_sum *sum, int64_t now)
{
    struct series *s;
    size_t at;

    if (!traffic_find(t, backend, server, &at))
        return;
    s = t->v[at];
    sum_add(series_window(s, now), sum);
    if (s->marked)
        sum_add(s->marked, sum);
    sum_add(&s->all, sum);
}

/* A second sum beside the windows, from a moment on: what a canary has answered since it got its
 * share, and the other version meanwhile. */
void traffic_mark(struct traffic *t, const char *backend, int64_t now)
{
    size_t at;

    if (!traffic_find(t, backend, "", &at))
        return;
    if (!t->v[at]->marked)
        t->v[at]->marked = malloc(sizeof(struct traffic_sum));
    if (t->v[at]->marked)
        *t->v[at]->marked = (struct traffic_sum){ 0 };
    t->v[at]->marked_at = now;
}

int traffic_marked(struct traffic *t, const char *backend, int64_t now, struct traffic_sum *ret)
{
    size_t at;

    *ret = (struct traffic_sum){ 0 };
    if (!traffic_find(t, backend, "", &at) || !t->v[at]->marked)
        return -ENOENT;
    *ret = *t->v[at]->marked;
    ret->span_ms = now - t->v[at]->marked_at;
    return 0;
}
