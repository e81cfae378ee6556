/* connect.h - what a verb that talks to a cluster needs: a loop, a session made from the global
 * options, and a fiber to run on.
 *
 * Ctrl-C and SIGTERM cancel that fiber: its waits end, it cleans up, and the verb's result is
 * "interrupted". Main thread. */
#pragma once
#include "cli/globals.h"
#include "hadoop/session/session.h"

struct connection {
    const struct cli *cli;
    const struct globals *globals;
    struct loop *loop;
    bool hasty; /* a cluster that is away is soon said to be; set before it is opened */
    struct session *session; /* NULL without a configuration, see enum connect_need */
    struct err unconfigured; /* … and then this says what is missing */
};

enum connect_need {
    CONNECT_CONFIGURED,    /* no configuration of a cluster is an error */
    CONNECT_IF_CONFIGURED, /* go on without one: perhaps only local files are asked for */
    CONNECT_ANYHOW,        /* go on even with a broken one, to say what is wrong with it */
};

/* A verb's work, on a fiber. Returns an exit code, or a negative errno with `err` set. */
typedef int connect_fn(struct connection *x, void *arg, struct err *err);

/* Runs fn(x, arg) and returns its result. Nobody has been contacted when it begins. */
int connect_run(const struct cli *c, enum connect_need need, connect_fn *fn, void *arg,
                struct err *err);

/* For who has a loop of their own: makes x->session, or leaves it NULL as `need` allows. `x` has
 * its cli, globals and loop; the session is the caller's. Contacts nobody. */
int connect_open(struct connection *x, enum connect_need need, struct err *err);

/* With Kerberos: finds out who we are, for the home directory and for error texts. That fails
 * without a ticket, but not when we hold tokens, as inside a container. Fibers only. */
int connect_user(struct connection *x, struct err *err);
