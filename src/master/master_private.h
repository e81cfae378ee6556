/* master_private.h - the parts of a master and what they share. Loop thread only.
 *
 *     agents  ──ToMaster──► inbox ──► engine ──► drive ──► outbox ──ToAgent──► agents
 *                                        │                    platform (ask, release)
 *                                        └──► journal ──► api (events, status)
 *     agents  ──Output────► hub ──► api (logs, attach)
 */
#pragma once
#include "agent.pb-c.h"
#include "framework/framework.h"
#include "framework/plan/plan.h"
#include "job/agent_log.h"
#include "job/blacklist.h"
#include "job/engine/engine.h"
#include "job/history.h"
#include "job/protocol.h"
#include "loop/fiber.h"
#include "master/agents.h"
#include "master/master.h"
#include "master/yarn/kvlog.h"
#include "master/yarn/log_summary.h"
#include "master/yarn/master_container.h"
#include "platform/local/local_platform.h"
#include "platform/yarn/yarn_platform.h"
#include "rendezvous/kv.h"
#include "rendezvous/rendezvous.h"
#include "wire/admission.h"
#include "wire/channel.h"
#include "wire/http.h"

#define MASTER_API_TASK UINT32_MAX /* who asks the store over HTTP */
#define MASTER_SERVERS 4           /* kinds of rendezvous servers with a port */

/* Numbers of tasks that go out together. */
struct numbers {
    uint32_t *v;
    size_t n, cap;
};
int numbers_add(struct numbers *l, uint32_t id);

/* Which agent it is, as its Hello says. */
enum agent_coming {
    AGENT_NEW,
    AGENT_RESTARTED, /* the one before it, in the same container, has died */
    AGENT_BACK,      /* had lost its connection, to us or to a master before us */
};

struct agent_conn { /* an agent, from its grant to its loss */
    struct master *master;
    uint32_t number;
    struct channel *channel; /* NULL while it is not connected */
    char host[64], node[128];
    char *container; /* its name; also when that is gone. NULL: it has none, or none yet */
    char ip[64]; /* where its connection comes from; empty before the first, and on a Unix socket */
    int64_t heard; /* loop time of its last message */
    uint64_t ping;
    struct numbers prepare, start, stop, drop;
    int64_t stop_grace;  /* of everything in `stop` */
    uint64_t credit_due; /* bytes of output that were delivered and may come again */
    uint64_t spec_sent;  /* which specification it has (cluster_id); 0: none */
    bool queued, lost, credited;
    bool start_waits;  /* outbox_pace.c */
    bool leaving;      /* was told to */
    bool asked;        /* was told that the job has ended, and to save what its tasks left */
    bool saved;        /* … and has done so */
    bool output_saved; /* what its tasks wrote is: no task starts there any more */
    bool adopted;      /* of an earlier master's, and not here yet */
    bool described;    /* the cluster's description borrows its host and node */
    bool used;         /* agents_forget() */
    unsigned readers;  /* connections that still have it */
    bool knows_owners; /* of sockets on its machine: own_peer.c */
    enum agent_coming comes;
};

/* Lines for who looks at the job now: the last ones, in memory alone. */
struct live {
    struct buf lines;
    uint64_t begin; /* the first byte's number, of all that there were */
};

struct slot_info {
    uint32_t agent; /* 0: none */
    int64_t asked;  /* when it was asked for, and has not been served; 0: nothing is wanted */
    uint32_t *gpus;
    size_t n_gpus;
    /* Its container is gone, and its agent, which is not, ends its tasks (lost.c). */
    int64_t lost_until; /* the engine hears of it then; 0: it is not so */
    uint32_t living;    /* tasks that have not ended yet */
    enum fail_class lost_as;
    char *lost_why;
};

/* The events log: a file that is appended to, and who waits for more. */
struct journal {
    int fd;
    uint64_t size;     /* bytes in it: of the file, and held behind it */
    uint64_t in_file;  /* whole records that are written */
    uint64_t reserved; /* the disk has room for the file up to here */
    struct buf held;   /* what could not be written yet */
    unsigned round;    /* how often it began anew */
    struct cond grown;
    int failed;           /* why it cannot be written at the moment: the job goes on */
    uint64_t lost;        /* appends for which there was no room in memory either */
    bool last;            /* nothing but the last records is to come */
    uint64_t passed_over; /* records before this byte that are too long have been warned of */
};

struct master {
    struct loop *loop;
    const struct master_options *opt;
    struct spec spec;
    const struct framework *framework;
    struct engine *engine;
    struct platform *platform;
    struct kv *kv;
    struct history *history;
    struct blacklist *avoid; /* nodes on which things fail */
    uint64_t history_at;     /* bytes of the journal that it has seen */
    bool catching_up;        /* somebody is showing it the rest */
    struct journal journal;
    struct live live;
    unsigned watchers; /* who read events as they come */
    char *log_dir, *cwd, *out_dir, *name, *user, *host_name, *join_file, *agents_path;
    char *journal_path, *log_path, *state_dir, *work_dir;
    struct local_options local;
    struct yarn_options yarn;
    struct stream_key key;
    struct fiber *watcher, *client_watcher;
    int64_t wall, mono; /* the two clocks at the start */
    int64_t phases[2];  /* when the user's command began, and when all was uploaded; 0: unknown */

    struct agent_conn **agents; /* that there are, in the order of their numbers */
    struct slot_info *slots;
    uint32_t n_agents, cap_agents, n_slots;
    uint32_t n_lost;            /* slots whose loss the engine has not heard of */
    struct admission *listener; /* where agents come */
    struct group readers;       /* of what they say now */
    struct stream_tls *agents_tls;

    struct cluster cluster;
    struct cluster_task *cluster_tasks; /* storage of all roles */
    struct strs cluster_hosts;          /* names in it, when tasks have some */
    char *cluster_text;                 /* what YDL_SPEC's file says */
    uint64_t cluster_id;                /* which text that is; from 1 on */
    struct plan_cache *plan_cache;
    struct rendezvous *servers[MASTER_SERVERS];
    struct rendezvous_options server_options;

    struct http_server *api;
    unsigned n_passed; /* requests that are being handed on to TensorBoard */
    struct page *page; /* on YARN: what the tracking URL leads to */
    char *page_url;
    struct mirror *mirror; /* on YARN: the journal's copy in HDFS */
    struct summary summary;
    uint64_t recovered;        /* bytes of the journal that the masters before us wrote */
    struct journal kv_journal; /* what changes in the store, … */
    struct mirror *kv_mirror;  /* … and its copy; NULL: nothing has */
    uint64_t kv_log_max;       /* bytes of that journal; 0: the usual */
    uint64_t kv_log_base;      /* of which everything took so many when it last began */
    struct held_answers kv_held;
    unsigned late_notes; /* how often a barrier was told to be late, in this generation */
    struct keytab_watch *keytab_watch;
    struct run_dir *run_dir;   /* on this machine: keeps RUN as it is */
    struct enrolled *enrolled; /* on YARN: the job in YARN's registry; NULL: there is none */
    struct fiber *announcer;
    struct outputs *outputs;      /* on YARN: whose output is not in HDFS yet; NULL: nobody's */
    struct recovery *recovery;    /* what earlier masters left, until it is taken over */
    struct kv_wait *kv_waits;     /* requests to the store over HTTP */
    unsigned n_asking, n_logging; /* requests over HTTP that wait for the log; … for its end */
    bool log_ended, log_kept;     /* it has ended; all of it is in HDFS */
    uint64_t told;                /* how often the journal got what the engine had said */
    struct cond logged;           /* … and HDFS */
    uint64_t kv_last_id;
    struct feed *feeds; /* by task: what is known of its output */
    struct follower *followers;
    uint64_t last_mark;  /* of a question how much there is */
    struct usage *usage; /* by task: what it uses */
    uint32_t n_feeds, n_usage;
    struct own_question *own_questions; /* whose connections are, asked of agents */
    uint64_t last_own_question;
    int64_t own_ask_ms; /* how long they may take together; 0: as own_peer.c says */
    struct cond measured;
    struct cond work, followers_left;
    struct numbers busy;     /* agents with something to be sent */
    struct numbers starting; /* agents whose Start waits for its turn */
    int64_t save_until;      /* all tasks have ended, agents save what they left; 0: not yet */
    int64_t ask_by;          /* … and are asked to when HDFS has the record of it, or then … */
    uint64_t ask_behind;     /* … which ends here in the journal */
    char *unsaved;           /* why not all that tasks left could be saved, first of all; or NULL */
    int64_t no_rival_at;     /* HDFS named no later master, in a look that began then */
    int api_port;            /* on YARN */

    bool images_by_platform; /* containers are made of images; otherwise agents run those */
    bool attached;           /* the job is stopped when its client goes */
    bool tls;                /* the agent channel is TCP with TLS: as on a cluster */
    bool interrupted, client_gone;
    unsigned clients; /* connections of the client that the job is attached to */
    bool kv_unlogged; /* what changes in the store cannot be written down */
    bool ended;
    bool starter; /* somebody sends to them */
    bool hung_up; /* agents are not listened to any more */
    bool over;    /* YARN has ended the application: there is no time for anything */
    bool left;    /* a new master takes over: nothing is ended and nothing removed */
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

/* ---- tell.c ---- */
#define MASTER_FAULT_EXIT 70 /* a fault of ours */
/* What the engine has said goes into the journal and to the readers. */
void tell_events(struct master *m);
/* The last record, behind everything else that is told of the job. */
void tell_end(struct master *m);

/* ---- journal.c ---- */
int journal_open(struct journal *j, const char *path, struct err *err);
/* Writes what is held, if need be in the reserve; at least the last record. */
void journal_close(struct journal *j);
void journal_done(struct journal *j); /* closes it too */
/* Appends whole records and wakes the readers. On a full disk they are held, up to a limit: -ENOSPC
 * when they are lost. */
int journal_append(struct journal *j, const void *p, size_t n);
int journal_retry(struct journal *j); /* writes what is held; negative: it still cannot be */
void journal_last(struct journal *j); /* from now on only the last records come: they fit */
/* Bytes from `at` on, as many as fit; 0 at the end. */
ssize_t journal_read(const struct journal *j, uint64_t at, void *p, size_t n);
/* Whole records of the events log from *at on, which goes on behind them: how many bytes of `p`
 * (whose memory is used again and grows as far as a record needs), 0 at the end, negative when it
 * cannot be read. Records of more than EVENT_LINE_MAX bytes are passed over, each with one warning.
 */
#define JOURNAL_LINES_MAX (EVENT_LINE_MAX + 1)
ssize_t journal_lines(struct journal *j, uint64_t *at, struct buf *p);
void journal_restart(struct journal *j); /* it begins anew, empty */

/* ---- live_lines.c ---- */
void live_take(struct master *m); /* what the engine has of them */
uint64_t live_end(const struct live *l);
/* Whole lines from *at on into `p`, which is empty when there are none; *at goes on behind them.
 * Who is too late for some misses them. */
int live_read(const struct live *l, uint64_t *at, struct buf *p);

/* ---- log_segments.c ---- */
struct parts { /* files of one log in a directory of HDFS; borrowed */
    const char *dir, *head, *tail;
};
char *parts_name(const struct parts *p, int attempt, unsigned number); /* NULL: out of memory */
/* Calls `fn` for each file that is not empty of the masters before us, in their order, with all
 * that is in it. Fibers only. */
typedef int parts_fn(void *arg, const struct buf *part, struct err *err);
int parts_read(struct master *m, const struct parts *p, parts_fn *fn, void *arg, struct err *err);
/* The same line by line, reading as it goes (fs_lines() in hadoop/fs/fs.h), from the last file on
 * that begins with a whole summary. */
int parts_lines(struct master *m, const struct parts *p, fs_line_fn *fn, void *arg,
                struct err *err);

/* ---- log_mirror.c ---- */
int mirror_start(struct master *m, struct err *err);
/* Copies what is left and ends, at `deadline` at the latest: negative when the end of the events
 * log is not there. Fibers only. */
int mirror_stop(struct master *m, int64_t deadline);
/* Is the events log there, up to here? True without a copy. The driver is woken once it may be. */
bool mirror_has(const struct master *m, uint64_t bytes);
int64_t mirror_away(const struct master *m); /* since when HDFS fails, loop's clock; 0: it works */
/* The same of another journal; mirror_stop() ends it too. */
struct mirror_options {
    struct parts parts;
    struct journal *journal;
    const char *what;                    /* for messages */
    uint64_t from;                       /* bytes of the journal that are there already */
    int64_t pause;                       /* ms; what comes within is one write */
    void (*on_copied)(struct master *m); /* may be NULL: it holds more, or cannot at the moment */
    struct summary *summary;             /* a file begins with it, when there is one; NULL: never */
};
int mirror_begin(struct master *m, const struct mirror_options *o, struct mirror **ret,
                 struct err *err);
/* Does it hold that much of the journal as it was in `round`? True, too, when there is no use in
 * waiting: without a copy, at its end, and while HDFS takes nothing. */
bool mirror_holds(const struct mirror *x, unsigned round, uint64_t bytes);

/* ---- master_leave.c ---- */
/* Everything is said and in its place: the ResourceManager may forget us. Fibers only. */
void leave_yarn(struct master *m);
/* In so many ms, but not after the end's one deadline (spec.save_time), which leaves a few s. */
int64_t leave_by(const struct master *m, int64_t ms);

/* ---- job_page_http.c ---- */
int page_start(struct master *m, struct err *err); /* sets m->page_url */
void page_find_proxies(struct master *m);          /* until then nobody may look. Fibers only */
void page_stop(struct master *m);

/* ---- tensorboard_proxy.c ---- */
/* Where it is, or NULL when none runs; *ret is the caller's. */
int tensorboard_url(struct master *m, char **ret, struct err *err);
/* Hands a request for /tensorboard/… on to it, and its answer back. Fibers only. */
int tensorboard_pass(struct master *m, struct http_call *c, struct err *err);

/* ---- inbox.c ---- */
/* What one message means. A negative result ends the agent's connection. */
int inbox_message(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err);
/* A task is prepared, and stands in the registry if it is to: the engine hears it, if it is so
 * still. */
int inbox_prepared(struct agent_conn *a, uint32_t task, const uint16_t *ports, unsigned n,
                   struct err *err);

/* What an agent has that comes back, by its Hello. */
int inbox_held(struct agent_conn *a, const Agent__Hello *h, struct err *err);

/* ---- recover.c ---- */
/* Takes a job over from the masters before us: reads what they wrote, and makes engine, journal,
 * slots and agents what they were. 1 when there was something, 0 when the job begins here. The
 * platform has just been made. Fibers only. */
int recover_job(struct master *m, struct err *err);
const struct agent_log *recover_agents(const struct master *m); /* between the two */
/* Reads the log; before the platform is made. */
int recover_read(struct master *m, struct err *err);
void recover_done(struct master *m); /* what was read is not needed any more */

/* ---- outbox.c ---- */
int outbox_prepare(struct master *m, uint32_t task, struct err *err);
int outbox_start(struct master *m, uint32_t task, struct err *err);
int outbox_stop(struct master *m, uint32_t task, int64_t grace, struct err *err);
int outbox_drop(struct master *m, uint32_t task, struct err *err);
void outbox_flush(struct master *m); /* sends what the calls above collected */
int outbox_welcome(struct agent_conn *a, struct err *err);
/* Do agents have to copy something when the job has ended? On this machine only what is not to stay
 * where tasks put it. */
bool results_wanted(const struct master *m);
/* Results for `to` that wait in a place of ours: where they are when they cannot be saved. NULL:
 * they lie where the job's tasks made them. */
const char *results_waiting(const struct master *m, const char *to);
typedef void outbox_sender(struct agent_conn *a, Agent__ToAgent *msg);
/* A task that cannot be planned, or told to its agent, has failed like one whose command is
 * missing: nobody else would say so. */
int outbox_fail(struct master *m, uint32_t id, const struct err *why, struct err *err);
/* The Start messages of an agent (outbox_start.c). */
int outbox_send_start(struct agent_conn *a, outbox_sender *send, struct err *err);
void outbox_send(struct agent_conn *a, Agent__ToAgent *msg); /* one message, now */
/* As in struct kv_events. */
void outbox_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n);

/* ---- outbox_pace.c ---- */
void outbox_start_later(struct agent_conn *a);  /* its Start goes out, now or when there is room */
void outbox_start_first(struct agent_conn *a);  /* now, if it has to come before something else */
void outbox_start_forget(struct agent_conn *a); /* what waits is sent no more */

/* ---- own_peer.c ---- */
/* Is the connection of this job's? The second asks the agents of its machine. */
bool own_peer(void *user, int fd);       /* `user` is the master */
bool own_peer_asked(void *user, int fd); /* fibers only */
void own_peer_answer(struct agent_conn *a, const Agent__Owner *m);
void own_peer_hung_up(struct agent_conn *a);

/* ---- form.c ---- */
/* The cluster specification and the servers of the engine's generation. */
int form_generation(struct master *m, struct err *err);
/* The same for a generation that ran under the master before us: what it has in the store stays. */
int form_resume(struct master *m, struct err *err);
/* A task that joins or moved alone, in a running generation: the specification is made anew for
 * whoever starts from now on. */
int form_include(struct master *m, uint32_t task, struct err *err);
/* The same for all when the running generation has gained or lost tasks. */
int form_follow(struct master *m, struct err *err);
/* Tasks in its role as its generation knows them; 0: it is none of them any more. */
unsigned form_role_size(const struct master *m, const struct task *t);
/* Servers that belong to no generation: before anybody is told of them. */
int form_begin(struct master *m, struct err *err);
/* Is it part of the generation that runs, and where the specification says? */
bool form_has(const struct master *m, const struct task *t);
/* Where the framework's server listens; *ret_port is 0 without one. Borrowed. */
const char *form_server(const struct master *m, int *ret_port);
void form_done(struct master *m);
/* The plan that the tasks of this generation follow. */
struct plan form_plan(const struct master *m, uint32_t attempt);

/* ---- drive.c ---- */
/* Until the end; one that was taken over has begun already. */
int drive_job(struct master *m, bool begun, struct err *err);
int drive_set_slot(struct master *m, uint32_t slot, uint32_t agent, struct err *err);
/* The engine hears that a slot's container is lost. */
void drive_lost(struct master *m, uint32_t slot, enum fail_class cls, const char *text);
extern const struct platform_events drive_platform_events; /* .user is set by the master */
extern const struct kv_events drive_kv_events;

/* ---- lost.c ---- */
/* Does the engine hear of this loss later, by drive_lost()? Its agent has been told to leave. */
bool lost_waits(struct master *m, uint32_t slot, enum fail_class cls, const char *text);
void lost_forget(struct master *m, uint32_t slot); /* it is told, or the slot is another's */
/* What an agent says whose container is lost, and when it says no more. */
void lost_task_ended(struct agent_conn *a, const struct task *t, uint32_t attempt);
void lost_hung_up(struct agent_conn *a);
int64_t lost_deadline(const struct master *m); /* INT64_MAX: none */
void lost_on_time(struct master *m);

/* ---- node_faults.c ---- */
/* Something failed on this node; when that happens too often, it is avoided. */
void node_faults_node(struct master *m, const char *node, enum fail_class cls);
/* When a node may have to be let off, as asks are not served; INT64_MAX: not at all. */
int64_t node_faults_deadline(const struct master *m);
void node_faults_on_time(struct master *m);
/* One note of an earlier master's log, parsed; later, when there is a platform: tells it. */
int node_faults_restore(struct master *m, const json_t *note);
void node_faults_resume(struct master *m);

/* ---- hub.c ---- */
struct follower; /* one reader of output and events */
struct follow_options {
    const char *tasks; /* "worker:1,ps" ; NULL: all */
    bool out, err, events, logs, follow, stop_when_gone;
    bool plain;        /* what was written and nothing else: for one stream of one task */
    uint64_t tail;     /* only so many bytes of its end, for who does not follow; 0: all */
    int64_t silent_ms; /* for an agent that sends nothing to who does not follow; 0: 3 s */
};
/* Streams to `c` until the job has ended and everything was sent, or the client goes. */
int hub_stream(struct master *m, struct http_call *c, const struct follow_options *o,
               struct err *err);
void hub_output(struct agent_conn *a, const Agent__OutputPiece *piece);
void hub_task_started(struct master *m, uint32_t task);
/* The same for one that its agent has. */
void hub_task_held(struct master *m, const Agent__HeldTask *h);
/* Before hub_task_started(): what the agent says of the task's files there. */
void hub_task_place(struct master *m, const Agent__StartedTask *s);
/* What a task that is being prepared has written in other places. */
void hub_base(const struct master *m, uint32_t task, uint64_t *ret_out, uint64_t *ret_err);
/* The start, counted from 1, that its file there begins with; 0: the one that comes. */
uint32_t hub_began(const struct master *m, uint32_t task);
/* An agent's connection is a new one: readers of its tasks go on where they were. */
void hub_follow_again(struct agent_conn *a);
/* It has ended, having written so much in all. */
void hub_task_ended(struct master *m, uint32_t task, uint64_t out_bytes, uint64_t err_bytes);
/* Its agent is gone: what it could not send is read from the files. */
void hub_task_lost(struct master *m, uint32_t task);
void hub_wake(struct master *m); /* there are new events */
/* Waits until the readers have everything, for as long as they go on reading. */
void hub_drain(struct master *m);
void hub_done(struct master *m);

/* ---- api.c ---- */
int api_start(struct master *m, struct err *err);
/* Another master goes on (m->left): nobody is heard any more, and who waits for an answer is told
 * so, unless our log has what was asked for. Comes before mirror_stop(). Fibers only. */
void api_hand_over(struct master *m);
void api_handed_over(struct master *m, bool log_kept); /* … and then this; kept: HDFS has it all */
/* The client that the job is attached to has gone: the job is stopped. */
void api_client_gone(struct master *m);
/* The store's answer to a request over HTTP. */
void api_kv_reply(struct master *m, uint64_t id, const struct kv_word *words, size_t n);
int api_status(struct master *m, bool tasks, json_t **ret, struct err *err);

/* ---- exports.c ---- */
/* What tasks publish now, of one group or (NULL) of all: doc/reference/api.md. -ENOENT: no such
 * group. */
int exports_json(struct master *m, const char *group, json_t **ret, struct err *err);
/* "container_…", or a name of our own where containers have none; NULL: out of memory. */
char *exports_container(struct master *m, const struct task *t);
#define EXPORTS_TIME 32
const char *exports_time(int64_t when, char out[EXPORTS_TIME]); /* as Java prints a date */

/* ---- slider_documents.c ---- */
/* What Slider's master would say at a path below /ws/v1/slider; `user` is the master. */
int documents_get(void *user, const char *path, json_t **ret, struct err *err);

/* ---- usage.c ---- */
int signal_request_put(struct master *m, struct http_call *c, struct err *err);

int usage_set(struct master *m, const Agent__TaskUsage *u); /* -ENOMEM */
/* Asks agents what their tasks use, and waits a moment for the first numbers. Fibers only. */
int usage_wait(struct master *m, struct err *err);
/* Adds "cpu" and "memory" to the tasks of a status document of which they are known. */
int usage_add(struct master *m, json_t *status, struct err *err);
void usage_done(struct master *m);

/* ---- master_tokens.c ---- */
/* Newer tokens from who has the job's key, for us, our agents and containers to come. */
int tokens_put(struct master *m, struct http_call *c, struct err *err);
/* The same with those that are here already. */
int tokens_use(struct master *m, const struct credentials *newer, size_t *ret_n, struct err *err);
/* What has come since the start, to one that may not have it. */
void tokens_tell(struct agent_conn *a);

/* ---- keytab_watch.c ---- */
int keytab_watch_start(struct master *m, struct err *err); /* nothing without a keytab */
void keytab_watch_stop(struct master *m);

/* ---- run_dir.c ---- */
int run_dir_start(struct master *m, struct err *err); /* once its sockets and files are there */
void run_dir_stop(struct master *m);

/* ---- spec_formats.c ---- */
/* The specification in a format of `ydl spec`: hosts, env, tf. */
int specs_render(const struct cluster *c, const char *format, struct buf *out, struct err *err);
