/* command_proxy.h - passing one request on to the program, and its answer back, as it comes.
 *
 * Method, path, headers and bodies go through as they are, but for headers that belong to a
 * connection. A body of known length is streamed; one in chunks is collected first. Each piece of
 * an answer is sent on when it arrives, and a client that hangs up ends the request in the program.
 * Fibers only. */
#pragma once
#include "serve/command/command_process.h"
#include "wire/budget.h"
#include "wire/http.h"

struct upstream; /* a connection to the program that can be used again */

struct command_proxy {
    struct loop *loop;
    struct command_process *process;
    struct budget *memory;
    uint64_t body_max;
    bool keyed;            /* Authorization has our key, which is none of the program's business */
    int64_t wait_ms;       /* for the answer to begin, and for each further piece of it */
    struct upstream *idle; /* connections */
    size_t idle_n;
};

/* What became of it. */
struct command_passed {
    int status;       /* what the client was answered; 499: it hung up first */
    uint64_t in, out; /* bytes of the bodies */
};

/* Passes the call on and answers it, also when the program fails: then with 503 before it is asked,
 * then 502, 504, 413 … and a sentence. `id` goes along as x-request-id. Negative when the answer
 * was cut off in the middle. */
int command_proxy_pass(struct command_proxy *p, struct http_call *c, const char *id,
                       struct command_passed *ret, struct err *err);
/* Closes its connections. */
void command_proxy_done(struct command_proxy *p);
