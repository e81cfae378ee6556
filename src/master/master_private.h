/* master_private.h - the parts of a master and what they share. Loop thread only.
 *
 *     agents  ──ToMaster──► inbox ──► engine ──► drive ──► outbox ──ToAgent──► agents
 *                                        │                    platform (ask, release)
 *                                        └──► journal ──► api (events, status)
 *     agents  ──Output────► hub ──► api (logs, attach)
 */
#pragma once
#include "framework/framework.h"
#include "job/blacklist.h"
#include "job/protocol.h"
#include "master/agents.h"
#include "master/api/api.h"
#include "master/api/hub.h"
#include "master/client_watch.h"
#include "master/drive.h"
#include "master/form.h"
#include "master/journal.h"
#include "master/live_lines.h"
#include "master/master.h"
#include "master/master_ops.h"
#include "master/outbox.h"
#include "master/own_peer.h"
#include "master/publish_output.h"
#include "wire/admission.h"
#include "wire/channel.h"

#define MASTER_API_TASK UINT32_MAX /* who asks the store over HTTP */

/* What the job's submitter says of it. */
struct job_facts {
    char *name, *user, *cwd, *out_dir;
    int64_t created;   /* when it was submitted; 0: unknown */
    int64_t phases[2]; /* when the user's command began, and when all was uploaded; 0: unknown */
};

struct master_paths {
    char *logs, *work;   /* directories of its tasks' output, and for them to run in */
    char *journal, *log; /* the events log; our own */
    char *join, *agents; /* where agents on this machine find us */
};

/* Each part is its file's; what stands in it is changed there, and read by others. */
struct master {
    struct loop *loop;
    const struct master_options *opt;
    const struct master_ops *ops; /* what is different on a cluster and on one machine … */
    void *side;                   /* … and what these hooks keep */
    struct spec spec;
    const struct framework *framework;
    struct job_facts facts;
    struct master_paths paths;
    char *host_name;
    struct stream_key key;
    int64_t wall, mono; /* the two clocks at the start */

    struct engine *engine;
    struct platform *platform;
    struct kv *kv;
    struct blacklist *avoid; /* nodes on which things fail */
    struct journal journal;
    struct live live;
    struct agents agents;
    struct fiber *watcher; /* of these */
    struct outbox outbox;
    struct own_peers own_peers;
    struct slots slots;
    struct leaving leaving; /* nodes that are taken away */
    struct form form;
    struct saving save;
    struct publish_output publish;
    struct client client; /* that the job is attached to */
    struct api api;
    struct job_status status;
    struct usage_table usage;
    struct hub *hub;

    struct cond work;        /* the driver has something to look at */
    bool tls;                /* the agent channel is TCP with TLS: as on a cluster */
    bool images_by_platform; /* containers are made of images; otherwise agents run those */
    bool interrupted;
    bool ended;
    bool over; /* the platform has ended us: there is no time for anything */
    bool left; /* a new master takes over: nothing is ended and nothing removed */
};

int64_t master_now(const struct master *m); /* ms since 1970, never backwards */
void master_wake(struct master *m);         /* the driver has something to look at */
/* A sentence for people in the events log. */
void master_note(struct master *m, const char *text);
/* The same for results that are not where the job wanted them: its exit code says so too. */
void master_unsaved(struct master *m, const char *text);
/* How far the start has come, and who was waited for until then. */
void master_phase(struct master *m, const char *name, const char *who);
void master_phase_at(struct master *m, const char *name, const char *who, int64_t when);
/* A fault of ours that the job survives: logged, and noted in the events. */
void master_fault(struct master *m, const struct err *err);

/* In so many ms, but not after the end's one deadline (spec.save_time), which leaves a few s. */
int64_t master_end_by(const struct master *m, int64_t ms);

/* ---- tell.c ---- */
/* What the log says of the job, first and in each summary. */
struct engine_facts master_facts(const struct master *m);
/* The record that history begins with: what is known before anything happens. */
int master_created(struct master *m, struct err *err);
#define MASTER_FAULT_EXIT 70 /* a fault of ours */
/* What the engine has said goes into the journal and to the readers. */
void tell_events(struct master *m);
/* The last record, behind everything else that is told of the job. */
void tell_end(struct master *m);
