/* gateway_spec.c - what may stand in a gateway's JSON document: one row for each key. */
#include "serve/gateway/gateway_spec.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"
#include "serve/gateway/spec_value.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* ---- addresses ---- */

/* "10.0.0.7:9000" or "[::1]:9000" in pieces. */
static int spec_split_address(const char *s, char host[GATEWAY_ADDRESS], unsigned *port)
{
    const char *colon = s ? strrchr(s, ':') : NULL;
    unsigned char binary[16];
    size_t n = colon ? (size_t)(colon - s) : 0;
    int64_t number = 0;
    bool six = n > 2 && s[0] == '[' && s[n - 1] == ']';

    if (n == 0 || n >= GATEWAY_ADDRESS || strlen(s) >= GATEWAY_ADDRESS ||
        str_to_i64(colon + 1, 0, UINT16_MAX, &number) < 0)
        return -EINVAL;
    (void)snprintf(host, GATEWAY_ADDRESS, "%.*s", (int)(six ? n - 2 : n), s + six);
    *port = (unsigned)number;
    return inet_pton(six ? AF_INET6 : AF_INET, host, binary) == 1 ? 0 : -EINVAL;
}

static int spec_address(void *object, const json_t *v, const char *where, struct err *err)
{
    struct gateway_replica *r = object;
    char host[GATEWAY_ADDRESS];
    unsigned port = 0;

    if (spec_split_address(json_string_value(v), host, &port) < 0 || port == 0)
        return spec_bad(err, where, "address", "must be a numeric host and a port: 10.0.0.7:9000");
    (void)snprintf(r->address, sizeof(r->address), "%.50s:%u", host, port & 0xffff);
    return 0;
}

static int spec_listen(void *object, const json_t *v, const char *where, struct err *err)
{
    struct gateway_spec *s = object;

    if (spec_split_address(json_string_value(v), s->host, &s->port) < 0)
        return spec_bad(err, where, "listen", "must be a numeric host and a port: 0.0.0.0:8080");
    return 0;
}

/* ---- the tables ---- */

#define REPLICA(f) offsetof(struct gateway_replica, f)
#define VERSION(f) offsetof(struct gateway_version, f)
#define MODEL(f) offsetof(struct gateway_model, f)
#define SPEC(f) offsetof(struct gateway_spec, f)
#define LAST_VERSION 1e15

/* clang-format off */
static const struct spec_key replica_keys[] = {
    { "name",    SPEC_NAME,  REPLICA(name),    false, 0, 0, NULL },
    { "address", SPEC_OTHER, REPLICA(address), true,  0, 0, spec_address },
    { "weight",  SPEC_COUNT, REPLICA(weight),  false, 1, 256, NULL },
    { 0 },
};
/* clang-format on */

static int spec_replicas(void *object, const json_t *v, const char *where, struct err *err)
{
    struct gateway_version *version = object;
    char here[SPEC_WHERE + 40];
    int r = spec_array(v, GATEWAY_REPLICAS, where, "replicas", err);

    for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
        struct gateway_replica *x;

        r = ARRAY_ADD(version->replicas, version->n, (struct gateway_replica){ .weight = 1 });
        if (r < 0)
            return err_oom(err);
        x = &version->replicas[version->n - 1];
        (void)snprintf(here, sizeof(here), "%s, replica %zu", where, i + 1);
        r = spec_object(x, replica_keys, json_array_get(v, i), here, err);
        if (r == 0 && !x->name[0])
            memcpy(x->name, x->address, sizeof(x->name));
        for (size_t k = 0; r == 0 && k + 1 < version->n; k++)
            if (str_eq(version->replicas[k].address, x->address) ||
                str_eq(version->replicas[k].name, x->name))
                r = err_set(err, -EINVAL, "%s: '%s' is there twice", here, x->name);
    }
    return r;
}

/* clang-format off */
static const struct spec_key version_keys[] = {
    { "version",  SPEC_NUMBER, VERSION(number),   true,  1, LAST_VERSION, NULL },
    { "grpc",     SPEC_FLAG,   VERSION(grpc),     false, 0, 0, NULL },
    { "replicas", SPEC_OTHER,  VERSION(replicas), true,  0, 0, spec_replicas },
    { 0 },
};

static const struct spec_key canary_keys[] = {
    { "version", SPEC_NUMBER,  MODEL(canary),  true, 1, LAST_VERSION, NULL },
    { "percent", SPEC_PERCENT, MODEL(percent), true, 0, 100, NULL },
    { 0 },
};

static const struct spec_key watch_keys[] = {
    { "requests",  SPEC_COUNT,   MODEL(watch.requests),  false, 1, 1e9, NULL },
    { "errors",    SPEC_PERCENT, MODEL(watch.errors),    false, 0, 100, NULL },
    { "slower",    SPEC_PERCENT, MODEL(watch.slower),    false, 1, 1000, NULL },
    { "ready_time", SPEC_TIME,   MODEL(watch.ready_ms),  false, 100, 7 * 86400e3, NULL },
    { "automatic", SPEC_FLAG,    MODEL(watch.automatic), false, 0, 0, NULL },
    { 0 },
};
/* clang-format on */

static int spec_versions(void *object, const json_t *v, const char *where, struct err *err)
{
    struct gateway_model *m = object;
    char here[SPEC_WHERE + 40];
    int r = spec_array(v, GATEWAY_VERSIONS, where, "versions", err);

    for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
        r = ARRAY_ADD(m->versions, m->n, (struct gateway_version){ 0 });
        if (r < 0)
            return err_oom(err);
        (void)snprintf(here, sizeof(here), "%s, version %zu in the list", where, i + 1);
        r = spec_object(&m->versions[m->n - 1], version_keys, json_array_get(v, i), here, err);
        for (size_t k = 0; r == 0 && k + 1 < m->n; k++)
            if (m->versions[k].number == m->versions[m->n - 1].number)
                r = err_set(err, -EINVAL, "%s: version %lld is there twice", where,
                            (long long)m->versions[k].number);
    }
    return r;
}

static int spec_canary(void *object, const json_t *v, const char *where, struct err *err)
{
    return json_is_null(v) ? 0 : spec_object(object, canary_keys, v, where, err);
}

static int spec_watch(void *object, const json_t *v, const char *where, struct err *err)
{
    return spec_object(object, watch_keys, v, where, err);
}

/* clang-format off */
static const struct spec_key model_keys[] = {
    { "name",      SPEC_NAME,   MODEL(name),      true,  0, 0, NULL },
    { "health",    SPEC_TARGET, MODEL(health),    false, 0, 0, NULL },
    { "retry",     SPEC_FLAG,   MODEL(retry),     false, 0, 0, NULL },
    { "in_flight", SPEC_COUNT,  MODEL(in_flight), false, 0, 1e6, NULL },
    { "queue",     SPEC_COUNT,  MODEL(queue),     false, 1, 1e6, NULL },
    { "serve",     SPEC_NUMBER, MODEL(serve),     true,  1, LAST_VERSION, NULL },
    { "canary",    SPEC_OTHER,  MODEL(canary),    false, 0, 0, spec_canary },
    { "watch",     SPEC_OTHER,  MODEL(watch),     false, 0, 0, spec_watch },
    { "versions",  SPEC_OTHER,  MODEL(versions),  true,  0, 0, spec_versions },
    { 0 },
};
/* clang-format on */

static int spec_check_model(const struct gateway_model *m, const char *where, struct err *err)
{
    if (!gateway_spec_version(m, m->serve))
        return err_set(err, -EINVAL, "%s: 'serve' is version %lld, which is not in 'versions'",
                       where, (long long)m->serve);
    if (m->canary && !gateway_spec_version(m, m->canary))
        return err_set(err, -EINVAL, "%s: 'canary' is version %lld, which is not in 'versions'",
                       where, (long long)m->canary);
    if (m->canary == m->serve)
        return err_set(err, -EINVAL, "%s: 'canary' and 'serve' are the same version", where);
    return 0;
}

static int spec_models(void *object, const json_t *v, const char *where, struct err *err)
{
    static const struct gateway_model usual = {
        .retry = true,
        .queue = 1024,
        .watch = { .requests = 200,
                   .errors = 100,
                   .slower = 200,
                   .ready_ms = 600000,
                   .automatic = true },
    };
    struct gateway_spec *s = object;
    char here[SPEC_WHERE];
    int r = spec_array(v, GATEWAY_MODELS, where, "models", err);

    if (r == 0 && json_array_size(v) == 0)
        return spec_bad(err, where, "models", "must have at least one model");
    for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
        struct gateway_model *m;

        r = ARRAY_ADD(s->models, s->n, usual);
        if (r < 0)
            return err_oom(err);
        m = &s->models[s->n - 1];
        (void)snprintf(here, sizeof(here), "%.64s: model %zu", where, i + 1);
        r = spec_object(m, model_keys, json_array_get(v, i), here, err);
        if (r == 0 && !m->health && !(m->health = strdup("/v2/health/ready")))
            r = err_oom(err);
        if (r == 0)
            r = spec_check_model(m, here, err);
        if (r == 0 && gateway_spec_model(s, m->name) != m)
            r = err_set(err, -EINVAL, "%s: '%s' is there twice", here, m->name);
    }
    return r;
}

/* clang-format off */
static const struct spec_key tls_keys[] = {
    { "certificate", SPEC_PATH, SPEC(certificate), true,  0, 0, NULL },
    { "key",         SPEC_PATH, SPEC(private_key), false, 0, 0, NULL },
    { 0 },
};
/* clang-format on */

static int spec_tls(void *object, const json_t *v, const char *where, struct err *err)
{
    return spec_object(object, tls_keys, v, where, err);
}

/* clang-format off */
static const struct spec_key spec_keys[] = {
    { "listen",      SPEC_OTHER, SPEC(host),        true,  0, 0, spec_listen },
    { "key_file",    SPEC_PATH,  SPEC(key_file),    false, 0, 0, NULL },
    { "replica_key_file", SPEC_PATH, SPEC(replica_key_file), false, 0, 0, NULL },
    { "tls",         SPEC_OTHER, SPEC(certificate), false, 0, 0, spec_tls },
    { "body_max",    SPEC_SIZE,  SPEC(body_max),    false, 1024, 1e15, NULL },
    { "timeout",     SPEC_TIME,  SPEC(timeout_ms),  false, 100, 86400e3, NULL },
    { "queue_time",  SPEC_TIME,  SPEC(queue_ms),    false, 1, 86400e3, NULL },
    { "drain_time",  SPEC_TIME,  SPEC(drain_ms),    false, 0, 86400e3, NULL },
    { "connections", SPEC_COUNT, SPEC(connections), false, 1, 100000, NULL },
    { "threads",     SPEC_COUNT, SPEC(threads),     false, 1, 64, NULL },
    { "models",      SPEC_OTHER, SPEC(models),      true,  0, 0, spec_models },
    { 0 },
};
/* clang-format on */

int gateway_spec_parse(const char *what, const void *p, size_t n, struct gateway_spec **ret,
                       struct err *err)
{
    AUTO(gateway_spec) struct gateway_spec *s = calloc(1, sizeof(*s));
    AUTO_JSON *v = NULL;
    char where[SPEC_WHERE];
    int r;

    if (!s)
        return err_oom(err);
    s->body_max = 64 * MIB;
    s->timeout_ms = s->drain_ms = 60000;
    s->queue_ms = 1000;
    s->connections = 1024;
    (void)str_clean(where, sizeof(where), what);
    r = n > GATEWAY_SPEC_BYTES ? err_set(err, -E2BIG, "%s is too large", where)
                               : json_parse(where, p, n, &v, err);
    if (r == 0)
        r = spec_object(s, spec_keys, v, where, err);
    if (r == 0)
        *ret = take(s);
    return r;
}

int gateway_spec_read(const char *path, struct gateway_spec **ret, struct err *err)
{
    AUTO_BUF text = { .max = GATEWAY_SPEC_BYTES };
    int r = path_read(path, &text, err);

    return r < 0 ? r : gateway_spec_parse(path, text.data, text.len, ret, err);
}

struct gateway_spec *gateway_spec_free(struct gateway_spec *s)
{
    for (size_t i = 0; s && i < s->n; i++) {
        for (size_t k = 0; k < s->models[i].n; k++)
            free(s->models[i].versions[k].replicas);
        free(s->models[i].versions);
        free(s->models[i].health);
    }
    if (s) {
        free(s->models);
        free(s->key_file);
        free(s->replica_key_file);
        free(s->certificate);
        free(s->private_key);
    }
    free(s);
    return NULL;
}

struct gateway_model *gateway_spec_model(const struct gateway_spec *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->models[i].name, name))
            return &s->models[i];
    return NULL;
}

struct gateway_version *gateway_spec_version(const struct gateway_model *m, int64_t number)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->versions[i].number == number)
            return &m->versions[i];
    return NULL;
}
