/* agent_private.h - what the parts of the agent share: its tasks, and what each part offers.
 *
 * A task stays in memory from its first Prepare until the agent leaves, so that fibers and timers
 * may hold on to it. Everything runs on the loop's thread. */
#pragma once
#include "agent.pb-c.h"
#include "agent/agent.h"
#include "agent/agent_container.h"
#include "agent/environ.h"
#include "agent/link/join.h"
#include "agent/socket/kvline.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/ports.h"
#include "agent/tasks/process_tree.h"
#include "agent/tasks/spawn.h"
#include "base/rotate.h"
#include "base/str.h"
#include "job/event.h"
#include "loop/fiber.h"
#include "platform/platform.h"
#include "wire/channel.h"
#include <uv.h>

#define AGENT_TASKS_TOP 65536 /* no job has a task of this number */
#define AGENT_PORTS_MAX 4     /* of one task */
#define AGENT_LINES 20        /* last lines of an ended task, when the master does not say */
#define AGENT_LINES_BYTES (4 * KIB)

enum phase {
    PHASE_IDLE,     /* not started, or ended and told */
    PHASE_STARTING, /* a Start has come, its turn has not */
    PHASE_RUNNING,
    PHASE_SWEEPING, /* its process has ended, what it left behind is being ended */
};

struct stream_out { /* one of a task's output files */
    char *path;
    struct rotate cut; /* … and what was cut off from its beginning */
    int64_t cut_after; /* loop's clock: not to be tried before */
    uint64_t sent;     /* bytes that the master has, or does not want */
    int wd;            /* inotify's number; -1: not watched */
    bool dirty, told;  /* may have grown; its end was sent */
    int kept;          /* in a container: open for reading, see output_kept.c; -1: not */
    bool gone;         /* what was written before was removed, or its pieces are not known */
    uint64_t mark;     /* to be sent back with the file's length; 0: none */
};

struct task_use { /* for measure.c's own use */
    uint64_t memory, ticks, before;
    int64_t at;
    pid_t pid;
};

struct agent_task {
    struct agent *agent;
    uint32_t id;
    enum phase phase;
    char *name, *label; /* "worker:3"; the same as a file name: "worker-3" */

    /* What Prepare said. */
    struct port ports[AGENT_PORTS_MAX];
    size_t n_ports;
    uint64_t memory;
    char *gpus;                    /* as a program counts those that it can see; "" for none */
    char *scratch, *socket, *work; /* how its files begin; YDL_SOCKET; where it runs */
    char *out;                     /* YDL_OUT, when that is ours to say; else NULL */
    uint32_t slot, cpus;
    struct kvsock *sock;
    char *image; /* the container image that we run it in; NULL: none. docker.c */
    struct strs mounts, docker_vars;
    bool share_ports;
    bool memory_shared; /* with the other tasks of its slot */
    bool gpus_unknown;  /* it was given some of a kind that we cannot name */

    /* What Start said, and what came of it. */
    bool wants_error_file;
    bool prepared, tried; /* its directory is there; a start of it was tried before */
    bool ready;           /* passed its readiness check */
    uint32_t generation, attempt, rank, world;
    pid_t pid;              /* also its session and group; 0 before the first start */
    int status;             /* as waitpid gives it */
    uint64_t began;         /* in ticks since boot */
    int64_t when_ended;     /* ms since 1970; 0: not yet */
    int64_t started, ended; /* loop's clock, which nobody sets */
    uint64_t peak, used;    /* bytes of memory: the most so far, and at the last look */
    uint64_t log_start[2];  /* how long its output files were before */
    uint64_t log_base[2];   /* what it had written elsewhere, before it came here */
    uint32_t log_began;     /* the start, counted from 1, that its files begin with; 0: none yet */
    struct task_use use;
    struct cgroup cgroup;
    struct fiber *probe, *pmi;
    uint8_t *end; /* the Exited of its last end, packed, as resync.c says; or NULL */
    size_t end_len;
    struct kvconn *conns; /* open connections to its socket */
    size_t n_conns;

    /* Why we end it, when we do. */
    enum fail_class why;
    int abort_code; /* what it wants to have ended with (pmi.c); 0: it does not say */
    char *why_text;
    int64_t hung_up; /* when its container was given up; 0: not */
    int64_t kill_at; /* loop's clock; LOOP_NEVER: not planned */
    int64_t sweep_until;
    bool stopping, killed;
    bool asked;              /* it was to end before it did */
    bool marked, dirty;      /* for reap.c's own use */
    bool cleaning;           /* its container is being removed */
    bool has_stop, has_work; /* files of its own that are there */
    bool removing;           /* its directory, see tree_remove.c */

    bool followed;
    struct stream_out streams[2]; /* output and error */
};

/* A process of ours that is no task (tar). */
struct helper {
    pid_t pid;
    int status;
    bool ended;
    struct cond changed;
    struct helper *next;
};

struct agent_gpus { /* of a container; see container_gpus.c */
    int locks[PLATFORM_GPUS_MAX];
    size_t n;
    char *list; /* "0,2"; NULL: not chosen yet */
};

struct agent {
    const struct agent_options *opt;
    struct join join;
    struct agent_container *container; /* NULL: not on YARN */
    struct loop *loop;
    struct fiber *main;
    struct channel *channel; /* NULL: none */
    char host[64];           /* what others reach its tasks by */
    struct spawner *spawner;
    struct ports ports;
    struct tree tree;
    struct cgroups cgroups;
    struct agent_gpus gpus;

    Agent__ToAgent *welcome; /* kept for its facts */
    const Agent__JobFacts *facts;
    char *work_dir, *log_dir, *tasks_dir, *tmp_dir;
    int log_lock;                            /* on log_dir; 0: none */
    char *socket_dir, *out_dir, *token_file; /* as dirs.c says; token_file: NULL outside YARN */
    int64_t lease, last_ping, heartbeat;     /* ms; loop's clock; ms */
    bool hopeless;                           /* the master will not have us: no use to dial again */
    bool looking, superseded; /* for a newer master (master_lookup.c), which there is … */
    int64_t look_after;       /* … and not before; loop's clock */
    int64_t cut_ms, known;    /* as in Welcome; when we last knew that we are not cut off */
    bool cut_off;             /* we are: the end */
    bool told_to_leave, job_failed, spared; /* by a Shutdown, … */
    int64_t save_ms; /* … which may leave so much time for saving; 0: it does not say */
    bool unsaved;    /* something could not be saved, … */
    bool untold;     /* … and no master that is there to the end has heard it */
    bool cleaning;   /* nothing is needed any more */
    int64_t grace;   /* … that leaves tasks so many ms */

    struct agent_task **tasks; /* all of them */
    size_t n_tasks, cap_tasks;
    struct agent_task **by_id; /* the same by their numbers; NULL: none of that number */
    size_t n_ids;
    size_t living;            /* tasks that are RUNNING or SWEEPING */
    size_t busy;              /* fibers that prepare or start */
    struct cond quiet;        /* both have become 0 */
    struct fiber *mirror;     /* copies a directory of HDFS; NULL: none */
    struct agent_task **pids; /* tasks with a process, by its number: open addressing */
    size_t pids_cap, pids_n;
    struct helper *helpers;

    bool leaving;
    int signal;      /* that told us to leave */
    int broken;      /* negative errno: we cannot go on … */
    char why[200];   /* … and why */
    struct err *err; /* why it ends, for whoever runs us */

    struct report *report;
    struct relay *relay;
    struct follow *follow;
    struct files *files;
    uv_signal_t signals[4];
    uv_timer_t sweep_timer, stop_timer, watch_timer;
    int64_t sweep_after; /* not before: looking at all processes costs */
    bool sweep_wanted, watching;
    struct fiber *cutter;    /* cuts output that grows long; NULL: it need not be */
    struct fiber *measurer;  /* NULL: nobody wants to know what tasks use … */
    int64_t measure_until;   /* … from then on; loop's clock */
    struct fiber *attending; /* answers the master while we leave; NULL: nobody does */
    struct fiber *remover;   /* removes directories of dropped tasks; NULL: there are none */
    struct cond measured, cut_ended, attended, removed;
    uint64_t oom_kills; /* of the kernel, when it was last looked */
    char *spec_path;    /* the file with the newest cluster specification, and what is in it */
    uint8_t *spec;
    size_t spec_len;
    unsigned n_specs; /* such files so far */
    mode_t umask;
    bool placing, placed;   /* conda_activate.c tells the environment its place, or has done so */
    bool spreading, spread; /* dirs.c puts the job's files in place, or has done so */
    struct cond placed_now, spread_now;
};

/* ---- agent.c ---- */
struct agent_task *agent_task(const struct agent *a, uint32_t id); /* NULL: not known */
void agent_pong(struct agent *a, const Agent__Ping *ping);
/* Memory or the channel is gone: everything ends. */
void agent_break(struct agent *a, int code, const char *what);

/* ---- handshake.c: Hello and Welcome ---- */
/* One try at a->join: dials, says what we have, and is welcomed. Fibers only. */
int handshake_master(struct agent *a, int64_t deadline, struct err *err);
int handshake_next(struct agent *a, int64_t deadline, Agent__ToAgent **ret, struct err *err);
void handshake_part(struct agent *a); /* the connection is of no use any more */
void handshake_forget_code(void);     /* gives memory back */

/* ---- client_lifeline.c: whose life ours hangs on ---- */
int lifeline_begin(struct agent *a, struct err *err); /* beside the client only */

/* ---- reconnect.c: looking for the master ---- */
int reconnect_first(struct agent *a, struct err *err);
/* After it was lost, for as long as the lease allows; `err` says why it was, and then why not. */
int reconnect_again(struct agent *a, struct err *err);

/* ---- resync.c: what a master that takes us back is told ---- */
void resync_keep(struct agent_task *t, const Agent__ExitedTask *end);
void resync_forget(struct agent_task *t); /* it is started anew, or never again */
void resync_tell(struct agent *a);        /* reports all ends that are kept */
int resync_hello(const struct agent *a, Agent__Hello *hello); /* -ENOMEM; else … */
void resync_hello_done(Agent__Hello *hello);

/* ---- output_place.c: a task's files here among all that it wrote; in a container only ---- */
void output_place_find(
    struct agent_task *t); /* as an earlier agent kept it; the master knows none */
void output_place_keep(const struct agent_task *t);
/* A file beside output that tells the next agent `what` about `of`; the caller's. NULL: no
 * container, or out of memory. */
char *output_mark(const struct agent *a, const char *what, const char *of);
void output_marks_remove(const struct agent *a);
/* export_output.c: what this container has saved of a task ("worker-3", "out") is the file of this
 * number in HDFS, which stays the same when others rename it. 0: nothing. */
uint64_t output_saved(const struct agent *a, const char *label, const char *end);

/* ---- output_kept.c: a task's files here, which others may remove; in a container only ---- */
#define OUTPUT_NAME 32
void output_keep(struct stream_out *s); /* when its task is started */
/* A name that the file can be opened by; perhaps in `room`. */
const char *output_name(const struct stream_out *s, char room[OUTPUT_NAME]);

/* ---- dirs.c: where things are ---- */
int dirs_set_up(struct agent *a, struct err *err); /* after a welcome */
int dirs_place_files(struct agent *a,
                     struct err *err); /* what the job brought along; fibers only */
void dirs_done(struct agent *a);

/* ---- predecessor.c: what an earlier agent of this container left ---- */
int predecessor_end(struct agent *a, struct err *err); /* fibers only */

/* ---- task_tokens.c: what tasks sign in with ---- */
int tokens_begin(struct agent *a, struct err *err);
void tokens_replace(struct agent *a, const Agent__Tokens *m);

/* ---- export.c: output and results, when the agent leaves ---- */
/* Tells the master of each; fibers only. `output_only`: nobody waits for us any more. */
void export_all(struct agent *a, bool output_only);

/* ---- leave_pings.c: the master is answered while the agent leaves ---- */
void attend_begin(struct agent *a);
void attend_end(struct agent *a); /* fibers only */

/* ---- agent_leave.c ---- */
void leave_tasks(struct agent *a, int64_t grace);    /* ends all of them; fibers only */
void leave_clean(struct agent *a, bool master_gone); /* fibers only */

/* ---- tree_remove.c: trees, by another thread ---- */
int remove_tree(struct agent *a, const char *path, struct err *err); /* fibers only */
void remove_begin(struct agent_task *t);                             /* its own directory, soon */
int remove_wait(const struct agent_task *t); /* … until it is gone; fibers only */
void remove_end(struct agent *a);            /* waits for all of them; fibers only */

/* ---- container_gpus.c: devices of a container ---- */
/* The list for CUDA_VISIBLE_DEVICES, made once; NULL with n 0; borrowed. Fibers only: waits until
 * `n` are free. */
int gpus_of_container(struct agent *a, unsigned n, const char **ret, struct err *err);
void gpus_done(struct agent *a);

/* ---- prepare.c: Prepare and Drop ---- */
int prepare_begin(struct agent *a, Agent__ToAgent *m, struct err *err); /* takes `m` over */
void prepare_drop(
    struct agent_task *t); /* ports and files, its directory soon; not while it lives */
/* A file of the task's own, "…/tasks/worker-3.WHAT"; NULL when out of memory. */
char *prepare_path(const struct agent_task *t, const char *what);
/* What an earlier attempt left would be taken for the next one's. */
int prepare_clear(struct agent_task *t, struct err *err);
enum fail_class prepare_file_class(int r); /* of files that could not be made; r: negative errno */

/* ---- activate.c: over the job's own variables; what is missing fails the start ---- */
#define AGENT_ENV "ydl-env" /* how a container's environment is called: uploads/uploads.h */
int activate_venv(struct env *e, const struct agent_task *t, struct err *err);
int activate_mxnet(const struct env *e, const struct agent_task *t, const char *program,
                   struct err *err);
int activate_hadoop(struct env *e, const struct agent_task *t, const Agent__StartTask *m,
                    struct err *err);

/* ---- conda_activate.c: an environment of conda's ---- */
int conda_variables(struct env *e, const char *dir); /* 0, -ENOMEM */
/* Runs what packages want to be run when it is activated before the command. */
int conda_command(struct strs *argv, const struct env *e, const struct agent_task *t,
                  struct err *err);
void conda_place(struct agent *a); /* once for all; fibers only */
void prepare_free(struct agent *a);

/* ---- task_files.c: what a task finds in its directory ---- */
int files_place(struct agent_task *t, const Agent__PrepareTask *m,
                struct err *err); /* fibers only */
void files_done(struct agent *a); /* removes what was unpacked; fibers only */

/* ---- task_start.c: Start ---- */
int start_begin(struct agent *a, Agent__ToAgent *m, struct err *err); /* takes `m` over */
void start_done(struct agent *a);

/* ---- docker.c: tasks in container images ---- */
struct docker_envs {
    const struct env *weak; /* gives way to the image's own */
    struct env *strong;
};
struct docker_launch { /* what spawn.h needs */
    struct strs words;
    struct env env;
    int said; /* a file for what the client says */
};
int docker_prepare(struct agent_task *t, const Agent__PrepareTask *m, struct err *err);
/* `ret` needs docker_launch_done() in any case. */
int docker_launch(struct agent_task *t, const struct strs *command, const struct docker_envs *envs,
                  struct docker_launch *ret, struct err *err);
void docker_launch_done(struct docker_launch *l);
/* Kills what is in its container. False when it has none, or when that was of no use before. */
bool docker_hang_up(struct agent_task *t);
void docker_ended(struct agent_task *t); /* its client has: makes t->status the task's own */
void docker_clear(struct agent_task *t); /* removes its files */
void docker_done(struct agent_task *t);

/* ---- reap.c: who has ended, and what it left behind ---- */
int reap_init(struct agent *a, struct err *err);
int reap_watch(struct agent_task *t);  /* its process was started; -ENOMEM */
void reap_children(struct agent *a);   /* takes the statuses that are there */
void reap_sweep_soon(struct agent *a); /* a task that was not to be finished yet now may be */
/* Sends a signal to every process of the tasks that are `marked`; with SIGKILL also to what cannot
 * be anybody else's. Marks tasks `dirty` of which something was seen besides the leader. */
void reap_signal(struct agent *a, int signum);
/* Reads the processes of the marked tasks, and what is nobody's, into a->tree; -ENOMEM. */
int reap_look(struct agent *a);
/* Whose `p` of a->tree is; NULL: nobody knows. */
struct agent_task *reap_owner(const struct agent *a, const struct tree_proc *p);
/* Ends everything below us, whosever it is; false when something is still there at `deadline`.
 * Fibers only. */
bool reap_all(struct agent *a, int64_t deadline);
int helper_wait(struct agent *a, struct helper *h,
                int64_t deadline); /* kills it when that is over */

/* ---- task_stop.c: ending tasks ---- */
void stop_tasks(struct agent *a, struct agent_task **tasks, size_t n, int64_t grace,
                int64_t deadline);
void stop_all(struct agent *a, int64_t grace);
/* Ends it at once, for a reason of ours; `text` is copied. */
void stop_for(struct agent_task *t, enum fail_class why, const char *text);

/* ---- finish.c: what is told of an end ---- */
void finish_task(struct agent_task *t); /* nothing of it is left */
/* A task that never had a process. */
void finish_unstarted(struct agent_task *t, enum fail_class why, const struct err *err);
uint64_t finish_oom_kills(void); /* how often the kernel has killed for memory */
/* Nothing is made there then: nobody would remove it. */
bool finish_directory_gone(const struct agent *a);
/* Something of a task could not be made: the class of that. The task is not to blame when the
 * directory of its container is gone, which `err` then says. */
enum fail_class finish_blame(const struct agent *a, enum fail_class fail, struct err *err);

/* ---- limits.c: memory and log limits ---- */
void watch_begin(struct agent *a); /* at every start: runs while there is something to watch */

/* ---- tensorboard_mirror.c: a directory of HDFS beside a task ---- */
/* Keeps a copy of the directory at the URI `from` in `to`, in the task's work directory. */
int tensorboard_mirror_begin(struct agent_task *t, const char *from, const char *to,
                             struct err *err);
void tensorboard_mirror_end(struct agent *a); /* soon; counts as busy until then */

/* ---- logrotate.c: output of long tasks in pieces ---- */
void logrotate_begin(struct agent *a); /* at every start */
void logrotate_end(struct agent *a);   /* fibers only */

/* ---- measure.c: what tasks use ---- */
void signal_forward(struct agent *a, const Agent__Signal *m);

void measure_begin(struct agent *a, const Agent__Measure *m);
void measure_end(struct agent *a); /* fibers only */

/* ---- peer_owner.c: who connects to the master's trackers from here ---- */
void peer_owner_answer(struct agent *a, const Agent__Whose *m);

/* ---- readiness.c: readiness ---- */
int probe_begin(struct agent_task *t, const Agent__Ready *ready, struct err *err);
void probe_end(struct agent_task *t);

/* ---- output_follow.c: output to the master ---- */
int follow_begin(struct agent *a, const Agent__Follow *m);
void follow_task_changed(struct agent_task *t); /* started or ended */
void follow_forget(struct agent *a); /* nobody reads any more; the next master will say */
void follow_stop(struct agent *a);

/* ---- kv_relay.c, kvsock.c, kvhttp.c, pmi.c: the job's key-value store ---- */
/* One request and its answer's words in `ret` (each with its length before it: relay_next()).
 * -ECONNABORTED when nobody can answer any more. Fibers only. */
int relay_ask(struct agent_task *t, const struct kvline_word *words, size_t n, struct buf *ret);
bool relay_next(struct view *answer, struct kvline_word *ret);
void relay_answer(struct agent *a, const Agent__KvReplies *m);
void relay_again(struct agent *a); /* asks once more what was not answered */
void relay_stop(struct agent *a);  /* whoever waits gets -ECONNABORTED */
int kvsock_open(struct agent_task *t, struct err *err);
void kvsock_close(struct agent_task *t);
void kvsock_hang_up(struct agent_task *t); /* its connections, not the socket */
/* Serves HTTP on a connection of which `in` has been read. Takes `s` over. */
void kvhttp_serve(struct agent_task *t, struct sock *s, const struct buf *in);
/* A descriptor for the task; ours is served until the task's end. */
int pmi_begin(struct agent_task *t, int *ret_fd, struct err *err);
void pmi_end(struct agent_task *t);

/* ---- agent_report.c: to the master, in batches, one turn of the loop each ---- */
int report_init(struct agent *a, struct err *err);
void report_prepared(struct agent_task *t, enum fail_class fail, const char *text);
void report_started(struct agent_task *t);
void report_ready(struct agent_task *t);
void report_exited(struct agent_task *t, const Agent__ExitedTask *end); /* strings copied */
void report_kv(struct agent_task *t, uint64_t id, const struct kvline_word *words, size_t n);
void report_note(struct agent *a, const char *text);
int report_send(struct agent *a, const Agent__ToMaster *m); /* at once; < 0: it cannot be */
void report_exited_again(struct agent *a,
                         Agent__ExitedTask *m); /* takes `m` over; NULL: no memory */
/* From a Hello, which says what was, to the Welcome nothing is sent and nothing is lost. */
void report_hold(struct agent *a);
void report_go_on(struct agent *a);
void report_flush(struct agent *a);
void report_free(struct agent *a);
