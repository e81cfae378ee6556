/* metrics.c - counting, and Prometheus' text: for each name its help, its type, its values. See
 * metrics.h. */
#include "serve/engine/metrics.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const double seconds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                  0.05,   0.1,     0.25,   0.5,   1,      2.5,   10,   60 };
static const double rows[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 };

static void metrics_histogram_init(struct metrics_histogram *h, const double *bounds, size_t n)
{
    *h = (struct metrics_histogram){ .bounds = bounds, .n = n };
}

void metrics_init(struct metrics *m)
{
    metrics_histogram_init(&m->request, seconds, COUNT_OF(seconds));
    metrics_histogram_init(&m->queue, seconds, COUNT_OF(seconds));
    metrics_histogram_init(&m->run, seconds, COUNT_OF(seconds));
    metrics_histogram_init(&m->rows, rows, COUNT_OF(rows));
    m->started = time(NULL);
}

void metrics_done(struct metrics *m)
{
    free(m->answers);
    *m = (struct metrics){ 0 };
}

void metrics_answer(struct metrics *m, const char *operation, int status)
{
    const struct metrics_answers fresh = { operation, status, 1 };

    for (size_t i = 0; i < m->answers_n; i++) {
        struct metrics_answers *a = &m->answers[i];

        if (a->status == status && strcmp(a->operation, operation) == 0) {
            a->n++;
            return;
        }
    }
    (void)ARRAY_ADD(m->answers, m->answers_n, fresh);
}

void metrics_count(struct metrics_histogram *h, double value)
{
    size_t i = 0;

    while (i < h->n && value > h->bounds[i])
        i++;
    h->counts[i]++;
    h->sum += value;
}

/* ---- text ---- */

static int print_head(struct buf *out, const char *name, const char *type, const char *help)
{
    return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Of a label's value: \, " and line ends have to be written differently. */
static int print_label(struct buf *out, const char *name, const char *value)
{
    int r = buf_printf(out, "%s=\"", name);

    for (const char *p = value ? value : ""; *p && r == 0; p++)
        r = *p == '\\' || *p == '"' ? buf_printf(out, "\\%c", *p)
            : *p == '\n'            ? buf_add_str(out, "\\n")
                                    : buf_add_u8(out, (uint8_t)*p);
    return r < 0 ? r : buf_add_str(out, "\"");
}

/* Prometheus wants buckets that include all smaller ones, and the last one to be +Inf; here each
 * value was counted once.
 *
 *     ydl_serve_queue_seconds_bucket{le="0.001"} 40
 *     ydl_serve_queue_seconds_bucket{le="0.0025"} 57      40 of these are in the one before
 *     ydl_serve_queue_seconds_bucket{le="+Inf"} 60        the same number as _count */
static int print_histogram(struct buf *out, const char *name, const char *help,
                           const struct metrics_histogram *h)
{
    uint64_t n = 0;
    int r = print_head(out, name, "histogram", help);

    for (size_t i = 0; i < h->n && r == 0; i++) {
        n += h->counts[i];
        r = buf_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, h->bounds[i],
                       (unsigned long long)n);
    }
    n += h->counts[h->n];
    if (r == 0)
        r = buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n", name,
                       (unsigned long long)n, name, h->sum, name, (unsigned long long)n);
    return r;
}

static int print_answers(struct buf *out, const struct metrics *m)
{
    int r = print_head(out, "ydl_serve_requests_total", "counter",
                       "Requests by what was asked for and the status of the answer.");

    for (size_t i = 0; i < m->answers_n && r == 0; i++)
        r = buf_printf(out, "ydl_serve_requests_total{operation=\"%s\",code=\"%d\"} %llu\n",
                       m->answers[i].operation, m->answers[i].status,
                       (unsigned long long)m->answers[i].n);
    return r;
}

static int print_info(struct buf *out, const struct metrics_now *now)
{
    int r = print_head(out, "ydl_serve_model_info", "gauge",
                       "The model that is served, and by what; always 1.");

    if (r == 0)
        r = buf_add_str(out, "ydl_serve_model_info{");
    if (r == 0)
        r = print_label(out, "model", now->model);
    if (r == 0)
        r = buf_printf(out, ",version=\"%lld\",", (long long)now->version);
    if (r == 0)
        r = print_label(out, "backend", now->backend);
    if (r == 0)
        r = buf_add_str(out, ",");
    if (r == 0)
        r = print_label(out, "library", now->library);
    return r < 0 ? r : buf_add_str(out, "} 1\n");
}

static double resident_bytes(void)
{
    AUTO_BUF b = { .max = 4 * KIB };
    AUTO_STRS words = { 0 }; /* all, resident, … in pages */
    int64_t pages = 0;

    if (path_read("/proc/self/statm", &b, NULL) < 0 || !buf_text(&b) ||
        strs_split(&words, buf_text(&b), " \n") < 0 || words.n < 2 ||
        str_to_i64(words.v[1], 0, INT64_MAX, &pages) < 0)
        return 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double cpu_seconds(void)
{
    struct rusage u = { 0 };

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int print_numbers(struct buf *out, const struct metrics *m, const struct metrics_now *now)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } numbers[] = {
        { "ydl_serve_ready", "gauge", "1 when requests are answered, else 0.", now->ready },
        { "ydl_serve_waiting_requests", "gauge", "Requests in the queue.", (double)now->waiting },
        { "ydl_serve_running_batches", "gauge", "Runs of the model at this moment.",
          (double)now->running },
        { "ydl_serve_connections", "gauge", "Connections of clients.", (double)now->connections },
        { "ydl_serve_request_memory_bytes", "gauge", "Memory that requests and answers take.",
          (double)now->body_bytes },
        { "ydl_serve_short_runs_total", "counter",
          "Runs of the model on the thread that answers requests, because they are short.",
          (double)m->here },
        { "ydl_serve_batching", "gauge", "1 when waiting requests are combined, else 0.",
          now->joins },
        { "ydl_serve_access_log_lost_total", "counter",
          "Lines of the access log that could not be written at once.", (double)now->lost_lines },
        { "ydl_serve_abandoned_total", "counter", "Requests that ended before the model had run.",
          (double)m->abandoned },
        { "process_start_time_seconds", "gauge", "When the server was started, since 1970.",
          (double)m->started },
        { "process_resident_memory_bytes", "gauge", "Memory of the server.", resident_bytes() },
        { "process_cpu_seconds_total", "counter", "Processor time of the server.", cpu_seconds() },
    };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(numbers) && r == 0; i++) {
        r = print_head(out, numbers[i].name, numbers[i].type, numbers[i].help);
        if (r == 0)
            r = buf_printf(out, "%s %.15g\n", numbers[i].name, numbers[i].value);
    }
    return r;
}

int metrics_print(const struct metrics *m, const struct metrics_now *now, struct buf *out)
{
    int r = print_info(out, now);

    if (r == 0)
        r = print_numbers(out, m, now);
    if (r == 0)
        r = print_answers(out, m);
    if (r == 0)
        r = print_histogram(out, "ydl_serve_request_seconds",
                            "From a request's head to the end of its answer.", &m->request);
    if (r == 0)
        r = print_histogram(out, "ydl_serve_queue_seconds", "Waiting for the model.", &m->queue);
    if (r == 0)
        r = print_histogram(out, "ydl_serve_run_seconds", "Runs of the model.", &m->run);
    if (r == 0)
        r = print_histogram(out, "ydl_serve_batch_rows", "Rows in a run of the model.", &m->rows);
    return r;
}
