/* serve_file.c - keys of a deployment's file by their tables, with the readers of job files; then
 * what no table can say. See serve_file.h. */
#include "cmd/serve/serve_file.h"
#include "base/array.h"
#include "base/path.h"
#include "job/spec/spec_read.h"
#include "model/models.h"
#include "model/name.h"
#include "serve/deployment/gateway_reports.h"

#include <string.h>

#define YEARS ((int64_t)3650 * 86400 * 1000)
#define FACTOR_MOST 100

/* clang-format off */
#define AT(field) .offset = offsetof(struct autoscale, field)
static const struct spec_key autoscale_keys[] = {
    { "max", SPEC_COUNT, AT(max), .min = 1, .max = SERVE_FILE_REPLICAS,
      .help = "at most this number of replicas" },
    { "min", SPEC_COUNT, AT(min), .min = 1, .max = SERVE_FILE_REPLICAS,
      .help = "at least this number of replicas (default: 1)" },
    { "target", SPEC_COUNT, AT(target), .min = 1, .max = AUTOSCALE_TARGET_MAX,
      .help = "requests in flight for each replica (default: 4)" },
    { "cool-down", SPEC_MS, AT(cool_down), .min = 1000, .max = AUTOSCALE_COOL_DOWN_MAX_MS,
      .help = "how long fewer must have been enough before there are fewer (default: 1m)" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct serve_file_model, field)
static const struct spec_key model_keys[] = {
    { "model", SPEC_TEXT, AT(model),
      .help = "what to serve: NAME (its newest version), NAME:VERSION or NAME@ALIAS" },
    { "replicas", SPEC_COUNT, AT(replicas), .preset = 1, .min = 1, .max = SERVE_FILE_REPLICAS,
      .help = "number of model servers" },
    { "autoscale", SPEC_MAP, AT(autoscale), .keys = autoscale_keys,
      .help = "replicas follow the load" },
    { "cpus", SPEC_COUNT, AT(cpus), .min = 1, .max = 65536,
      .help = "processor cores of each replica" },
    { "memory", SPEC_SIZE, AT(memory), .min = (int64_t)MIB, .max = (int64_t)1 << 50,
      .help = "memory limit of each replica" },
    { "gpus", SPEC_COUNT, AT(gpus), .max = 1024, .help = "GPUs of each replica" },
    { "batch", SPEC_COUNT, AT(batch), .min = 1, .max = 65536,
      .help = "join waiting requests, up to this number of rows" },
    { "batch-delay", SPEC_MS, AT(batch_delay), .preset = -1, .max = 60000,
      .help = "how long a request may wait for others to join" },
    { "device", SPEC_TEXT, AT(device), .help = "cpu, cuda or cuda:N" },
    { "backend", SPEC_TEXT, AT(library),
      .help = "the library that runs the model, or its directory (default: one that is found)" },
    { "python", SPEC_TEXT, AT(python),
      .help = "the Python of a handler, or its environment (default: one with its requirements, or "
              "the active one)" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct serve_file_gateway, field)
static const struct spec_key gateway_keys[] = {
    { "kind", SPEC_TEXT, AT(kind),
      .help = "haproxy, or none: clients ask the replicas themselves (default: haproxy)" },
    { "count", SPEC_COUNT, AT(count), .min = 1, .max = GATEWAYS_MOST,
      .help = "number of gateways, each with an address of its own (default: 1)" },
    { "host", SPEC_TEXT, AT(host),
      .help = "numeric address to listen on (default: 127.0.0.1; all: 0.0.0.0)" },
    { "port", SPEC_COUNT, AT(port), .min = 1, .max = 65535,
      .help = "port to listen on (default: any that is free)" },
    { "key-file", SPEC_TEXT, AT(key_file),
      .help = "requests must have 'Authorization: Bearer KEY' with a key of this file" },
    { "certificate", SPEC_TEXT, AT(certificate),
      .help = "listen with TLS: PEM file of the certificate" },
    { "private-key", SPEC_TEXT, AT(private_key),
      .help = "the certificate's key, a PEM file (default: in the certificate's file)" },
    { "haproxy", SPEC_TEXT, AT(haproxy),
      .help = "the HAProxy to run (default: from PATH, or the active Python environment)" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct serve_file_update, field)
static const struct spec_key update_keys[] = {
    { "canary", SPEC_TEXT, AT(canary),
      .help = "share of the requests that a new version gets first, such as 10%" },
    { "errors", SPEC_TEXT, AT(errors),
      .help = "share of its requests that may fail, such as 1%" },
    { "slower", SPEC_TEXT, AT(slower),
      .help = "its p99 may be this many times that of the old version, such as 2" },
    { "requests", SPEC_COUNT, AT(requests), .min = 1, .max = 1000000000,
      .help = "number of its requests after which it is judged" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct serve_file, field)
static const struct spec_key serve_keys[] = {
    { "kind", SPEC_TEXT, AT(kind), .help = "serve" },
    { "name", SPEC_TEXT, AT(name), .help = "name of the deployment (default: the first model's)" },
    { "platform", SPEC_TEXT, AT(platform),
      .help = "where it runs: local or yarn (default: $YDL_ON, or local)" },
    { "queue", SPEC_TEXT, AT(queue), .help = "on YARN: queue to submit to" },
    { "label", SPEC_TEXT, AT(label), .help = "on YARN: run on nodes with this label" },
    { "registry", SPEC_TEXT, AT(registry),
      .help = "registry of models, a directory or an hdfs:// name (default: as 'ydl model')" },
    { "models", SPEC_TYPES_, AT(models), .keys = model_keys,
      .help = "a list of models; those that requests do not name go to the first" },
    { "gateway", SPEC_MAP, AT(gateway), .keys = gateway_keys, .help = "the deployment's address" },
    { "update", SPEC_MAP, AT(update), .keys = update_keys,
      .help = "how a new version takes over, where 'ydl serve update' does not say" },
    { "timeout", SPEC_MS, AT(timeout), .min = 1, .max = YEARS,
      .help = "time for the first answer (default: 2m)" },
    { 0 },
};
#undef AT
/* clang-format on */

/* ---- the end ---- */

static void free_texts(const struct spec_key *table, void *base)
{
    for (const struct spec_key *k = table; k->name; k++) {
        void *at = (char *)base + k->offset;

        if (k->type == SPEC_MAP)
            free_texts(k->keys, at);
        else if (k->type == SPEC_TEXT)
            free(*(char **)at);
    }
}

void serve_file_done(struct serve_file *s)
{
    for (size_t i = 0; i < s->n; i++)
        free_texts(model_keys, &s->models[i]);
    free_texts(serve_keys, s);
    free(s->models);
    *s = (struct serve_file){ 0 };
}

/* ---- reading ---- */

static int read_model(struct spec_reader *r, const struct spec_node *n, struct serve_file *s)
{
    struct serve_file_model *m;

    if (s->n == SERVE_FILE_MODELS)
        return spec_read_fault(r, "more than %d models", SERVE_FILE_MODELS);
    if (ARRAY_ADD(s->models, s->n, (struct serve_file_model){ .replicas = 1, .batch_delay = -1 }) <
        0)
        return -ENOMEM;
    m = &s->models[s->n - 1];
    return n->kind == SPEC_NODE_TEXT ? spec_set_text(&m->model, n->text)
                                     : spec_read_map(r, model_keys, n, m);
}

/* A list of maps, or of names alone. */
static int read_models(struct spec_reader *r, const struct spec_node *n, struct serve_file *s)
{
    int e = 0;

    if (n->kind != SPEC_NODE_LIST)
        return spec_read_expected(r, "a list of models", n);
    for (size_t i = 0; i < n->n && e == 0; i++) {
        size_t mark;

        e = spec_read_enter(r, NULL, i, &mark);
        if (e < 0)
            return e;
        r->line = n->v[i].line;
        e = read_model(r, &n->v[i], s);
        spec_read_leave(r, mark);
    }
    return e;
}

static int serve_file_read_key(struct spec_reader *r, const struct spec_node *n,
                               struct serve_file *s)
{
    const struct spec_key *k = spec_key_find(serve_keys, n->key);

    if (!k)
        return spec_read_unknown(r, serve_keys, n->key);
    return k->type == SPEC_TYPES_ ? read_models(r, n, s) : spec_read_value(r, k, n, s);
}

static int read_root(struct spec_reader *r, const struct spec_node *root, struct serve_file *s)
{
    int e = 0;

    if (root->kind != SPEC_NODE_MAP) {
        r->f->unreadable = true;
        return spec_read_fault(r, "expected a map of keys, found %s", spec_node_name(root));
    }
    for (size_t i = 0; i < root->n && e == 0; i++) {
        size_t mark;

        e = spec_read_enter(r, root->v[i].key, 0, &mark);
        if (e < 0)
            return e;
        r->line = root->v[i].line;
        e = serve_file_read_key(r, &root->v[i], s);
        spec_read_leave(r, mark);
    }
    return e;
}

/* ---- checking ---- */

/* A number with at most two digits behind its point, in hundredths. */
static int to_hundredths(const char *text, size_t n, unsigned most, unsigned *ret)
{
    AUTO_FREE char *whole = strndup(text, n);
    char *point = whole ? strchr(whole, '.') : NULL;
    int64_t a = 0, b = 0;

    if (!whole)
        return -ENOMEM;
    if (point)
        *point++ = '\0';
    if (str_to_i64(whole, 0, most, &a) < 0 ||
        (point && (strlen(point) > 2 || str_to_i64(point, 0, 99, &b) < 0 || *point == '-')))
        return -EINVAL;
    a = a * 100 + (point && strlen(point) == 1 ? b * 10 : b);
    *ret = (unsigned)a;
    return a <= (int64_t)most * 100 ? 0 : -EINVAL;
}

int serve_file_percent(const char *text, unsigned *ret)
{
    size_t n = strlen(text);

    return to_hundredths(text, n > 0 && text[n - 1] == '%' ? n - 1 : n, 100, ret);
}

int serve_file_factor(const char *text, unsigned *ret)
{
    int r = to_hundredths(text, strlen(text), FACTOR_MOST, ret);

    return r == 0 && *ret < 100 ? -EINVAL : r;
}

/* What a fault gives, where all of them are looked for. */
static int noted(int r)
{
    return r == -ENOMEM ? r : 0;
}

static bool is_device(const char *s)
{
    int64_t n;

    return str_eq(s, "cpu") || str_eq(s, "cuda") ||
           (str_starts(s, "cuda:") && str_to_i64(s + strlen("cuda:"), 0, 1024, &n) == 0);
}

static bool is_twice(const struct serve_file *s, size_t i)
{
    size_t name = strcspn(s->models[i].model, ":@");

    for (size_t k = 0; k < i; k++)
        if (s->models[k].model && strcspn(s->models[k].model, ":@") == name &&
            strncmp(s->models[k].model, s->models[i].model, name) == 0)
            return true;
    return false;
}

static int check_model(const struct serve_file *s, size_t i, struct spec_faults *f)
{
    const struct serve_file_model *m = &s->models[i];
    char key[48];
    struct model_ref ref;
    struct err err = ERR_INIT;
    int r = 0;

    (void)snprintf(key, sizeof(key), "models[%zu].model", i);
    if (!m->model)
        r = noted(spec_fault(f, 0, key, "missing: which model?"));
    else if (model_ref_parse(m->model, &ref, &err) < 0)
        r = err.code == -ENOMEM ? -ENOMEM : noted(spec_fault(f, 0, key, "%s", err.text));
    else if (is_twice(s, i))
        r = noted(spec_fault(f, 0, key, "'%s' is there twice", ref.name));
    (void)snprintf(key, sizeof(key), "models[%zu].device", i);
    if (r == 0 && m->device && !is_device(m->device))
        r = noted(spec_fault(f, 0, key, "'%s' is not cpu, cuda or cuda:N", m->device));
    (void)snprintf(key, sizeof(key), "models[%zu].batch-delay", i);
    if (r == 0 && m->batch_delay > 0 && m->batch == 0)
        r = noted(spec_fault(f, 0, key, "needs 'batch', the number of rows to join"));
    return r;
}

/* `max` turns it on; what was not said gets its default. */
static int check_autoscale(struct serve_file *s, size_t i, struct spec_faults *f)
{
    struct autoscale *a = &s->models[i].autoscale;
    char key[48];

    if (a->max == 0 && (a->min || a->target || a->cool_down)) {
        (void)snprintf(key, sizeof(key), "models[%zu].autoscale.max", i);
        return noted(spec_fault(f, 0, key, "missing: up to how many replicas?"));
    }
    if (a->max == 0)
        return 0;
    a->min = a->min ? a->min : 1;
    a->target = a->target ? a->target : AUTOSCALE_TARGET;
    a->cool_down = a->cool_down ? a->cool_down : AUTOSCALE_COOL_DOWN_MS;
    (void)snprintf(key, sizeof(key), "models[%zu].autoscale.min", i);
    return a->min <= a->max
               ? 0
               : noted(spec_fault(f, 0, key, "%u is more than 'max', which is %u", a->min, a->max));
}

static int check_update(const struct serve_file_update *u, struct spec_faults *f)
{
    unsigned n;
    int r = 0;

    if (u->canary && (serve_file_percent(u->canary, &n) < 0 || n == 0))
        r = noted(spec_fault(f, 0, "update.canary", "'%s' is not a share such as 10%%", u->canary));
    if (r == 0 && u->errors && serve_file_percent(u->errors, &n) < 0)
        r = noted(spec_fault(f, 0, "update.errors", "'%s' is not a share such as 1%%", u->errors));
    if (r == 0 && u->slower && serve_file_factor(u->slower, &n) < 0)
        r = noted(spec_fault(f, 0, "update.slower", "'%s' is not a number from 1 to %d", u->slower,
                             FACTOR_MOST));
    return r;
}

/* Runs also after faults of reading. That no model is there may be a consequence of those, and is
 * said only without them. */
static int serve_file_check(struct serve_file *s, struct spec_faults *f)
{
    int r = 0;

    if (!s->kind)
        r = noted(spec_fault(f, 1, "kind", "missing: a deployment's file has 'kind: serve'"));
    else if (!str_eq(s->kind, "serve"))
        r = noted(spec_fault(f, 0, "kind", "'%s' is not 'serve'", s->kind));
    if (r == 0 && s->platform && !str_eq(s->platform, "local") && !str_eq(s->platform, "yarn"))
        r = noted(spec_fault(f, 0, "platform", "'%s' is neither local nor yarn", s->platform));
    if (r == 0 && s->n == 0 && f->n == 0)
        r = noted(spec_fault(f, 1, "models", "missing: which models?"));
    for (size_t i = 0; i < s->n && r == 0; i++)
        r = check_model(s, i, f);
    for (size_t i = 0; i < s->n && r == 0; i++)
        r = check_autoscale(s, i, f);
    if (r == 0 && s->gateway.private_key && !s->gateway.certificate)
        r = noted(spec_fault(f, 0, "gateway.private-key", "needs 'certificate'"));
    return r < 0 ? r : check_update(&s->update, f);
}

int serve_file_parse(const char *file, const void *text, size_t n, struct serve_file *ret,
                     struct spec_faults *f)
{
    struct spec_reader r = { .f = f, .path = { .max = 4 * KIB } };
    int e;

    *ret = (struct serve_file){ 0 };
    if (spec_set_text(&f->file, file) < 0)
        return -ENOMEM;
    if (n > SERVE_FILE_MAX)
        return spec_fault(f, 1, NULL, "too large: a deployment's file has at most %zu MB",
                          SERVE_FILE_MAX / MIB);
    e = spec_tree(text, n, &f->tree, f);
    if (e == -ENOMEM || f->unreadable)
        return e;
    r.line = f->tree->line;
    e = read_root(&r, f->tree, ret);
    buf_done(&r.path);
    if (e == 0 && !f->unreadable)
        e = serve_file_check(ret, f);
    return e < 0 ? e : f->n > 0 ? -EINVAL : 0;
}

/* ---- where its files are ---- */

static int make_absolute_in(const char *dir, char **at)
{
    char *whole = *at ? path_join(dir, *at) : NULL;

    if (!*at)
        return 0;
    if (!whole)
        return -ENOMEM;
    free(*at);
    *at = whole;
    return 0;
}

/* A file means the same from wherever it is read: its paths begin where it is itself. */
int serve_file_resolve(struct serve_file *s, const char *dir)
{
    char **const paths[] = { &s->gateway.key_file, &s->gateway.certificate, &s->gateway.private_key,
                             &s->gateway.haproxy };
    int r = models_is_remote(s->registry) ? 0 : make_absolute_in(dir, &s->registry);

    for (size_t i = 0; r == 0 && i < COUNT_OF(paths); i++)
        r = make_absolute_in(dir, paths[i]);
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        r = make_absolute_in(dir, &s->models[i].library);
        if (r == 0)
            r = make_absolute_in(dir, &s->models[i].python);
    }
    return r;
}

/* ---- its schema ---- */

static json_t *value_schema(const struct spec_key *k);

static json_t *keys_schema(const struct spec_key *table)
{
    AUTO_JSON *properties = json_object();

    for (const struct spec_key *k = table; properties && k->name; k++)
        if (json_object_set_new(properties, k->name, value_schema(k)) < 0)
            return NULL;
    return properties ? json_pack("{s:s, s:b, s:O}", "type", "object", "additionalProperties", 0,
                                  "properties", properties)
                      : NULL;
}

static json_t *models_schema(const struct spec_key *k)
{
    AUTO_JSON *model = keys_schema(k->keys);

    if (!model || json_object_set_new(model, "required", json_pack("[s]", "model")) < 0)
        return NULL;
    return json_pack("{s:s, s:i, s:i, s:{s:[{s:s}, O]}}", "type", "array", "minItems", 1,
                     "maxItems", SERVE_FILE_MODELS, "items", "anyOf", "type", "string", model);
}

/* The schema is for editors. It takes whatever the readers take as a text: YAML has numbers and
 * truth values where a text looks like one ("slower: 2"). */
static json_t *bare_schema(const struct spec_key *k)
{
    switch (k->type) {
    case SPEC_MAP:
        return keys_schema(k->keys);
    case SPEC_TYPES_:
        return models_schema(k);
    case SPEC_COUNT:
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)k->min,
                         "maximum", (json_int_t)k->max);
    case SPEC_SIZE:
    case SPEC_MS:
        return json_pack("{s:[s, s]}", "type", "string", "number");
    default: /* "slower: 2" is a text too */
        return json_pack("{s:[s, s, s]}", "type", "string", "number", "boolean");
    }
}

static json_t *value_schema(const struct spec_key *k)
{
    AUTO_JSON *v = str_eq(k->name, "kind") ? json_pack("{s:s}", "const", "serve") : bare_schema(k);

    if (!v || json_object_set_new(v, "description", json_string(k->help)) < 0)
        return NULL;
    return take(v);
}

int serve_file_schema(json_t **ret, struct err *err)
{
    AUTO_JSON *body = keys_schema(serve_keys);
    AUTO_JSON *head = NULL;
    int r = body ? json_make(&head, err, "{s:s, s:s, s:[s, s]}", "$schema",
                             "https://json-schema.org/draft/2020-12/schema", "title",
                             "a deployment of ydl", "required", "kind", "models")
                 : err_oom(err);

    if (r < 0)
        return r;
    if (json_object_update(head, body) < 0)
        return err_oom(err);
    *ret = take(head);
    return 0;
}
