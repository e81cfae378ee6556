/* master_ops.h - what a master does differently on YARN and on one machine.
 *
 *     core (src/master, api) ──► m->ops ──► yarn/master_yarn.c     a container of YARN
 *                            └► platform   local/master_local.c    this machine
 *
 * The core does not know on which of them it runs. platform_ops says where containers come from;
 * this table has everything else: what outlives the master, where it is found, what others are
 * told, and how it leaves. Each table has all of its hooks; parts that a side has no use for are
 * those of master_ops.c, which do nothing. The table is chosen where the process starts
 * (src/cmd/node/node_master.c). Loop thread only. */
#pragma once
#include "agent.pb-c.h"
#include "base/json.h"
#include "base/str.h"
#include "job/event.h"
#include "rendezvous/kv.h"
#include "wire/http.h"

struct agent_conn;
struct fs_set;
struct master;
struct platform_events;
struct results;
struct spec_file;
struct task;

/* A copy of what the master knows, from which another one can go on: of the events log, and of the
 * key-value store. */
struct copy_ops {
    /* As on_reply and on_change in struct kv_events. An answer may wait until the copy has what it
     * tells; outbox_reply() sends it. */
    void (*reply)(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n);
    void (*change)(void *user, const struct kv_change *c);
    /* When answers do not wait any longer; master_now(), INT64_MAX: none waits. */
    int64_t (*deadline)(const struct master *m);
    void (*on_time)(struct master *m);
    /* The journal has what the engine said, and the engine is at rest. */
    void (*look)(struct master *m);
    /* Has it so many bytes of the journal? The second is true, too, when there is no use in
     * waiting. The driver is woken once they may be there. */
    bool (*has)(const struct master *m, uint64_t bytes);
    bool (*holds)(const struct master *m, uint64_t bytes);
    /* Copies what is left, and ends; negative: not all of it is there. Fibers only. */
    int (*end)(struct master *m, int64_t deadline);
};

/* Whose output is not known to be saved. */
struct owed_ops {
    /* A task has started on an agent, so that it may have written something there. */
    void (*started)(struct master *m, const struct agent_conn *a, uint32_t task, uint32_t attempt);
    /* What an agent says that it saved, or could not save. True: it is about output of tasks, of
     * which the end will tell. */
    bool (*saved)(struct agent_conn *a, const Agent__Saved *s);
    void (*left)(struct master *m,
                 uint32_t agent); /* in order: it has saved what it did not name */
    void (*lost)(struct master *m, uint32_t agent, const char *why);
    bool (*owes)(const struct master *m, uint32_t agent);
    void (*put)(struct master *m, uint32_t agent,
                struct event *e);   /* a record of the agent says it */
    void (*tell)(struct master *m); /* the end */
};

/* Names by which tasks reach each other. */
#define NAMES_TEXT 256
struct names_ops {
    /* A task is prepared. True when its name is to be known first: inbox_prepared() follows then.
     */
    bool (*hold)(struct agent_conn *a, uint32_t task, const uint16_t *ports, unsigned n);
    /* It is to be prepared once more: a report that is held is dropped. */
    void (*again)(struct master *m, uint32_t task);
    /* A generation is about to be formed: are all tasks known by names? Tells the engine. */
    void (*decide)(struct master *m);
    /* What others reach a task by: its name, written to `out`, or `number`. */
    const char *(*host)(const struct master *m, const struct task *t, const char *number,
                        char out[NAMES_TEXT]);
    /* Adds where the job itself is found to its status. */
    int (*add_status)(const struct master *m, json_t *status, struct err *err);
};

struct master_ops {
    /* Another master goes on when this one is ended before the job is. */
    bool followed;
    /* The job's files are in place before an agent is there. */
    bool files_in_place;
    const struct copy_ops *copy;
    const struct owed_ops *owed;
    const struct names_ops *names;

    /* ---- the start, in this order ---- */
    /* The job's key, and whether agents come over TLS (m->key, m->tls). */
    int (*prepare)(struct master *m, struct err *err);
    int (*read_past)(struct master *m, struct err *err); /* of masters before us. Fibers only */
    /* Where agents come; then, once they may, tells them of it. *ret_address is the caller's. */
    int (*listen)(struct master *m, int *ret_fd, char **ret_address, struct err *err);
    int (*publish)(struct master *m, const char *address, struct err *err);
    /* Where the API listens and who may ask: sets what the server needs for that. */
    int (*listen_api)(struct master *m, struct http_server_options *o, struct err *err);
    int (*start_platform)(struct master *m, const struct platform_events *on, struct err *err);
    /* The first records, or those of the masters before us: 1 when the job goes on from there, 0
     * when it begins here. Fibers only. */
    int (*begin)(struct master *m, struct err *err);
    int (*start)(struct master *m, struct err *err);      /* what runs beside the driver */
    int (*servers_up)(struct master *m, struct err *err); /* the same; servers that last listen */
    int64_t (*submitted)(const struct master *m); /* wall clock; 0: nobody waits for a master */

    /* ---- agents and tasks ---- */
    const char *(*host)(const struct master *m); /* where tasks reach servers of ours */
    const char *const *(*inherited)(void);       /* environment that plans build on */
    int (*welcome)(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                   Agent__JobFacts *facts); /* what an agent is told first; -ENOMEM */
    void (*agent_up)(struct agent_conn *a); /* … and what comes next */
    /* Is a connection of this job's? The second may ask agents. Fibers only; `user` is the master.
     */
    bool (*own_peer)(void *user, int fd);
    bool (*own_peer_asked)(void *user, int fd);

    /* ---- results ---- */
    /* Do agents have to copy something when the job has ended? */
    bool (*results_wanted)(const struct master *m);
    int (*results)(const struct master *m, struct results *r); /* which; -ENOMEM */
    /* Results for `to` (NULL: any) that wait in a place of ours: where they are when they cannot be
     * saved. NULL: they lie where the job's tasks made them. */
    const char *(*results_waiting)(const struct master *m, const char *to);
    void (*nobody_saves)(struct master *m); /* no agent is left that could */
    /* Where an output of the job is in the end, as model_publish() takes it; NULL: all of $YDL_OUT.
     * *ret is the caller's. */
    int (*result_place)(struct master *m, const struct spec_file *f, char **ret, struct err *err);
    /* Files here, and on the cluster if `uri` is there. *ret is the caller's until files_close().
     * Fibers only. */
    int (*files_open)(struct master *m, const char *uri, struct fs_set **ret, struct err *err);
    void (*files_close)(struct master *m, struct fs_set *set);
    /* Before what only one master may do: waits while it is unknown whether another one has the
     * job. Negative where one has, or we are to end. Fibers only. */
    int (*alone)(struct master *m, struct err *err);

    /* ---- requests ---- */
    int (*join_address)(struct master *m, const char **ret, struct err *err); /* borrowed */
    int (*put_tokens)(struct master *m, struct http_call *c, struct err *err);

    /* ---- the end ---- */
    /* Called by the driver alone; negative: the driver ends, and tells no end of the job. */
    int (*on_signal)(struct master *m, struct err *err);
    int (*given_up)(struct master *m, struct err *err);     /* m->over */
    int (*right_to_end)(struct master *m, struct err *err); /* before the end of the job is told */
    /* Taking the master apart, in this order. Fibers only. */
    void (*end)(struct master *m);   /* what runs beside the driver is to end … */
    void (*stop)(struct master *m);  /* … and has ended */
    void (*leave)(struct master *m); /* the last word, unless another master goes on (m->left) */
    void (*close)(struct master *m); /* nobody is heard any more */
    void (*free)(struct master *m);
};

/* ---- master_ops.c: nothing to do ---- */
extern const struct copy_ops master_no_copy; /* no master comes after this one */
extern const struct owed_ops master_no_owed; /* output is where tasks put it */
extern const struct names_ops master_no_names;
int master_do_nothing(struct master *m, struct err *err);
void master_no_action(struct master *m);
