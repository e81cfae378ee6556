/* submit_tokens.h - delegation tokens for a job.
 *
 * A container has no Kerberos ticket: it signs in to HDFS with tokens that the client got. One is
 * needed for each name service that the job names. Fibers only. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "hadoop/token/credentials.h"
#include "job/spec/spec.h"

struct fs_set;
struct session;

/* Every place in HDFS that the job names: `base` (its staging directory, may be NULL), files,
 * archives and output of the job and of its roles, as far as they have a scheme other than file.
 * Output without a scheme lies on fs.defaultFS, which is always added, as "/". Each once. Pure. */
int deploy_places(const struct spec *s, const char *base, struct strs *ret, struct err *err);

/* One token for each name service behind `places`, renewable by the ResourceManager, added to
 * `ret`, which is the caller's. With --as the tokens are that user's. Where the session holds a
 * token already (HADOOP_TOKEN_FILE_LOCATION), that one is handed on, as another cannot be got with
 * it. Without Kerberos NameNodes give none, and nothing is added. The error names the service. */
int deploy_tokens(struct session *s, const struct strs *places, struct credentials *ret,
                  struct err *err);

/* How long the shortest-lived of these can be renewed at most, counted from when it was issued; 0:
 * there is none. Pure. */
int64_t deploy_tokens_life(const struct credentials *c);

/* Newer ones for a job that runs. The ResourceManager renews only what came with the submit, so
 * these are good as long as a token is without that: *ret_ms from now on, after which others have
 * to be got. Needs Kerberos. */
int deploy_tokens_again(struct session *s, const struct strs *places, struct credentials *ret,
                        int64_t *ret_ms, struct err *err);

/* The keytab that goes with a job, so that it can outlive its tokens: what the job file names, else
 * what we signed in with ourselves. */
struct deploy_keytab {
    const char *file, *principal; /* borrowed; NULL: none */
    bool withheld;                /* there is one, but the job runs as another user */
};

/* Which one that is: none without Kerberos. It is not sent either with a job that runs as another
 * user (--as), who could read it. Contacts nobody. */
struct deploy_keytab deploy_keytab(struct session *s, const struct spec *spec);

/* Signs in with it: 0, or what is wrong: no such file, no key of the principal, not the user who
 * submits, -EHOSTUNREACH for a KDC that does not answer. `*ret_note` is the caller's when it is
 * set: a sentence for people about a file that others can read, or that is not sent. After
 * session_find_user(). */
int deploy_keytab_check(struct session *s, const struct deploy_keytab *k, char **ret_note,
                        struct err *err);
/* Why sending it is unsafe, or NULL: a file that others can read, a network that is not encrypted.
 * `qops` are the protections of RPC that are accepted. *ret is the caller's. */
int deploy_keytab_warn(const char *file, unsigned mode, unsigned qops, char **ret, struct err *err);
/* The same for callers that have checked it: the principal with its realm, which is the caller's.
 */
int deploy_keytab_sign_in(struct session *s, const struct deploy_keytab *k, char **ret_principal,
                          struct err *err);
