/* rabit_wire.h - the bytes of the rabit tracker's protocol, as XGBoost up to 2.0 and dmlc-core
 * speak it. Pure: bytes in, structures out, and back.
 *
 * Numbers are 4 bytes in native byte order; a text is its length and its bytes. The bytes come
 * from anybody: every length has a limit. The parsers give the bytes they used, 0 when the message
 * is not whole yet, or -EPROTO; they fit tracker_client_read(). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "rendezvous/rabit_map.h"
#include <sys/types.h>

#define RABIT_MAGIC 0xff99
#define RABIT_JOB_MAX 256            /* bytes of a task's id */
#define RABIT_TEXT_MAX (64 * KIB)    /* bytes that are printed at a time */
#define RABIT_MESSAGE_MAX (72 * KIB) /* no message is longer */

enum rabit_command { RABIT_START, RABIT_RECOVER, RABIT_SHUTDOWN, RABIT_PRINT };

/* What a worker says after the magic numbers. */
struct rabit_hello {
    int32_t rank;  /* -1: it has none */
    int32_t world; /* -1: it does not know */
    char job[RABIT_JOB_MAX + 1];
    enum rabit_command command;
    const char *text; /* print: borrowed from the bytes */
    size_t text_n;
    size_t size; /* of the message */
};

/* The links of a worker that work already. */
struct rabit_good {
    int32_t n;
    int32_t ranks[RABIT_LINKS_MAX];
};

/* Where a worker listens for others. */
struct rabit_peer {
    const char *host; /* numeric */
    int32_t rank;
    int32_t port;
};

ssize_t rabit_parse_number(const uint8_t *p, size_t n, void *ret /* int32_t */, struct err *err);
ssize_t rabit_parse_hello(const uint8_t *p, size_t n, void *ret /* rabit_hello */, struct err *err);
ssize_t rabit_parse_good(const uint8_t *p, size_t n, void *ret /* rabit_good */, struct err *err);

/* Appends the answer to start and recover: the rank and its links. */
int rabit_add_node(struct buf *out, int32_t rank, int32_t world, const struct rabit_node *node);
/* Appends the answer to the good links: whom to connect to, and how many others will come. */
int rabit_add_peers(struct buf *out, const struct rabit_peer *peers, int32_t n, int32_t others);
int rabit_add_number(struct buf *out, int32_t v);
