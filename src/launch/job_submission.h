/* job_submission.h - hands a job to YARN: directories and files in HDFS, tokens, the application
 * itself.
 *
 *     facts ─► checks (capacity.h) ─► upload (cache.h) ─► tokens
 *           ─► job.json, spec.json, key ─► submit
 *
 * Every error that can be found early is reported before anything is written; what was written is
 * removed when a later step fails. Fibers only. */
#pragma once
#include "hadoop/fs/fs.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/rm_client.h"
#include "launch/capacity/capacity.h"
#include "launch/capacity/cluster_facts.h"
#include "uploads/uploads.h"
#include "wire/stream.h"

struct submit_options {
    struct session *session;
    struct fs_set *set;
    struct yarn_client *client;
    const struct spec *spec;          /* complete and checked */
    const struct deploy_facts *facts; /* of the cluster, with the application's id */
    struct uploads_list *ship;        /* ydl-node is added to it */
    const char *base;                 /* BASE as a URI: submit_base() */
    const char *node_program;         /* ydl-node on this machine */
    const char *framework;            /* its name, for the application's tags */
    char *const *command;             /* what the user typed, for the record; NULL: nothing */
    int64_t began;                    /* when the command was started, ms since 1970 */
    bool attached, quiet;
    bool keep;                    /* the credentials, for an agent beside the client */
    int (*exit_code)(int result); /* with what the command ends after such an error */
};

struct submitted {
    char id[YARN_APP_ID_TEXT];
    struct yarn_app_id app;
    struct stream_key key;
    int64_t tokens_ms; /* how long its tokens can live from now on; 0: nobody can get newer ones */
    struct buf credentials; /* what the master was told; the caller's, to be wiped */
};

/* BASE: `staging` if it is given, else .ydl in the user's home on fs.defaultFS; as a URI. *ret is
 * the caller's. Contacts nobody. */
int submit_base(struct fs_set *set, const char *staging, char **ret, struct err *err);

int submit_job(const struct submit_options *o, struct submitted *ret, struct err *err);
