/* server_warmup.c - requests that are stored with a model are answered before it is called ready:
 * the first run of a model is slow, and a version that cannot answer them must not get any others.
 *
 * They lie in warmup/, beside the model's own directory, and run in the order of their names. A
 * *.json is the body of a request, of TensorFlow Serving's predict or the Open Inference Protocol's
 * infer, whichever it looks like; a *.bin is one with binary tensors, behind the header line that
 * says how long its JSON is, and an empty line. A *.json may also say what it is to be answered:
 * see warmup_expected.h. Those that TensorFlow Serving has in a SavedModel run after them: see
 * warmup_records.h. */
#include "base/array.h"
#include "base/json.h"
#include "base/path.h"
#include "loop/work.h"
#include "serve/engine/server_private.h"
#include "serve/engine/warmup_expected.h"
#include "serve/engine/warmup_records.h"

#include <stdio.h>
#include <string.h>

#define WARMUP_MAX 1000 /* files */
#define HEADER "Inference-Header-Content-Length:"

struct warmup {
    struct server *server;
    const char *dir;
    bool has_files; /* a model that is one file has nothing beside it */
    struct strs names;
    struct err err;
    /* The present one. */
    const char *name;
    struct buf file;
    /* Of TensorFlow Serving. */
    char *records_path;
    struct buf records;
    size_t done; /* of them */
};

/* ---- files ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(void *arg)
{
    struct warmup *w = arg;
    AUTO_DIR DIR *d = opendir(w->dir);
    struct dirent *e;

    if (!d)
        return errno == ENOENT && !w->server->o->warmup
                   ? 0
                   : err_sys(&w->err, "open the warm-up requests '%s'", w->dir);
    while ((e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.' || (!str_ends(e->d_name, ".json") && !str_ends(e->d_name, ".bin")))
            continue;
        if (w->names.n == WARMUP_MAX)
            return err_set(&w->err, -E2BIG, "'%s' has more than %d requests", w->dir, WARMUP_MAX);
        if (strs_add(&w->names, e->d_name) < 0)
            return err_oom(&w->err);
    }
    if (w->names.n)
        qsort(w->names.v, w->names.n, sizeof(char *), by_name);
    return 0;
}

static int warmup_read(void *arg)
{
    struct warmup *w = arg;
    AUTO_FREE char *path = path_join(w->dir, w->name);

    buf_reset(&w->file);
    return path ? path_read(path, &w->file, &w->err) : err_oom(&w->err);
}

/* ---- what kind of request it is ---- */

/* The Open Inference Protocol has a list of tensors where TensorFlow Serving has values. */
static bool is_oip(const struct buf *file)
{
    AUTO_JSON *v = NULL;
    const json_t *first;

    if (json_parse("request", file->data, file->len, &v, NULL) < 0)
        return true; /* which then says what is wrong with it */
    first = json_array_get(json_object_get(v, "inputs"), 0);
    return json_object_get(first, "datatype") != NULL;
}

/* Cuts the header off a *.bin; its value in `out`. */
static int cut_header(struct warmup *w, char out[24])
{
    const char *text = buf_text(&w->file);
    const char *end = text ? strchr(text, '\n') : NULL;
    size_t n;

    if (!end || strncasecmp(text, HEADER, strlen(HEADER)) != 0)
        return err_set(&w->err, -EINVAL, "it does not begin with '" HEADER " N'");
    text += strlen(HEADER);
    text += strspn(text, " \t");
    n = strspn(text, "0123456789");
    end += end[1] == '\r' ? 2 : 1;
    if (n == 0 || n > 18 || *end != '\n')
        return err_set(&w->err, -EINVAL, "behind '" HEADER " N' there must be an empty line");
    memcpy(out, text, n);
    out[n] = '\0';
    buf_eat(&w->file, (size_t)(end + 1 - (const char *)w->file.data));
    return 0;
}

static int make_target(struct warmup *w, char **ret_target, char length[24])
{
    const char *name = w->server->served_model.name;
    AUTO_BUF target = { .max = 16 * KIB };
    bool binary = str_ends(w->name, ".bin");
    int r = binary ? cut_header(w, length) : 0;
    bool oip = binary || is_oip(&w->file);

    if (r < 0)
        return r;
    r = buf_add_str(&target, oip ? "/v2/models/" : "/v1/models/");
    if (r == 0)
        r = http_quote(&target, name);
    if (r == 0)
        r = buf_add_str(&target, oip ? "/infer" : ":predict");
    *ret_target = r == 0 && buf_text(&target) ? strdup(buf_text(&target)) : NULL;
    return *ret_target ? 0 : err_oom(&w->err);
}

/* ---- running ---- */

static int warmup_run(struct warmup *w, struct exchange *x)
{
    struct server *s = w->server;
    struct server_request *q = server_request_new(s, 1);
    int r;

    if (!q)
        return err_oom(&w->err);
    server_request_aim(q, x);
    q->q.in = x->inputs;
    x->inputs = (struct tensors){ 0 };
    r = batcher_run(s->batcher, &q->q, s->load_deadline, &w->err);
    if (r == -ETIMEDOUT)
        (void)server_load_late(s, "was not warm", &w->err);
    if (r == 0)
        (void)exchange_finish(x, &q->q.out);
    if (r < 0 && q->q.state == BATCH_RUNNING)
        w->file = (struct buf){ 0 }; /* the run may still look at it: it is never freed */
    (void)batch_request_unref(&q->q);
    return r;
}

static int warmup_ask(struct warmup *w, const struct served *as_ready)
{
    AUTO_FREE char *target = NULL;
    AUTO_EXCHANGE x = { 0 };
    AUTO_WARMUP_EXPECTED expected = { 0 };
    struct exchange_request request = { .method = "POST" };
    char length[24] = "";
    enum exchange_step step;
    int r = str_ends(w->name, ".json") ? warmup_expected_read(&w->file, &expected, &w->err) : 0;

    if (r == 0)
        r = make_target(w, &target, length);
    if (r < 0)
        return r;
    request.target = target;
    request.inference_header_length = *length ? length : NULL;
    step = exchange_begin(&x, &request, as_ready);
    if (step == EXCHANGE_BODY)
        step = exchange_body(&x, w->file.data, w->file.len);
    r = step == EXCHANGE_RUN ? warmup_run(w, &x) : 0;
    if (r == 0 && x.answer.status != 200)
        r = err_set(&w->err, -EINVAL, "it was answered %d: %.*s", x.answer.status,
                    (int)x.answer.body.len, (const char *)x.answer.body.data);
    if (r == 0) {
        r = warmup_expected_check(&expected, x.answer.body.data, x.answer.body.len, &w->err);
        if (r < 0)
            (void)err_wrap(&w->err, r, "the model's answer is wrong");
    }
    return r;
}

/* ---- records of TensorFlow Serving ---- */

/* Most models have none. */
static int records_read(void *arg)
{
    struct warmup *w = arg;

    return access(w->records_path, F_OK) < 0 ? 0 : path_read(w->records_path, &w->records, &w->err);
}

static int records_ask(struct warmup *w, const struct served *as_ready, struct view record)
{
    AUTO_EXCHANGE x = { 0 };
    enum exchange_step step;
    int r;

    buf_reset(&w->file);
    r = warmup_record_request(record, w->server->served_model.name, &w->file, &w->err);
    if (r <= 0)
        return r;
    step = exchange_grpc(&x, "/tensorflow.serving.PredictionService/Predict", w->file.data,
                         w->file.len, as_ready);
    r = step == EXCHANGE_RUN ? warmup_run(w, &x) : 0;
    if (r == 0 && x.answer.code != EXCHANGE_OK)
        r = err_set(&w->err, -EINVAL, "it was answered: %.*s", (int)x.answer.body.len,
                    (const char *)x.answer.body.data);
    w->done += r == 0;
    return r;
}

static int records_all(struct warmup *w, const struct served *as_ready)
{
    struct view file, record;
    int r = work_run(w->server->loop, records_read, w);

    file = view_of(w->records.data, w->records.len);
    for (size_t i = 0; r >= 0 && i < WARMUP_MAX; i++) {
        r = warmup_record_next(&file, &record, &w->err);
        if (r == 0)
            return 0;
        if (r > 0)
            r = records_ask(w, as_ready, record);
        if (r < 0 && r != -ECANCELED)
            (void)err_wrap(&w->err, r, "the warm-up request %zu of '%s' failed", i + 1,
                           w->records_path);
    }
    return r < 0 ? r : 0;
}

/* Of a model that is a directory, or is named by a file in it. */
static char *records_path(const struct server *s)
{
    AUTO_FREE char *dir = s->source.ops->directory && !str_ends(s->source.path, ".pb")
                              ? strdup(s->source.path)
                              : path_dir(s->source.path);

    return dir ? path_join(dir, s->source.ops->records) : NULL;
}

static int warmup_all(struct warmup *w)
{
    struct server *s = w->server;
    struct served_model model = s->served_model;
    struct served as_ready = s->served;
    int r = w->has_files ? work_run(s->loop, list_names, w) : 0;

    model.state = MODEL_AVAILABLE;
    model.signatures = s->signatures;
    model.signatures_n = s->signatures_n;
    as_ready.models = &model;
    as_ready.ready = true;
    for (size_t i = 0; i < w->names.n && r == 0; i++) {
        w->name = w->names.v[i];
        r = work_run(s->loop, warmup_read, w);
        if (r == 0)
            r = warmup_ask(w, &as_ready);
        if (r < 0 && r != -ECANCELED)
            (void)err_wrap(&w->err, r, "the warm-up request '%s' failed", w->name);
    }
    return r < 0 || !w->records_path ? r : records_all(w, &as_ready);
}

int server_warm_up(struct server *s, size_t *ret, struct err *err)
{
    struct warmup w = { .server = s };
    AUTO_FREE char *dir = NULL;
    int r;

    if (!s->source.dir && !s->o->warmup && !s->source.ops->records)
        return 0;
    dir = s->o->warmup ? strdup(s->o->warmup)
                       : path_join(s->source.dir ? s->source.dir : "", "warmup");
    if (!dir)
        return err_oom(err);
    w.dir = dir;
    w.has_files = s->o->warmup || s->source.dir;
    if (s->source.ops->records && !(w.records_path = records_path(s)))
        return err_oom(err);
    buf_init(&w.records, s->o->memory_max);
    buf_init(&w.file, s->o->body_max);
    r = warmup_all(&w);
    if (r < 0 && err)
        *err = w.err;
    *ret = w.names.n + w.done;
    strs_done(&w.names);
    buf_done(&w.records);
    free(w.records_path);
    buf_done(&w.file);
    return r;
}
