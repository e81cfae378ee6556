/* predict.h - what `ydl predict` does with one request and with a file of rows. Fibers only. */
#pragma once
#include "cmd/predict/row_columns.h"
#include "cmd/serve/serve_call.h"

enum predict_output { PREDICT_JSON, PREDICT_CSV };

struct predict_rows {
    const char *url;
    const char *model;   /* NULL: the first that the gateway knows */
    const char *headers; /* of every request, each with CRLF, or NULL */
    const struct serve_trust *trust;
    const char *file; /* "-": standard input */
    enum row_header header;
    enum predict_output output;
    unsigned batch, parallel; /* rows of a request; requests at a time */
    int64_t timeout;          /* of each request, with its repetitions */
};

/* Sends the rows of a CSV file and prints a line for each. */
int predict_rows(struct job_call *x, const struct predict_rows *q, struct err *err);

/* The model that was named, or the first that the gateway knows: *ret is the caller's. */
int predict_model(struct job_call *x, const char *model, char **ret, struct err *err);
/* Where the deployment is now, into `url`, which keeps its scheme; as it was when that is not
 * known. -ENOENT: it has ended. */
int predict_address(struct job_call *x, char url[SERVE_URL], struct err *err);
/* The error that an answer other than 200 stands for. */
int predict_refused(int status, struct buf *answer, struct err *err);
