/* yarn_job_facts.h - what the submitter found out and uploaded, as job.json carries it to the
 * master.
 *
 *     "program": FILE                            ydl-node
 *     "files": [{"to": "train.py", "role": null, FILE…}]
 *     "nodes": [{"host", "rack", "label", "memory" (MB), "vcores", "gpus"}]    free at the submit
 *     "heartbeat": ms between the nodes' reports to the ResourceManager
 *     FILE = {"url", "size", "timestamp", "archive", "brief"}
 *
 * Pure. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/records.h"
#include "job/spec/spec.h"

struct yarn_facts_file {
    char *to, *role; /* role NULL: for all */
    char *url;
    int64_t size, timestamp;
    bool archive;
    bool brief; /* nodes keep it for as long as the application lives, not for the next one */
};

struct yarn_facts_node {
    char *host, *rack, *label;
    int64_t memory, gpus; /* MB that are free */
    int64_t vcores;
};

struct yarn_facts {
    struct yarn_facts_file program, *files;
    size_t n_files;
    struct yarn_facts_node *nodes;
    size_t n_nodes;
    int64_t heartbeat;
};

#define YARN_FACTS_NODES_MAX 1000 /* that are worth carrying */

/* `ret` needs yarn_facts_done() in any case. */
int yarn_facts_read(const json_t *job, struct yarn_facts *ret, struct err *err);
/* Adds the keys above to `job`. */
int yarn_facts_write(const struct yarn_facts *f, json_t *job, struct err *err);
void yarn_facts_done(struct yarn_facts *f);
#define AUTO_YARN_FACTS AUTO_DONE(yarn_facts_done) struct yarn_facts

#define YARN_ROLE_MEMORY_MB 1024 /* of a container whose role does not say */
#define YARN_GPU "yarn.io/gpu"

/* The container that a role's slot needs. `room` holds what `ret` points to. */
struct yarn_role_room {
    struct yarn_amount more[SPEC_AMOUNTS_MAX + 1];
};
void yarn_role_resource(const struct spec_role *role, struct yarn_role_room *room,
                        struct yarn_resource *ret);
