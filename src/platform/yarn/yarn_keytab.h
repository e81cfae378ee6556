/* yarn_keytab.h - a keytab on its way from the client that submits a job to the job's master.
 *
 * A job that outlives its tokens gets new ones with its owner's keytab. It goes with the job in
 * a file of the staging directory that nobody else can read, as a resource of its containers that
 * YARN removes with the application, and sealed with a key that only the containers' credentials
 * carry: what a task finds of it, copies or sends elsewhere is of no use to anybody. Every node
 * that runs a part of the job has the file, and the program that uses it, so that a new master can
 * begin on any of them when the tokens that YARN would fetch files with have ended.
 *
 *     "YDLK" 1 | nonce, 12 bytes | AES-256-GCM of the JSON | tag, 16 bytes
 *     {"principal": "me@REALM", "places": ["hdfs://ns/…"], "keytab": base64}
 *
 * The key is made of the job's own, and the job's id is sealed in. Pure. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/stream.h"

#define YARN_KEYTAB_FILE "ydl-keytab" /* in a container; "keytab" in the staging directory */
#define YARN_KEYTAB_HELPER "ydl-helper"
#define YARN_KEYTAB_MAX (256 * KIB)        /* of a keytab; one of a single user has 100 bytes */
#define YARN_KEYTAB_SEALED_MAX (512 * KIB) /* of the file */

struct yarn_keytab {
    char *principal;
    struct strs places; /* in HDFS, for whose name services tokens are needed */
    struct buf keytab;  /* the file's bytes */
};

void yarn_keytab_init(struct yarn_keytab *k);
void yarn_keytab_done(struct yarn_keytab *k); /* wipes; zero is fine too */

#define AUTO_YARN_KEYTAB AUTO_DONE(yarn_keytab_done) struct yarn_keytab /* = { 0 } */

/* Appends the file's bytes. */
int yarn_keytab_seal(const struct yarn_keytab *k, const struct stream_key *key, struct buf *ret,
                     struct err *err);
/* -EBADMSG when the bytes are not such a file, or of another job. `ret` was zeroed; it needs
 * yarn_keytab_done() in any case. */
int yarn_keytab_open(const void *p, size_t n, const struct stream_key *key, struct yarn_keytab *ret,
                     struct err *err);
