/* servers.h - the table of servers, inside this directory. One server is one file and one row. */
#pragma once
#include "rendezvous/rendezvous.h"

struct server_row {
    unsigned bit; /* of enum framework_server */
    const char *name;
    bool lasts; /* from generation to generation */
    /* Listens and serves. *ret is stopped with `stop`. */
    int (*start)(const struct rendezvous_options *opt, void **ret, int *ret_port, struct err *err);
    void (*stop)(void *server); /* ends its connections and waits for them: fibers only */
};

extern const struct server_row server_rabit, server_xgboost, server_horovod, server_slider;
