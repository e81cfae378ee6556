/* predict.c - `ydl predict`: one request to a deployment, or the rows of a file. */
#include "cmd/predict/predict.h"
#include "base/path.h"
#include "cli/exit.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_request.h"
#include "cmd/verbs.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX (256 * MIB)
#define KEY_MAX 4096
#define REPORT_MS 10000
#define BATCH_MOST 65536
#define PARALLEL_MOST 64
#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS 5000
#define READY_MS 3000 /* for replicas behind a new gateway */

struct args {
    struct job_where where;
    const char *json, *file, *csv, *model, *key_file, *ca, *server_name;
    int header, output;
    unsigned batch, parallel;
    int64_t timeout;
};

#define AT(field) offsetof(struct args, field)

/* The request's body, checked to be JSON. */
static int predict_body(const struct args *a, struct buf *ret, json_t **ret_doc, struct err *err)
{
    const char *from = a->json ? "--json" : a->file;
    int r;

    if (a->json)
        r = buf_add_str(ret, a->json) < 0 ? err_oom(err) : 0;
    else
        r = path_read(str_eq(a->file, "-") ? "/dev/stdin" : a->file, ret, err);
    if (r < 0)
        return exit_named_file(r, err);
    r = json_parse(from, ret->data ? ret->data : (uint8_t *)"", ret->len, ret_doc, err);
    return r == -EINVAL ? (err->code = CLI_USAGE) : r;
}

/* TensorFlow Serving's form has instances, or inputs by name; the Open Inference Protocol's is a
 * list of inputs, each with its shape. */
static bool is_open_inference(const json_t *doc)
{
    const json_t *first = json_array_get(json_object_get(doc, "inputs"), 0);

    return json_object_get(first, "shape") != NULL;
}

int predict_model(struct job_call *x, const char *model, char **ret, struct err *err)
{
    AUTO_JSON *report = model ? NULL : serve_report(x, REPORT_MS);
    const json_t *models = json_object_get(report, "models");
    const char *name =
        model ? model : json_string_value(json_object_get(json_array_get(models, 0), "name"));

    if (!name)
        return err_set(err, -EAGAIN, "the deployment has not said yet which model it serves");
    *ret = strdup(name);
    return *ret ? 0 : err_oom(err);
}

static int predict_path(struct job_call *x, const char *named, const json_t *doc, char **ret,
                        struct err *err)
{
    AUTO_FREE char *name = NULL;
    int r = predict_model(x, named, &name, err);

    if (r < 0)
        return r;
    *ret =
        str_printf(is_open_inference(doc) ? "/v2/models/%s/infer" : "/v1/models/%s:predict", name);
    return *ret ? 0 : err_oom(err);
}

/* The first key of the file, as a header. */
static int predict_key(const char *path, char **ret, struct err *err)
{
    AUTO_BUF text = { .max = KEY_MAX };
    AUTO_STRS lines = { 0 };
    int r = path_read(path, &text, err);

    if (r < 0)
        return exit_named_file(r, err);
    if (!buf_text(&text) || strs_split(&lines, buf_text(&text), "\r\n") < 0)
        return err_oom(err);
    for (size_t i = 0; i < lines.n && !*ret; i++)
        if (lines.v[i][0] != '#')
            *ret = str_printf("Authorization: Bearer %s\r\n", lines.v[i]);
    return *ret ? 0 : cli_bad(err, "option '--key-file': there is no key in '%s'", path);
}

/* What the server says of a request that it did not carry out. */
int predict_refused(int status, struct buf *answer, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *text = NULL;

    if (answer->len > 0 && json_parse("answer", answer->data, answer->len, &v, NULL) == 0)
        text = json_string_value(json_object_get(v, "error"));
    return err_set(err,
                   status == 404                    ? -ENOENT
                   : status == 401 || status == 403 ? -EACCES
                   : status == 429 || status == 503 ? -EAGAIN
                   : status == 504                  ? -ETIME
                   : status < 500                   ? -EINVAL
                                                    : -EIO,
                   "%s (status %d)", text ? text : "the request was refused", status);
}

/* Another address than the one where nobody answers; the same if there is no other. */
static bool predict_other(const json_t *urls, char url[SERVE_URL])
{
    const char *next = serve_direct_next(urls, url);

    if (next)
        (void)snprintf(url, SERVE_URL, "%s", next);
    return next;
}

/* Without a gateway: another replica. */
static void predict_next(const json_t *report, char url[SERVE_URL])
{
    AUTO_JSON *urls = serve_is_direct(report) ? serve_direct_urls(report) : NULL;

    (void)predict_other(urls, url);
}

/* A master that cannot be asked now leaves the old address, which is tried again. The end of the
 * deployment is final. */
int predict_address(struct job_call *x, char url[SERVE_URL], struct err *err)
{
    AUTO_JSON *report = NULL;
    AUTO_JSON *status = NULL;
    AUTO_JSON *plan = NULL;
    AUTO_JSON *urls = NULL;

    if (client_status(x->client, true, &status, NULL) < 0)
        return 0;
    if (json_is_integer(json_object_get(status, "ended")))
        return err_set(err, -ENOENT, "the deployment '%s' has ended", format_text(status, "name"));
    if (serve_plan_of(x->client, 0, &plan, NULL) < 0)
        return 0;
    urls = serve_urls(status, plan);
    if (predict_other(urls, url))
        return 0;
    report = serve_report(x, 0);
    predict_next(report, url);
    return 0;
}

/* Where nobody answers, the gateway is being started again, perhaps elsewhere. One that has just
 * been started has not seen yet that its replicas are ready, and says 503. */
static int predict_send(struct job_call *x, struct serve_request *q, char url[SERVE_URL],
                        struct buf *answer, struct err *err)
{
    int64_t deadline = loop_in(x->loop, q->timeout), wait = RETRY_FIRST_MS;
    int64_t ready = loop_in(x->loop, READY_MS);
    int r;

    for (;; wait = wait < RETRY_MOST_MS / 2 ? wait * 2 : RETRY_MOST_MS) {
        r = serve_ask(x->loop, q, answer, err);
        if (r == 0 || (!client_broken(r) && (r != 503 || loop_in(x->loop, wait) > ready)) ||
            loop_in(x->loop, wait) > deadline)
            return r;
        err_clear(err);
        buf_reset(answer);
        r = fiber_sleep(x->loop, wait);
        if (r < 0)
            return err_set(err, r, "interrupted");
        r = predict_address(x, url, err);
        if (r < 0)
            return r;
        q->timeout = deadline - loop_now(x->loop);
    }
}

static int predict_ask(struct job_call *x, char url[SERVE_URL], const char *headers,
                       const struct serve_trust *trust, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_BUF body = { .max = BODY_MAX };
    AUTO_BUF answer = { .max = BODY_MAX };
    AUTO_FREE char *path = NULL;
    AUTO_JSON *doc = NULL;
    struct serve_request q = {
        .method = "POST", .url = url, .timeout = a->timeout, .trust = trust
    };
    int r = predict_body(a, &body, &doc, err);

    if (r == 0)
        r = predict_path(x, a->model, doc, &path, err);
    if (r < 0)
        return r;
    q.path = path;
    q.headers = headers;
    q.body = body.data;
    q.size = body.len;
    r = predict_send(x, &q, url, &answer, err);
    if (r >= 0 && r != 200)
        return predict_refused(r, &answer, err);
    if (r < 0)
        return r;
    if (fwrite(answer.data, 1, answer.len, stdout) != answer.len || putchar('\n') == EOF ||
        fflush(stdout) == EOF)
        return err_sys(err, "write to standard output");
    return 0;
}

/* The first address, for which a gateway that is being started is waited for.
 *
 * With a gateway its task says where it listens (the job's status); without one the replicas do, in
 * the report. The report also says whether to use TLS. It is waited for in the master, up to
 * REPORT_MS, so that a deployment that has just been started is not asked over and over. */
static int predict_find(struct job_call *x, json_t *status, char url[SERVE_URL], struct err *err)
{
    const struct args *a = job_args(x);
    int64_t deadline = loop_in(x->loop, a->timeout), wait = RETRY_FIRST_MS;
    AUTO_JSON *now = json_incref(status);

    for (;; wait = wait < RETRY_MOST_MS / 2 ? wait * 2 : RETRY_MOST_MS) {
        AUTO_JSON *report = NULL;
        AUTO_JSON *plan = NULL;

        if (json_is_integer(json_object_get(now, "ended")))
            return err_set(err, -ENOENT, "the deployment '%s' has ended", x->cli->operands[0]);
        report = serve_report(x, REPORT_MS);
        (void)serve_plan_of(x->client, 0, &plan, NULL); /* it was there before the report */
        if (plan)
            (void)serve_url(now, plan, url);
        predict_next(report, url);
        if (*url)
            return 0;
        if (loop_in(x->loop, wait) > deadline)
            return err_set(err, -EAGAIN, "the deployment '%s' has no address yet",
                           x->cli->operands[0]);
        if (fiber_sleep(x->loop, wait) < 0)
            return err_set(err, -ECANCELED, "interrupted");
        json_decref(take(now));
        (void)client_status(x->client, true, &now, NULL);
    }
}

static int predict_csv(struct job_call *x, const char *url, const char *headers,
                       const struct serve_trust *trust, struct err *err)
{
    const struct args *a = job_args(x);
    const struct predict_rows q = { .url = url,
                                    .model = a->model,
                                    .headers = headers,
                                    .trust = trust,
                                    .file = a->csv,
                                    .header = (enum row_header)a->header,
                                    .output = (enum predict_output)a->output,
                                    .batch = a->batch,
                                    .parallel = a->parallel,
                                    .timeout = a->timeout };

    return predict_rows(x, &q, err);
}

static int predict_check(const struct args *a, struct err *err)
{
    if (!!a->json + !!a->file + !!a->csv != 1)
        return cli_bad(err, "give one of --json, --file and --csv");
    if (a->batch == 0 || a->batch > BATCH_MOST)
        return cli_bad(err, "option '--batch': 1 to %d rows", BATCH_MOST);
    if (a->parallel == 0 || a->parallel > PARALLEL_MOST)
        return cli_bad(err, "option '--parallel': 1 to %d requests", PARALLEL_MOST);
    return 0;
}

static int predict_work(struct job_call *x, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_JSON *status = NULL;
    AUTO_FREE char *key = NULL;
    const struct serve_trust trust = { .ca = a->ca, .name = a->server_name };
    char url[SERVE_URL] = "";
    int r = predict_check(a, err);

    if (r == 0)
        r = serve_find(x, &status, err);
    if (r == 0 && a->key_file)
        r = predict_key(a->key_file, &key, err);
    if (r < 0)
        return r;
    r = predict_find(x, status, url, err);
    if (r < 0)
        return r;
    return a->csv ? predict_csv(x, url, key, &trust, err) : predict_ask(x, url, key, &trust, err);
}

static const char *const headers[] = { "auto", "yes", "no", NULL };
static const char *const outputs[] = { "json", "csv", NULL };

/* clang-format off */
const struct cli_verb verb_predict = {
    .name = "predict", .summary = "send a request, or a file of rows, to a deployment",
    .operands = "DEPLOYMENT", .least = 1, .most = 1, .ask = "Which deployment? Try: ydl serve list",
    JOB_VERB(predict_work),
    .text = "Sends a request and prints the answer's JSON. The request is JSON in the form of "
            "TensorFlow Serving ({\"instances\": [[1, 2]]} or {\"inputs\": {\"x\": [[1, 2]]}}) or of "
            "the Open Inference Protocol (inputs with name, shape, datatype and data). If nobody "
            "answers, or if no replica is ready for up to three seconds, looks up the address of the "
            "deployment again and retries, until --timeout.\n"
            "\n"
            "With --csv, sends the rows of a table, many in each request, and prints a line for each "
            "row, in their order. A request that is refused because all replicas are busy, or "
            "whose replica is lost, is retried until --timeout.",
    CLI_OPTS(struct args,
        JOB_WHERE_OPTS,
        { "json", 0, CLI_TEXT, AT(json), NULL, "TEXT", "the request", .group = CLI_WHAT },
        { "file", 0, CLI_TEXT, AT(file), NULL, "FILE", "file with the request; -: standard input",
          .group = CLI_WHAT },
        { "csv", 0, CLI_TEXT, AT(csv), NULL, "FILE", "file with rows; -: standard input",
          .group = CLI_WHAT },
        { "header", 0, CLI_CHOICE, AT(header), "auto", "WHETHER",
          "the first line has names of columns: yes, no, or auto (when nothing in it is a number)",
          .choices = headers, .group = CLI_WHAT },
        { "batch", 0, CLI_COUNT, AT(batch), "256", "ROWS", "rows in each request",
          .group = CLI_WHAT },
        { "parallel", 0, CLI_COUNT, AT(parallel), "4", "N", "requests at the same time",
          .group = CLI_WHAT },
        { "model", 0, CLI_TEXT, AT(model), NULL, "NAME", "which model, if it serves several",
          .fallback = "the first", .group = CLI_WHAT },
        { "key-file", 0, CLI_TEXT, AT(key_file), NULL, "FILE", "file with the deployment's key",
          .group = CLI_WHAT },
        { "ca", 0, CLI_TEXT, AT(ca), NULL, "FILE",
          "the deployment's certificate, or its issuer's, a PEM file",
          .fallback = "those that this machine trusts", .group = CLI_WHAT, .rare = true },
        { "server-name", 0, CLI_TEXT, AT(server_name), NULL, "NAME",
          "name that the certificate is for", .fallback = "the host of the address",
          .group = CLI_WHAT, .rare = true },
        { "timeout", 0, CLI_MS, AT(timeout), "60s", "TIME", "time for each request",
          .group = CLI_FAILURES },
        { "output", 0, CLI_CHOICE, AT(output), "json", "FORM",
          "what to print for each row: a JSON object with the outputs by name, or a line of CSV",
          .choices = outputs, .group = CLI_OUTPUT }),
    CLI_EXAMPLES({ "ydl predict resnet --json '{\"instances\": [[0.1, 0.2]]}'", "ask for one row" },
                 { "ydl predict resnet --file cat.json", "send a file" },
                 { "ydl predict shop --csv rows.csv --output csv > scores.csv", "ask for every row of a table" },
                 { "zcat rows.csv.gz | ydl predict shop --csv - | jq .y", "the same with a pipe" }),
    CLI_SECTIONS(
      { "ROWS",
        "A file for --csv has one row of the model's inputs on each line, separated by commas, "
        "semicolons or tabs; cells may be in double quotes. Its columns are the values of the inputs "
        "in their order. If its first line has names, and these are the names of the inputs (NAME, or "
        "NAME.0, NAME.1 and so on for an input with several values a row), columns may stand in any "
        "order, and others are left out. An empty cell is a missing value (NaN) where the input is a "
        "float.\n"
        "\n"
        "A model whose first dimension is fixed is sent one row at a time." },
      { "EXIT STATUS",
        "0\tThe model answered.\n"
        "1\tThe request failed or was refused: the message says why.\n"
        "2\tThe request or the table is malformed: the message names the line. Rows of requests "
        "before it were answered.\n"
        "75\tNo replica could take the request: try again later.\n"
        "77\tThe deployment wants a key, or another one." }),
};
/* clang-format on */
