/* reconcile.h - the servers that there should be, compared with those that HAProxy has: what to do
 * next. Pure: who calls it does the steps, asks HAProxy again, and calls again until there are
 * none.
 *
 *     absent ──ADD──► (maintenance) ──READY──► in service ──DRAIN──► draining ──DELETE──► absent
 *                                                  ▲                    │
 *                                                  └──────UNDRAIN───────┘
 *
 * A server is deleted only when it is draining and has nothing left to do, or when it has been
 * draining for too long; and not before one of those that take its place is up (CUT first ends what
 * is still on it). */
#pragma once
#include "base/err.h"
#include "serve/gateway/haproxy_table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reconcile_action {
    RECONCILE_ADD,
    RECONCILE_READY,
    RECONCILE_WEIGHT,
    RECONCILE_DRAIN,
    RECONCILE_UNDRAIN,
    RECONCILE_CUT,
    RECONCILE_DELETE,
    RECONCILE_ACTIONS_
};

struct reconcile_wanted {
    const char *backend, *name; /* borrowed */
    unsigned weight;
    bool drain;  /* it stays, and gets no new requests */
    void *owner; /* the caller's */
};

struct reconcile_step {
    enum reconcile_action action;
    const char *backend, *name;            /* borrowed from where it was found */
    const struct reconcile_wanted *wanted; /* NULL: for DRAIN, CUT and DELETE of what is not */
};

struct reconcile_input {
    const struct reconcile_wanted *wanted;
    size_t n_wanted;
    const struct haproxy_server *found;
    size_t n_found;
    int64_t drain_ms; /* after which a draining server is cut off */
};

/* *ret is the caller's: free(). *ret_waiting: something drains, so ask again soon. */
int reconcile(const struct reconcile_input *in, struct reconcile_step **ret, size_t *ret_n,
              bool *ret_waiting, struct err *err);
