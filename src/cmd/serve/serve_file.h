/* serve_file.h - a deployment as a file: `kind: serve`.
 *
 *     kind: serve
 *     name: shop
 *     models:
 *       - {model: flowers@champion, replicas: 2, cpus: 1}
 *     gateway: {host: 0.0.0.0, key-file: keys}
 *     update: {canary: 10%}
 *
 * The keys are rows of tables, from which the JSON Schema comes too. Mistakes are collected, each
 * with its line (job/spec/spec.h). Pure: no file is opened. */
#pragma once
#include "job/spec/spec.h"
#include "serve/deployment/autoscale.h"

#define SERVE_FILE_MAX MIB
#define SERVE_FILE_MODELS 12    /* as many as a deployment has */
#define SERVE_FILE_REPLICAS 256 /* of a model, likewise */

struct serve_file_model {
    char *model; /* NAME, NAME:VERSION or NAME@ALIAS */
    char *device, *library, *python;
    unsigned replicas, cpus, gpus, batch; /* all but replicas: 0: not said */
    uint64_t memory;                      /* 0: not said */
    int64_t batch_delay;                  /* ms; -1: not said */
    struct autoscale autoscale;           /* max 0: not said */
};

struct serve_file_gateway {
    unsigned port, count; /* 0: not said */
    char *kind, *host, *key_file, *certificate, *private_key, *haproxy;
};

/* As they are written: "10%", "0.5%", "2". NULL: not said. */
struct serve_file_update {
    char *canary, *errors, *slower;
    unsigned requests; /* 0: not said */
};

struct serve_file {
    char *kind, *name, *registry;
    char *platform;      /* "local", "yarn"; NULL: not said */
    char *queue, *label; /* on YARN */
    struct serve_file_model *models;
    size_t n;
    struct serve_file_gateway gateway;
    struct serve_file_update update;
    int64_t timeout; /* ms for the first answer; 0: not said */
};

/* `ret` needs serve_file_done() in any case. -EINVAL with all mistakes in `f`; -ENOMEM. */
int serve_file_parse(const char *file, const void *text, size_t n, struct serve_file *ret,
                     struct spec_faults *f);
void serve_file_done(struct serve_file *s);

/* Names of files are relative to the directory of the file that has them: `dir`, an absolute one.
 */
int serve_file_resolve(struct serve_file *s, const char *dir);

/* "10%" or "10": hundredths of a percent, at most 100 %; "2" or "1.5": hundredths, from 1 on. */
int serve_file_percent(const char *text, unsigned *ret);
int serve_file_factor(const char *text, unsigned *ret);

int serve_file_schema(json_t **ret, struct err *err); /* JSON Schema, draft 2020-12 */

#define AUTO_SERVE_FILE AUTO_DONE(serve_file_done) struct serve_file
