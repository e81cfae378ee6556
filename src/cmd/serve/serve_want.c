/* serve_want.c - options, operands and a file become one wish. Names of files are made absolute
 * here, as the job's tasks have directories of their own: those of options from where we are, those
 * of a file from where it is.
 */
#include "cmd/serve/serve_want.h"
#include "base/path.h"
#include "cli/exit.h"
#include "cmd/serve/scale/serve_autoscale.h"
#include "launch/launch_options.h"
#include "model/name.h"
#include "serve/deployment/gateway_reports.h"
#include "serve/gateway/gateway_spec.h"
#include "serve/key_file.h"
#include "wire/stream.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define TIMEOUT_MS 120000
#define LOOPBACK "127.0.0.1"
#define COUNT_MOST 65536 /* as in a file, like the next one */
#define DELAY_MOST_MS 60000
#define DEVICE_MOST 1023
#define PEM_MAX MIB

void serve_want_done(struct serve_want *w)
{
    serve_file_done(&w->file);
    strs_done(&w->texts);
}

/* A text that lives as long as the rest; NULL where there is no memory. */
static const char *want_keep(struct serve_want *w, char *text)
{
    return strs_take(&w->texts, text) < 0 ? NULL : w->texts.v[w->texts.n - 1];
}

/* ---- the file ---- */

/* Its directory, absolute. */
static char *dir_of(const char *path)
{
    AUTO_FREE char *whole = str_eq(path, "-") ? NULL : realpath(path, NULL);

    return whole ? path_dir(whole) : realpath(".", NULL);
}

static int want_read(const struct cli *c, const char *path, struct serve_file *ret, struct err *err)
{
    bool is_stdin = str_eq(path, "-");
    const char *name = is_stdin ? "standard input" : path;
    AUTO_BUF text = { .max = SERVE_FILE_MAX };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_FREE char *dir = NULL;
    int r = path_read(is_stdin ? "/dev/stdin" : path, &text, err);

    if (r == -E2BIG)
        return cli_bad(err, "'%s' is larger than %zu MB", name, SERVE_FILE_MAX / MIB);
    if (r < 0)
        return exit_named_file(r, err);
    r = serve_file_parse(name, text.data ? text.data : (uint8_t *)"", text.len, ret, &f);
    if (r == 0) {
        dir = dir_of(path);
        r = dir ? serve_file_resolve(ret, dir) : -ENOMEM;
    }
    return r == -ENOMEM ? err_oom(err) : r < 0 ? options_faults(c, &f, err) : 0;
}

/* ---- both ---- */

/* An option of the command line wins over the file. */
static const char *either(const char *option, const char *file)
{
    return option ? option : file;
}

/* A number as the option would have it. */
static int number_text(struct serve_want *w, const char *option, uint64_t n, const char *unit,
                       const char **ret)
{
    *ret = option;
    if (option || n == 0)
        return 0;
    *ret = want_keep(w, str_printf("%" PRIu64 "%s", n, unit));
    return *ret ? 0 : -ENOMEM;
}

/* In the largest unit that divides it: "1g". */
static int size_text(struct serve_want *w, const char *option, uint64_t n, const char **ret)
{
    static const char *const units[] = { "", "k", "m", "g", "t" };
    size_t unit = 0;

    for (; n > 0 && n % KIB == 0 && unit + 1 < COUNT_OF(units); unit++)
        n /= KIB;
    return number_text(w, option, n, units[unit], ret);
}

static int model_of_file(const struct serve_options *o, const struct serve_file_model *f,
                         struct serve_want *w)
{
    struct serve_want_model *m = &w->models[w->n++];
    int r = number_text(w, o->cpus, f->cpus, "", &m->cpus);

    if (r == 0)
        r = number_text(w, o->gpus, f->gpus, "", &m->gpus);
    if (r == 0)
        r = size_text(w, o->memory, f->memory, &m->memory);
    if (r == 0)
        r = number_text(w, o->batch, f->batch, "", &m->batch);
    if (r == 0)
        r = number_text(w, o->batch_delay, f->batch_delay > 0 ? (uint64_t)f->batch_delay : 0, "ms",
                        &m->batch_delay);
    m->model = f->model;
    m->device = either(o->device, f->device);
    m->lib = either(o->lib, f->library);
    m->python = either(o->python, f->python);
    m->replicas = f->replicas;
    m->autoscale = f->autoscale;
    return r;
}

static int models_of_operands(const struct serve_options *o, char *const *models,
                              struct serve_want *w, struct err *err)
{
    for (; *models; models++) {
        if (w->n == SERVE_FILE_MODELS)
            return cli_bad(err, "at most %d models behind one address", SERVE_FILE_MODELS);
        w->models[w->n++] = (struct serve_want_model){ .model = *models,
                                                       .cpus = o->cpus,
                                                       .memory = o->memory,
                                                       .gpus = o->gpus,
                                                       .batch = o->batch,
                                                       .batch_delay = o->batch_delay,
                                                       .device = o->device,
                                                       .lib = o->lib,
                                                       .python = o->python,
                                                       .replicas = 1 };
    }
    return 0;
}

/* The option is for all models; "off" for those of the file that say otherwise. */
static int want_autoscale(const struct serve_options *o, struct serve_want *w, struct err *err)
{
    struct autoscale rule = { 0 };

    if (o->autoscale && serve_autoscale_parse(o->autoscale, &rule, err) < 0)
        return err->code = CLI_USAGE;
    for (size_t i = 0; i < w->n; i++) {
        struct serve_want_model *m = &w->models[i];

        if (o->autoscale)
            m->autoscale = rule;
        m->replicas = serve_autoscale_within(&m->autoscale, m->replicas);
    }
    return 0;
}

/* What tasks would refuse one after the other, long after this command has begun to wait for them.
 * A file's numbers were looked at as it was read. */
static int want_numbers(const struct serve_options *o, struct err *err)
{
    const struct {
        const char *option, *value;
    } counts[] = { { "--cpus", o->cpus }, { "--batch", o->batch } };
    int64_t n = 0;

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i].value && str_to_i64(counts[i].value, 1, COUNT_MOST, &n) < 0)
            return cli_bad(err, "option '%s': '%s' is not a number from 1 to %d", counts[i].option,
                           counts[i].value, COUNT_MOST);
    if (o->batch_delay && (str_to_ms(o->batch_delay, &n) < 0 || n > DELAY_MOST_MS))
        return cli_bad(err, "option '--batch-delay': '%s' is not a time of at most 60s, like 2ms",
                       o->batch_delay);
    return 0;
}

/* A registry has longer ones: HAProxy's configuration is made of these. */
static int want_names(const struct serve_want *w, struct err *err)
{
    for (size_t i = 0; i < w->n; i++) {
        size_t n = strcspn(w->models[i].model, ":@");

        if (n >= GATEWAY_NAME && n <= MODEL_NAME_MOST)
            return cli_bad(err,
                           "'%.*s' cannot be served: its name has %zu characters, and at most %d "
                           "are possible",
                           (int)n, w->models[i].model, n, GATEWAY_NAME - 1);
    }
    return 0;
}

static int want_devices(const struct serve_want *w, struct err *err)
{
    int64_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const char *device = w->models[i].device;

        if (device && !str_eq(device, "cpu") && !str_eq(device, "cuda") &&
            (!str_starts(device, "cuda:") ||
             str_to_i64(device + strlen("cuda:"), 0, DEVICE_MOST, &n) < 0))
            return cli_bad(err, "'%s' is not a device: cpu, cuda or cuda:N", device);
    }
    return 0;
}

static int want_models(const struct serve_options *o, char *const *models, struct serve_want *w,
                       struct err *err)
{
    int64_t replicas = 0;
    int r = 0;

    if (o->file && *models)
        return cli_bad(err, "either --file or the models' names say what to deploy");
    if (!o->file && !*models)
        return cli_bad(err, "which model? Try: ydl model list");
    if (o->replicas && str_to_i64(o->replicas, 1, SERVE_FILE_REPLICAS, &replicas) < 0)
        return cli_bad(err, "option '--replicas': '%s' is not a number from 1 to %d", o->replicas,
                       SERVE_FILE_REPLICAS);
    if (!o->file)
        r = models_of_operands(o, models, w, err);
    for (size_t i = 0; r == 0 && i < w->file.n; i++)
        r = model_of_file(o, &w->file.models[i], w) < 0 ? err_oom(err) : 0;
    for (size_t i = 0; replicas > 0 && i < w->n; i++)
        w->models[i].replicas = (unsigned)replicas;
    if (r == 0)
        r = want_names(w, err);
    if (r == 0)
        r = want_numbers(o, err);
    if (r == 0)
        r = want_devices(w, err);
    return r != 0 ? r : want_autoscale(o, w, err);
}

/* Names without a slash are looked for elsewhere: programs in PATH. */
static int make_absolute(struct serve_want *w, const char **at)
{
    char whole[PATH_MAX];

    if (!*at || **at == '/' || !getcwd(whole, sizeof(whole)))
        return 0;
    *at = want_keep(w, path_join(whole, *at));
    return *at ? 0 : -ENOMEM;
}

static int want_paths(struct serve_want *w)
{
    const char **const paths[] = { &w->key_file, &w->certificate, &w->private_key };
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(paths); i++)
        r = make_absolute(w, paths[i]);
    if (r == 0 && w->haproxy && strchr(w->haproxy, '/'))
        r = make_absolute(w, &w->haproxy);
    for (size_t i = 0; r == 0 && i < w->n; i++)
        r = make_absolute(w, &w->models[i].lib);
    for (size_t i = 0; r == 0 && i < w->n; i++)
        if (w->models[i].python && strchr(w->models[i].python, '/'))
            r = make_absolute(w, &w->models[i].python);
    return r;
}

/* What is not said has another meaning on YARN: the node's address. */
void serve_want_place(struct serve_want *w, int on)
{
    w->on = on;
    if (!w->host && !w->direct && on == OPTIONS_LOCAL)
        w->host = LOOPBACK;
}

/* --on, then the file, then $YDL_ON, then here. One that runs is where it is. */
static int want_on(const struct serve_options *o, struct serve_want *w, struct err *err)
{
    struct options where = { .on = o->where.on };
    enum options_on on = OPTIONS_LOCAL;
    int r;

    w->on = -1;
    if (o->runs)
        return 0;
    if (where.on < 0 && w->file.platform)
        where.on = str_eq(w->file.platform, "yarn") ? OPTIONS_YARN : OPTIONS_LOCAL;
    r = options_where(&where, &on, err);
    w->on = (int)on;
    return r;
}

/* On one machine only one of them could have a port that is said. */
static int want_gateways(struct serve_want *w, struct err *err)
{
    int64_t n = 1;

    if (w->gateways && str_to_i64(w->gateways, 1, GATEWAYS_MOST, &n) < 0)
        return cli_bad(err, "option '--gateways': '%s' is not a number from 1 to %d", w->gateways,
                       GATEWAYS_MOST);
    w->count = (unsigned)n;
    if (n == 1)
        w->gateways = NULL;
    if (n == 1 || !w->port || w->on != OPTIONS_LOCAL)
        return 0;
    return cli_bad(err,
                   "%u gateways on this machine cannot all listen on port %s: leave the port out, "
                   "and each gets one of its own",
                   w->count, w->port);
}

/* "[::1]", as addresses write it, is "::1". */
static int want_host(struct serve_want *w, struct err *err)
{
    size_t n = w->host ? strlen(w->host) : 0;
    unsigned char binary[sizeof(struct in6_addr)];

    if (n > 2 && w->host[0] == '[' && w->host[n - 1] == ']') {
        w->host = want_keep(w, strndup(w->host + 1, n - 2));
        if (!w->host)
            return err_oom(err);
    }
    if (!w->host || inet_pton(strchr(w->host, ':') ? AF_INET6 : AF_INET, w->host, binary) == 1)
        return 0;
    cli_bad(err, "'%s' is not a numeric address to listen on", w->host);
    err_hint(err, "for example 127.0.0.1, 0.0.0.0 for all of IPv4, or ::1");
    return CLI_USAGE;
}

/* What replicas cannot do for clients. */
static int want_gateway(struct serve_want *w, struct err *err)
{
    const struct {
        const char *name;
        bool wanted;
    } only[] = { { "an address to listen on", w->host || w->port },
                 { "TLS", w->certificate || w->private_key },
                 { "HAProxy", w->haproxy != NULL },
                 { "several gateways", w->count > 1 },
                 { "scaling by the load", w->n > 0 && w->models[0].autoscale.max },
                 { "several models behind one address", w->n > 1 },
                 { "a deployment on YARN", w->on == OPTIONS_YARN } };

    if (w->gateway && !str_eq(w->gateway, "haproxy") && !str_eq(w->gateway, "none"))
        return cli_bad(err, "a gateway is 'haproxy' or 'none', not '%s'", w->gateway);
    w->direct = str_eq(w->gateway, "none");
    if (!w->direct)
        w->gateway = NULL;
    for (size_t i = 0; w->direct && i < COUNT_OF(only); i++)
        if (only[i].wanted)
            return cli_bad(err, "%s: that takes a gateway, and --gateway none starts none",
                           only[i].name);
    serve_want_place(w, w->on);
    return 0;
}

static int want_make(const struct cli *c, const struct serve_options *o, char *const *models,
                     struct serve_want *ret, struct err *err)
{
    const struct serve_file_gateway *g = &ret->file.gateway;
    int r;

    *ret = (struct serve_want){ 0 };
    r = o->file ? want_read(c, o->file, &ret->file, err) : 0;
    if (r == 0)
        r = want_on(o, ret, err);
    if (r == 0)
        r = want_models(o, models, ret, err);
    if (r != 0)
        return r;
    ret->name = either(o->name, ret->file.name);
    ret->queue = either(o->queue, ret->file.queue);
    ret->label = either(o->label, ret->file.label);
    ret->registry = either(o->registry, ret->file.registry);
    ret->haproxy = either(o->haproxy, g->haproxy);
    ret->gateway = either(o->gateway, g->kind);
    ret->host = either(o->host, g->host);
    if (number_text(ret, o->port, g->port, "", &ret->port) < 0)
        return err_oom(err);
    ret->key_file = either(o->key_file, g->key_file);
    ret->certificate = either(o->certificate, g->certificate);
    ret->private_key = either(o->private_key, g->private_key);
    if (number_text(ret, o->gateways, g->count, "", &ret->gateways) < 0)
        return err_oom(err);
    r = want_gateways(ret, err);
    if (r == 0)
        r = want_gateway(ret, err);
    if (r == 0)
        r = want_host(ret, err);
    if (r != 0)
        return r;
    ret->timeout = o->timeout > 0          ? o->timeout
                   : ret->file.timeout > 0 ? ret->file.timeout
                                           : TIMEOUT_MS;
    ret->patient = o->timeout <= 0 && ret->file.timeout <= 0;
    return want_paths(ret) < 0 ? err_oom(err) : 0;
}

/* ---- secrets ---- */

static int want_key(void *user, const char *key, size_t n, struct err *err)
{
    (void)user;
    (void)key;
    (void)n;
    (void)err;
    return 0;
}

/* As the gateway reads them: the certificate's file may have the key, too. */
static int want_pair(const struct serve_want *w, struct err *err)
{
    const char *key = w->private_key ? w->private_key : w->certificate;
    struct buf secret = { .max = PEM_MAX };
    AUTO_BUF public = { .max = PEM_MAX };
    AUTO(stream_tls) struct stream_tls *tls = NULL;
    int r = path_read(w->certificate, &public, err);

    if (r == 0)
        r = secret_read(key, &secret, err);
    buf_wipe(&secret);
    return r < 0 ? r : stream_tls_certificate(w->certificate, key, &tls, err);
}

/* A private key without a certificate is refused: it would mean a port without TLS. */
static int want_secrets(const struct serve_want *w, struct err *err)
{
    int r = w->key_file ? key_file_each(w->key_file, want_key, NULL, err) : 0;

    if (w->private_key && !w->certificate)
        return cli_bad(err, "a private key is of use with its certificate only: name that with "
                            "--certificate, or certificate in the file");
    if (r == 0 && w->certificate)
        r = want_pair(w, err);
    return exit_named_file(r, err);
}

int serve_want_make(const struct cli *c, struct serve_want *ret, struct err *err)
{
    int r = want_make(c, c->args, c->operands, ret, err);

    return r != 0 ? r : want_secrets(ret, err);
}

int serve_want_file(const struct cli *c, const char *path, struct serve_want *ret, struct err *err)
{
    static char *const no_models[] = { NULL };
    const struct serve_options o = { .where.on = -1, .file = path, .runs = true };

    return want_make(c, &o, no_models, ret, err);
}
