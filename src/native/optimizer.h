/* optimizer.h - the text by which a worker tells a server without Python how to learn.
 *
 *     NAME [key=value]…
 *
 * sent as a command with head 0, which is where Python would send its pickled optimizer:
 *
 *     kv._send_command_to_servers(0, "sgd lr=0.1 momentum=0.9 rescale_grad=0.01")     Python
 *     MXKVStoreSendCommmandToServers(kv, 0, "adam lr=0.001")                          C, and so on
 *
 * Keys are those of MXNet's operators, `learning_rate` is `lr`:
 *
 *     sgd    lr (0.01)  momentum (0)                          sgd_update, sgd_mom_update
 *     adam   lr (0.001) beta1 (0.9) beta2 (0.999) epsilon (1e-8)      adam_update
 *     both   wd (0)  rescale_grad (1)  clip_gradient (none)
 *
 * Sent again it changes the numbers and keeps what has been learnt (a schedule of learning rates);
 * another NAME starts anew. Pure. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

#define OPTIMIZER_TEXT_MAX 1024
#define OPTIMIZER_PARAMS 8 /* most that an operator is given */
#define OPTIMIZER_STATES 2 /* most arrays that are kept for each weight */

enum optimizer_kind { OPTIMIZER_SGD, OPTIMIZER_ADAM, OPTIMIZER_KINDS_ };

struct optimizer {
    enum optimizer_kind kind;
    double lr, momentum, beta1, beta2, epsilon, wd, rescale;
    double clip; /* negative: none */
};

/* Is it what Python sends? Said in words then, because nobody here can read it. */
bool optimizer_is_pickle(const char *text);

/* -EINVAL with a sentence: an unknown name or key, a number that is none or out of its range. */
int optimizer_parse(const char *text, struct optimizer *ret, struct err *err);

/* What is done for one weight: an operator, its parameters as text, and how many arrays of its own
 * it keeps (zero at first). `step` counts the updates of this weight from 1. */
struct optimizer_call {
    const char *op;
    unsigned states, n;
    const char *names[OPTIMIZER_PARAMS];
    char values[OPTIMIZER_PARAMS][32];
};
void optimizer_call(const struct optimizer *o, int64_t step, struct optimizer_call *ret);
