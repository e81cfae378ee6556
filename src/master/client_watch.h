/* client_watch.h - the client that the job is attached to. See client_watch.c. Loop thread only. */
#pragma once
#include "base/err.h"
#include <stdbool.h>

struct fiber;
struct master;

struct client {
    bool attached; /* the job is stopped when it goes */
    bool gone;
    unsigned n; /* connections of its */
    struct fiber *watcher;
};

int client_watch(struct master *m, struct err *err); /* it has to come, from now on */
/* A connection of its has ended with this code. */
void client_watch_broken(struct master *m, int code);
