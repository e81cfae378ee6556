/* predict_rows.c - `ydl predict --csv`.
 *
 *     file ──► records ──► batch ──► request ─┐ several fibers, each with a connection;
 *                                             │ the file is read by one at a time,
 *     standard output ◄── lines ◄── answer ◄──┘ and answers are printed in its order
 *
 * A fiber has one batch in its hands, so that memory does not grow with the file. To predict
 * changes nothing at the server: a request that could not be answered now is sent again. */
#include "base/array.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cmd/predict/predict.h"
#include "cmd/predict/row_request.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE (64 * KIB)
#define BATCH_BYTES (8 * MIB) /* a batch ends before its number of rows when it has these */
#define BODY_MAX (64 * MIB)
#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS 5000
#define RETRY_AFTER_MOST_S 60

struct rows {
    struct job_call *x;
    const struct predict_rows *q;
    const char *name; /* of the file, in messages */
    char *path;       /* of requests */
    char url[SERVE_URL];
    struct signature signature;
    struct row_columns columns;
    json_t *outputs;
    /* The file. */
    int fd;
    struct sock *pipe; /* what has to be waited for; NULL: a file */
    int flags;         /* of a pipe, as they were */
    struct csv_reader csv;
    struct csv_record held; /* the first record, when it was a row */
    bool reading, is_held, named, failed, finding;
    struct progress *progress;
    uint64_t bytes;
    /* The order of answers. */
    uint64_t taken, printed;
    struct cond changed;
};

/* One of the fibers. */
struct rows_worker {
    struct rows *w;
    struct http_client *http;
    char url[SERVE_URL]; /* where it was connected to last */
    struct row_batch batch;
    struct buf request, answer, lines;
    size_t json; /* bytes of JSON at the beginning of the answer */
};

/* ---- the file ---- */

static int rows_open(struct rows *w, struct err *err)
{
    bool is_stdin = str_eq(w->q->file, "-");
    struct stat st;
    int fd;

    w->name = is_stdin ? "standard input" : w->q->file;
    w->fd =
        is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(w->q->file, O_RDONLY | O_CLOEXEC);
    if (w->fd < 0 || fstat(w->fd, &st) < 0)
        return err_sys(err, "open '%s'", w->name);
    if (S_ISDIR(st.st_mode))
        return err_set(err, -EISDIR, "'%s' is a directory", w->name);
    if (!S_ISREG(st.st_mode)) {
        w->flags = fcntl(w->fd, F_GETFL);
        fd = dup(w->fd);
        if (fd < 0 || sock_from_fd(w->x->loop, fd, &w->pipe, NULL) < 0)
            w->pipe = NULL; /* such as /dev/null, which never makes anybody wait */
    }
    return progress_begin(w->name, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
                          w->x->globals->quiet || isatty(STDOUT_FILENO), &w->progress, err);
}

/* Whose terminal it is wants to have it back as it was. */
static void rows_close(struct rows *w)
{
    if (w->pipe) {
        (void)fcntl(w->fd, F_SETFL, w->flags);
        w->pipe = sock_close(w->pipe);
    }
    if (w->fd >= 0)
        close(w->fd);
}

static int rows_fill(struct rows *w, struct err *err)
{
    uint8_t *room;
    ssize_t n;
    int r = csv_room(&w->csv, PIECE, &room);

    if (r < 0)
        return r == -E2BIG ? err_set(err, r, "line %lld: a row of more than %zu MB",
                                     (long long)w->csv.line, CSV_RECORD_MAX / MIB)
                           : err_oom(err);
    do {
        r = w->pipe ? sock_wait_readable(w->pipe, LOOP_NEVER) : 0;
        if (r < 0)
            return err_code(err, r, "read '%s'", w->name);
        n = read(w->fd, room, PIECE);
    } while (n < 0 && (errno == EINTR || (errno == EAGAIN && w->pipe)));
    if (n < 0)
        return err_sys(err, "read '%s'", w->name);
    csv_filled(&w->csv, (size_t)n);
    w->bytes += (uint64_t)n;
    progress_set(w->progress, w->bytes);
    return 0;
}

/* 1 and a record; 0 at the end. */
static int rows_next(struct rows *w, struct csv_record *ret, struct err *err)
{
    int r;

    if (w->is_held) {
        w->is_held = false;
        *ret = w->held;
        return 1;
    }
    while ((r = csv_next(&w->csv, ret, err)) == 0 && !w->csv.ended) {
        r = rows_fill(w, err);
        if (r < 0)
            return r;
    }
    return r;
}

/* What is wrong with the file is wrong with what the user gave. */
static int rows_fault(const struct rows *w, int r, struct err *err)
{
    if (r != -EINVAL && r != -ERANGE && r != -E2BIG)
        return r;
    (void)err_wrap(err, r, "%s", w->name);
    return err->code = CLI_USAGE;
}

static size_t batch_bytes(const struct rows *w, const struct row_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < w->columns.n; i++)
        n += b->bytes[i].len;
    return n;
}

static int read_batch(struct rows *w, struct row_batch *b, struct err *err)
{
    size_t most = w->columns.batched ? w->q->batch : 1;
    struct csv_record record;
    int r = 1;

    for (size_t i = 0; i < w->columns.n; i++)
        buf_reset(&b->bytes[i]);
    b->rows = 0;
    while (b->rows < most && batch_bytes(w, b) < BATCH_BYTES && r > 0) {
        r = rows_next(w, &record, err);
        if (r <= 0)
            break;
        r = row_encode(&w->columns, &record, b->bytes, err);
        if (r < 0 && record.line == w->held.line)
            err_hint(err, "if this line has the names of columns: --header yes");
        if (r < 0)
            break;
        if (b->rows++ == 0)
            b->first = record.line;
        b->last = record.line;
        r = 1;
    }
    return r < 0 ? rows_fault(w, r, err) : 0;
}

/* The next batch, and its place in the order of answers. Rows of 0: the file is at its end.
 *
 * Batches are numbered as they are read, and answers printed by these numbers. After a failure no
 * more are read, but those that were have their turn: what is printed is always the beginning of
 * the file. */
static int take_batch(struct rows *w, struct row_batch *b, uint64_t *ret_turn, struct err *err)
{
    int r = 0;

    while (r == 0 && w->reading)
        r = cond_wait(w->x->loop, &w->changed, LOOP_NEVER);
    if (r < 0)
        return err_set(err, r, "interrupted");
    b->rows = 0;
    if (w->failed)
        return 0;
    w->reading = true;
    r = read_batch(w, b, err);
    *ret_turn = w->taken;
    w->taken += r == 0 && b->rows > 0;
    w->failed = w->failed || r < 0;
    w->reading = false;
    cond_wake_all(&w->changed);
    return r;
}

/* ---- asking ---- */

/* It may have moved, or there is another gateway. One that has ended is not asked again. */
static int find_again(const struct rows_worker *o, struct err *err)
{
    struct rows *w = o->w;
    int r;

    if (w->finding || !str_eq(o->url, w->url)) /* one does it for all */
        return 0;
    w->finding = true;
    r = predict_address(w->x, w->url, err);
    w->finding = false;
    return r;
}

/* The status, or what the connection failed with. */
static int ask_once(struct rows_worker *o, size_t json, int64_t deadline, int64_t *ret_after,
                    struct err *err)
{
    struct rows *w = o->w;
    AUTO_FREE char *headers = str_printf("Inference-Header-Content-Length: %zu\r\n%s", json,
                                         w->q->headers ? w->q->headers : "");
    const struct http_request q = { .method = "POST",
                                    .target = w->path,
                                    .type = "application/octet-stream",
                                    .body = o->request.data,
                                    .size = o->request.len,
                                    .headers = headers };
    struct http_answer answer = { 0 };
    int64_t n = 0;
    int r = headers ? 0 : err_oom(err);

    *ret_after = 0;
    if (r == 0 && !o->http) {
        memcpy(o->url, w->url, sizeof(o->url));
        r = serve_connect(w->x->loop, o->url, w->q->trust, deadline, &o->http, err);
    }
    if (r == 0)
        r = http_ask(o->http, &q, deadline, &answer, err);
    buf_reset(&o->answer);
    if (r == 0)
        r = serve_read(o->http, deadline, &o->answer, err);
    if (r == 0 && http_answer_header(o->http, "Retry-After") &&
        str_to_i64(http_answer_header(o->http, "Retry-After"), 0, RETRY_AFTER_MOST_S, &n) == 0)
        *ret_after = n * 1000;
    o->json = o->answer.len;
    if (r == 0 && http_answer_header(o->http, "Inference-Header-Content-Length") &&
        str_to_i64(http_answer_header(o->http, "Inference-Header-Content-Length"), 0,
                   (int64_t)o->answer.len, &n) == 0)
        o->json = (size_t)n;
    if (r < 0 || answer.status != 200) /* a connection costs less than a doubt */
        o->http = http_client_free(o->http);
    return r < 0 ? r : answer.status;
}

/* No replica had room, or one was lost with the request: the next one may do it.
 *
 * 502 and a lost connection leave open whether the model has run. To predict changes nothing, so
 * that asking again is safe. */
static bool is_worth_a_retry(int r)
{
    return r == 429 || r == 502 || r == 503 || (r < 0 && client_broken(r));
}

static int ask_until(struct rows_worker *o, size_t json, struct err *err)
{
    struct loop *l = o->w->x->loop;
    int64_t deadline = loop_in(l, o->w->q->timeout), wait = RETRY_FIRST_MS, after = 0;
    int r, slept;

    for (;; wait = wait < RETRY_MOST_MS / 2 ? wait * 2 : RETRY_MOST_MS) {
        int64_t pause;

        err_clear(err);
        r = ask_once(o, json, deadline, &after, err);
        if (r == 200)
            return 0;
        pause = after > wait ? after : wait;
        if (!is_worth_a_retry(r) || loop_in(l, pause) > deadline)
            return r < 0 ? r : predict_refused(r, &o->answer, err);
        slept = fiber_sleep(l, pause);
        if (slept < 0)
            return err_set(err, slept, "interrupted");
        if (r < 0 && find_again(o, err) < 0)
            return -ENOENT;
    }
}

static int ask_batch(struct rows_worker *o, struct err *err)
{
    const struct rows *w = o->w;
    size_t json = 0;
    int r;

    buf_reset(&o->request);
    r = row_request(&w->columns, w->outputs, &o->batch, &o->request, &json, err);
    if (r == 0)
        r = ask_until(o, json, err);
    if (r == 0 || r == -ECANCELED)
        return r;
    return o->batch.first == o->batch.last
               ? err_wrap(err, r, "%s, line %lld", w->name, (long long)o->batch.first)
               : err_wrap(err, r, "%s, lines %lld to %lld", w->name, (long long)o->batch.first,
                          (long long)o->batch.last);
}

/* ---- printing ---- */

static int print_lines(struct rows_worker *o, const struct tensors *t, struct err *err)
{
    struct rows *w = o->w;
    bool csv = w->q->output == PREDICT_CSV;
    int r = 0;

    buf_reset(&o->lines);
    if (csv && !w->named)
        r = row_print_names(t, w->columns.batched, &o->lines);
    w->named = true;
    if (r == 0)
        r = csv ? row_print_csv(t, w->columns.batched, &o->lines)
                : row_print_json(t, w->columns.batched, &o->lines);
    if (r < 0)
        return r == -ENOMEM ? err_oom(err) : err_code(err, r, "print the answer");
    if (fwrite(o->lines.data, 1, o->lines.len, stdout) != o->lines.len || fflush(stdout) == EOF)
        return err_sys(err, "write to standard output");
    return 0;
}

static int await_turn(struct rows *w, uint64_t turn)
{
    int r = 0;

    while (r == 0 && w->printed != turn)
        r = cond_wait(w->x->loop, &w->changed, LOOP_NEVER);
    return r;
}

static int print_batch(struct rows_worker *o, struct err *err)
{
    AUTO_TENSORS t = { 0 };
    int r = row_answer(&o->answer, o->json, &o->w->columns, o->batch.rows, &t, err);

    return r < 0 ? r : print_lines(o, &t, err);
}

/* What fails is told when everything before it has been printed. */
static int rows_work(void *arg, struct err *err)
{
    struct rows_worker *o = arg;
    struct rows *w = o->w;
    uint64_t turn = 0;
    int r = 0, waited;

    while (r == 0) {
        r = take_batch(w, &o->batch, &turn, err);
        if (r == 0 && o->batch.rows == 0)
            break;
        if (r == 0)
            r = ask_batch(o, err);
        w->failed = w->failed || r < 0;
        waited = r == -ECANCELED ? r : await_turn(w, turn);
        if (waited < 0)
            return r < 0 ? r : err_set(err, waited, "interrupted");
        if (r == 0)
            r = print_batch(o, err);
        w->printed++;
        cond_wake_all(&w->changed);
    }
    return r;
}

/* ---- all of it ---- */

static int worker_init(struct rows_worker *o, struct rows *w)
{
    *o = (struct rows_worker){
        .w = w, .request.max = BODY_MAX, .answer.max = BODY_MAX, .lines.max = 2 * BODY_MAX
    };
    o->batch.bytes = calloc(w->columns.n, sizeof(*o->batch.bytes));
    for (size_t i = 0; o->batch.bytes && i < w->columns.n; i++)
        buf_init(&o->batch.bytes[i], BODY_MAX);
    return o->batch.bytes ? 0 : -ENOMEM;
}

static void worker_done(struct rows_worker *o)
{
    for (size_t i = 0; o->w && o->batch.bytes && i < o->w->columns.n; i++)
        buf_done(&o->batch.bytes[i]);
    free(o->batch.bytes);
    buf_done(&o->request);
    buf_done(&o->answer);
    buf_done(&o->lines);
    http_client_free(o->http);
}

static int rows_all(struct rows *w, struct err *err)
{
    size_t n = w->q->parallel;
    AUTO_FREE struct rows_worker *workers = calloc(n, sizeof(*workers));
    struct group g;
    int r = workers ? 0 : err_oom(err), ended;

    group_init(&g, w->x->loop, 0);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = worker_init(&workers[i], w) < 0 ? err_oom(err) : 0;
        if (r == 0)
            r = group_go(&g, rows_work, &workers[i], err);
    }
    if (r < 0)
        group_cancel(&g);
    ended = group_wait(&g, err);
    for (size_t i = 0; workers && i < n; i++)
        worker_done(&workers[i]);
    return ended < 0 ? ended : r;
}

/* What the model takes and gives. */
static int ask_signature(struct rows *w, struct err *err)
{
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_BUF answer = { .max = 4 * MIB };
    AUTO_JSON *metadata = NULL;
    struct serve_request q = { .method = "GET",
                               .url = w->url,
                               .headers = w->q->headers,
                               .timeout = w->q->timeout,
                               .trust = w->q->trust };
    int r = predict_model(w->x, w->q->model, &name, err);

    if (r < 0)
        return r;
    path = str_printf("/v2/models/%s", name);
    w->path = str_printf("/v2/models/%s/infer", name);
    if (!path || !w->path)
        return err_oom(err);
    q.path = path;
    r = serve_ask(w->x->loop, &q, &answer, err);
    if (r >= 0 && r != 200)
        return predict_refused(r, &answer, err);
    if (r >= 0)
        r = json_parse("the model's metadata", answer.data ? answer.data : (uint8_t *)"",
                       answer.len, &metadata, err);
    return r < 0 ? r : row_signature(metadata, &w->signature, err);
}

/* The first line: names of columns, or the first row. */
static int read_header(struct rows *w, struct err *err)
{
    int r = rows_next(w, &w->held, err);

    if (r <= 0)
        return r < 0 ? rows_fault(w, r, err) : cli_bad(err, "%s: there are no rows", w->name);
    r = row_columns_make(&w->signature, &w->held, w->q->header, &w->columns, err);
    if (r < 0)
        return rows_fault(w, r, err);
    w->is_held = r == 0;
    if (w->columns.unused && !w->x->globals->quiet)
        fprintf(stderr, "ydl: note: %s: columns that the model does not take: %s\n", w->name,
                w->columns.unused);
    return row_outputs(&w->signature, w->columns.batched, &w->outputs, err);
}

int predict_rows(struct job_call *x, const struct predict_rows *q, struct err *err)
{
    struct rows w = { .x = x, .q = q, .fd = -1 };
    int r;

    csv_init(&w.csv);
    (void)snprintf(w.url, sizeof(w.url), "%s", q->url);
    r = rows_open(&w, err);
    if (r < 0)
        r = exit_named_file(r, err);
    if (r == 0)
        r = ask_signature(&w, err);
    if (r == 0)
        r = read_header(&w, err);
    if (r == 0)
        r = rows_all(&w, err);
    rows_close(&w);
    progress_end(w.progress);
    row_columns_done(&w.columns);
    signature_done(&w.signature);
    csv_done(&w.csv);
    json_decref(w.outputs);
    free(w.path);
    return r;
}
