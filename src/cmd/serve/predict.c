/* predict.c - `ydl predict`: one request to a deployment. */
#include "base/path.h"
#include "cli/exit.h"
#include "cmd/serve/serve_call.h"
#include "cmd/verbs.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX (256 * MIB)
#define KEY_MAX 4096
#define REPORT_MS 10000

struct args {
    struct job_where where;
    const char *json, *file, *model, *key_file;
    int64_t timeout;
};

#define AT(field) offsetof(struct args, field)

/* The request's body, checked to be JSON. */
static int predict_body(const struct args *a, struct buf *ret, json_t **ret_doc, struct err *err)
{
    const char *from = a->json ? "--json" : a->file;
    int r;

    if (!a->json == !a->file)
        return cli_bad(err, "either --json or --file says what to ask");
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

/* The first model that the gateway knows, when none was named. */
static int predict_path(struct job_call *x, const char *model, const json_t *doc, char **ret,
                        struct err *err)
{
    AUTO_JSON *report = model ? NULL : serve_report(x, REPORT_MS);
    const json_t *models = json_object_get(report, "models");
    const char *name =
        model ? model : json_string_value(json_object_get(json_array_get(models, 0), "name"));

    if (!name)
        return err_set(err, -EAGAIN, "the deployment has not said yet which model it serves");
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
static int predict_refused(int status, struct buf *answer, struct err *err)
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

static int predict_ask(struct job_call *x, const char *url, struct err *err)
{
    const struct args *a = job_args(x);
    AUTO_BUF body = { .max = BODY_MAX };
    AUTO_BUF answer = { .max = BODY_MAX };
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *key = NULL;
    AUTO_JSON *doc = NULL;
    struct serve_request q = { .method = "POST", .url = url, .timeout = a->timeout };
    int r = predict_body(a, &body, &doc, err);

    if (r == 0)
        r = predict_path(x, a->model, doc, &path, err);
    if (r == 0 && a->key_file)
        r = predict_key(a->key_file, &key, err);
    if (r < 0)
        return r;
    q.path = path;
    q.headers = key;
    q.body = body.data;
    q.size = body.len;
    r = serve_ask(x->loop, &q, &answer, err);
    if (r >= 0 && r != 200)
        return predict_refused(r, &answer, err);
    if (r < 0)
        return r;
    if (fwrite(answer.data, 1, answer.len, stdout) != answer.len || putchar('\n') == EOF ||
        fflush(stdout) == EOF)
        return err_sys(err, "write to standard output");
    return 0;
}

static int predict_work(struct job_call *x, struct err *err)
{
    AUTO_JSON *status = NULL;
    char url[SERVE_URL] = "";
    int r = serve_find(x, &status, err);

    if (r < 0)
        return r;
    if (json_is_integer(json_object_get(status, "ended")))
        return err_set(err, -ENOENT, "the deployment '%s' has ended", x->cli->operands[0]);
    if (!serve_url(status, url))
        return err_set(err, -EAGAIN, "the deployment '%s' has no address yet", x->cli->operands[0]);
    return predict_ask(x, url, err);
}

/* clang-format off */
const struct cli_verb verb_predict = {
    .name = "predict", .summary = "send one request to a deployment", .operands = "DEPLOYMENT",
    .least = 1, .most = 1, .ask = "Which deployment? Try: ydl serve list",
    JOB_VERB(predict_work),
    .text = "Sends a request and prints the answer's JSON. The request is JSON in the form of "
            "TensorFlow Serving ({\"instances\": [[1, 2]]} or {\"inputs\": {\"x\": [[1, 2]]}}) or of "
            "the Open Inference Protocol (inputs with name, shape, datatype and data).",
    CLI_OPTS(struct args,
        { "json", 0, CLI_TEXT, AT(json), NULL, "TEXT", "the request" },
        { "file", 0, CLI_TEXT, AT(file), NULL, "FILE", "file with the request; -: standard input" },
        { "model", 0, CLI_TEXT, AT(model), NULL, "NAME", "which model, if it serves several",
          .fallback = "the first" },
        { "key-file", 0, CLI_TEXT, AT(key_file), NULL, "FILE", "file with the deployment's key" },
        { "timeout", 0, CLI_MS, AT(timeout), "60s", "TIME", "time for the answer" }),
    CLI_EXAMPLES({ "ydl predict resnet --json '{\"instances\": [[0.1, 0.2]]}'", "ask for one row" },
                 { "ydl predict resnet --file cat.json", "send a file" }),
    CLI_SECTIONS({ "EXIT STATUS",
        "0\tThe model answered.\n"
        "1\tIt could not be asked, or the request was refused: the message says why.\n"
        "75\tNo replica could take the request: try again later.\n"
        "77\tThe deployment wants a key, or another one." }),
};
/* clang-format on */
