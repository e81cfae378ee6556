/* serve_want.h - what is to be deployed, as options, operands and perhaps a file say it. Options
 * win over the file. Opens the file, and those with keys and certificates, which are looked at as
 * the gateway does. */
#pragma once
#include "client/job_call.h"
#include "cmd/serve/serve_file.h"

/* The arguments of the verbs that deploy. Texts are NULL where nothing was said. */
struct serve_options {
    struct job_where where;
    const char *file, *registry, *name, *lib, *python, *gateway, *gateways, *haproxy, *host, *port,
        *key_file, *certificate, *private_key;
    const char *replicas, *autoscale, *cpus, *memory, *gpus, *batch, *batch_delay, *device;
    const char *queue, *label, *priority, *attempts; /* on YARN, as of any job */
    int64_t timeout;                                 /* 0: not said */
    bool runs; /* it is about a deployment that runs: serve_want_file() */
};

/* As the options of the job's tasks take them; NULL: default. */
struct serve_want_model {
    const char *model, *cpus, *memory, *gpus, *batch, *batch_delay, *device, *lib, *python;
    unsigned replicas;          /* to begin with */
    struct autoscale autoscale; /* max 0: none */
};

struct serve_want {
    int on;                    /* enum options_on; -1: not known yet */
    const char *queue, *label; /* on YARN */
    const char *name, *registry, *haproxy, *host, *port, *key_file, *certificate, *private_key;
    const char *gateway;  /* its kind; NULL: the usual one */
    const char *gateways; /* how many, as a text; NULL: one */
    unsigned count;       /* the same as a number */
    bool direct;          /* there is none: clients ask the replicas */
    int64_t timeout;
    bool patient; /* nobody said how long: YARN may take its time */
    struct serve_want_model models[SERVE_FILE_MODELS];
    size_t n;
    struct serve_file file; /* what it borrows from, with the following */
    struct strs texts;
};

/* From a command line whose arguments are a struct serve_options, and whose operands are models.
 * Mistakes in the file are printed, and the result is an exit code. `ret` needs serve_want_done()
 * in any case. */
int serve_want_make(const struct cli *c, struct serve_want *ret, struct err *err);
/* What the file alone says of a deployment that runs; likewise. */
int serve_want_file(const struct cli *c, const char *path, struct serve_want *ret, struct err *err);
/* … and where that is, which the file need not say: `on` is an enum options_on. */
void serve_want_place(struct serve_want *w, int on);
void serve_want_done(struct serve_want *w);

#define AUTO_SERVE_WANT AUTO_DONE(serve_want_done) struct serve_want
