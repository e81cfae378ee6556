/* http_call.h - the insides of a request and its answer; for wire/http_*.c. */
#pragma once
#include "wire/http_conn.h"
#include "wire/http_query.h"

enum http_answer_state {
    HTTP_UNANSWERED,
    HTTP_STREAMING, /* begun, more may come */
    HTTP_ANSWERED,
};

struct http_call {
    struct http_conn *conn;
    struct http_target target;
    struct buf headers; /* the handler's own, as they go out */
    enum http_answer_state answer;
    bool head_only; /* HEAD: the body is counted and not sent */
    bool chunks;    /* the stream is sent in chunks, not up to the end of the connection */
    bool expects;   /* the client waits for a word before it sends its body */
    bool last;      /* the connection ends after this */
    int status;     /* what a failure to read the request is to be answered with */
    int64_t waited; /* milliseconds spent waiting for its body */
};

void http_call_init(struct http_call *c, struct http_conn *conn);
void http_call_done(struct http_call *c);
/* Takes the request's head apart. */
int http_call_open(struct http_call *c, struct err *err);

/* Answers a failure, `code` and `err`, as JSON. */
int http_reply_error(struct http_call *c, int code, const struct err *why, struct err *err);
/* Sends the client's word to go on, when it waits for one. */
int http_reply_continue(struct http_call *c, struct err *err);
