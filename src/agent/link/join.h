/* join.h - whose an agent is: the master's address, the job and its key.
 *
 * A file tells it, {"address", "job", "key"}; in a container of YARN the credentials do. The file
 * holds the job's key, so it must belong to us and be readable by nobody else; the key never stands
 * on a command line or in an environment. Any thread. */
#pragma once
#include "base/auto.h"
#include "wire/stream.h"

struct join {
    char *address; /* as it was told: "unix:/path" or "tcp:host:port" */
    char *path;    /* of a Unix socket; NULL: host and port */
    char *host;
    int port;
    struct stream_key key; /* its identity is the job's id */
};

/* Reads FILE: "address" is "unix:/path" or "tcp:host:port", "key" base64 of STREAM_KEY bytes.
 * -EACCES when others could read it or it is not ours. `ret` needs join_done() in any case. */
int join_read(const char *file, struct join *ret, struct err *err);
/* Another address, for a master that has moved; the key stays. On -EINVAL the old one stays too. */
int join_set_address(struct join *j, const char *text, struct err *err);
void join_done(struct join *j); /* wipes the key */

#define AUTO_JOIN AUTO_DONE(join_done) struct join
