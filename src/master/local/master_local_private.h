/* master_local_private.h - what a master keeps on one machine, and its hooks. */
#pragma once
#include "master/master_private.h"
#include "platform/local/local_platform.h"

struct master_local { /* master_options.side */
    const char *node_program;
    struct local_options platform;
    char *state_dir;
    struct run_dir *run_dir;
    struct session *session; /* while something is published on a cluster */
};

extern const struct master_ops master_local_ops;

static inline struct master_local *local_of(const struct master *m)
{
    return m->side;
}

/* ---- run_dir.c ---- */
int run_dir_start(struct master *m, struct err *err); /* once its sockets and files are there */
void run_dir_stop(struct master *m);

/* ---- local_listen.c ---- */
int local_listen(struct master *m, int *ret_fd, char **ret_address, struct err *err);
int local_publish(struct master *m, const char *address, struct err *err);
int local_listen_api(struct master *m, struct http_server_options *o, struct err *err);

/* ---- local_welcome.c ---- */
int local_welcome(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                  Agent__JobFacts *facts);
bool local_results_wanted(const struct master *m);
int local_results(const struct master *m, struct results *r);
const char *local_results_waiting(const struct master *m, const char *to);
