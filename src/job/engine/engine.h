/* engine.h - the job's mind: states, gang, failures, restarts, success. Pure.
 *
 * The master tells it what happened and when (engine_on_…, each with a time in milliseconds since
 * 1970), and then carries out what it wants (engine_next_action), until there is nothing left; then
 * it takes the event lines (engine_events) that say everything that was decided, in order. The
 * engine opens nothing, reads no clock, and never calls back. One thread at a time.
 *
 *     tasks  WAITING → GRANTED → PREPARING → READY → RUNNING → DONE | FAILED | LOST
 *     job    NEW → ASKING → FORMING → RUNNING → FINISHING → SUCCEEDED | FAILED | KILLED
 *
 * Tasks are numbered 0 … n-1 over all roles, in the specification's order; a *slot* is a container
 * and holds a role's `procs` tasks. A state and an event that the tables do not know give -EPROTO
 * with a sentence and change nothing: a bug in ydl, reported and not ignored.
 *
 * What is told must be told once and in the order of its agent: an action PREPARE is answered by
 * on_prepared or on_ended, START by on_started and on_ended (or by on_ended alone), FORM by
 * on_formed, in whatever way things have changed meanwhile; unless the slot is lost or given back:
 * then the master drops what its agent still says (the engine ignores what it can recognise).
 * Grants, losses and reports that come too late, after RELEASE or after the end, are no faults.
 * Nor are those that an agent repeats because it has reconnected to its master or to a new one.
 *
 * -ENOMEM is final: the engine no longer knows all that it wanted, says so to every later call,
 * and the master can only end. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "job/cluster_spec.h"
#include "job/event.h"
#include "job/spec/spec.h"

enum task_state {
    TASK_WAITING,   /* has no container */
    TASK_GRANTED,   /* has one; its agent is not there yet */
    TASK_PREPARING, /* its agent puts files in place and holds its ports */
    TASK_READY,     /* could start: waits for the gang or for other roles */
    TASK_RUNNING,
    TASK_DONE, /* exit code 0; or however it ended, when we had asked it to (see `code`) */
    TASK_FAILED,
    TASK_LOST, /* with its node */
    TASK_STATES_
};
enum job_state {
    JOB_NEW,
    JOB_ASKING,
    JOB_FORMING,
    JOB_RUNNING,
    JOB_FINISHING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_KILLED,
    JOB_STATES_
};
const char *task_state_name(enum task_state s);
const char *job_state_name(enum job_state s);
int task_state_from(const char *name, enum task_state *ret);
int job_state_from(const char *name, enum job_state *ret);

#define ENGINE_NO_SLOT UINT32_MAX

struct task {
    uint32_t id, role, rank; /* number in the job; place of the role; rank in the role */
    uint32_t slot;           /* number in the job */
    uint16_t local_rank;
    enum task_state state;
    uint32_t attempt;    /* starts before this one, in the whole life of the job; from 0 */
    uint32_t generation; /* the gang that it is, or was last, part of */
    uint32_t agent;      /* the master's number of its agent; valid from GRANTED on */
    uint16_t port[CLUSTER_PORTS_MAX];
    uint16_t n_ports;
    bool ready;    /* passed its readiness check while RUNNING */
    bool stopping; /* we asked it to end: how it ends is no failure */
    bool results;  /* it left some where it ran, and its agent has not said that they are saved */
    int64_t since; /* when it came into this state */
    int pid;
    int code;             /* exit code as a shell shows it, once it ended */
    enum fail_class fail; /* why, when FAILED or LOST */
    int64_t step, total;  /* reported progress; total 0: unknown */
};

struct engine; /* opaque */

/* Options that are not in the specification. */
struct engine_options {
    enum spec_policy restart;         /* the framework's meaning of "restart" */
    int64_t backoff_min, backoff_max; /* ms between gang attempts; 0: 1 s and 60 s */
    uint32_t seed;                    /* for the jitter */
    int64_t submitted;   /* when the job was: its time limit counts from there; 0: from its start */
    uint32_t losses_max; /* node losses and preemptions within the restart window before giving up
                          * with 75; 0: 10. Those of a few seconds are one */
    bool rejoins; /* tasks find each other through a server of the generation (rabit): a moved one
                   * joins it by itself; but how many they are, they must know */
    bool keeps_ports; /* a task that moves brings its ports along, if they are free there: people
                       * know them */
    bool elastic; /* tasks need not know of each other (none, dask, ray): a moved or added one joins
                   * the running generation; otherwise the gang is formed again for it */
};

/* `spec` is complete and checked; borrowed. *ret is the caller's: engine_free(). */
int engine_new(const struct spec *spec, const struct engine_options *opt, struct engine **ret,
               struct err *err);
struct engine *engine_free(struct engine *e);
AUTO_DEFINE(engine, struct engine *, engine_free);

/* The first record of the log: what the job is. To be called once, before engine_start(). NULL
 * where unknown. */
struct engine_facts {
    const char *job, *name, *user, *platform, *framework;
};
int engine_created(struct engine *e, const struct engine_facts *facts, int64_t now,
                   struct err *err);
/* The master's own records, in the engine's order and numbering: begin, add fields, event_end(). */
void engine_event(struct engine *e, enum event_kind k, int64_t now, struct event *ret);
/* A sentence for people; level: "info", "warning". */
int engine_note(struct engine *e, const char *level, const char *text, int64_t now,
                struct err *err);

/* ---- what happened ---- */
int engine_start(struct engine *e, int64_t now, struct err *err);
int engine_on_granted(struct engine *e, uint32_t slot, uint32_t agent, int64_t now,
                      struct err *err);
/* What was asked for is refused, or asking failed; nothing of it is outstanding. It is asked for
 * again after a while that grows, for as long as it takes; but with `here` (it is this machine that
 * cannot) only some times: then the job fails for that reason. */
int engine_on_refused(struct engine *e, uint32_t slot, bool here, const char *text, int64_t now,
                      struct err *err);
/* The agent of a slot is connected. */
int engine_on_agent_up(struct engine *e, uint32_t slot, int64_t now, struct err *err);
/* Ports are held (n of them) and files in place. */
int engine_on_prepared(struct engine *e, uint32_t task, const uint16_t *ports, unsigned n,
                       int64_t now, struct err *err);
int engine_on_started(struct engine *e, uint32_t task, int pid, int64_t now, struct err *err);
int engine_on_ready(struct engine *e, uint32_t task, int64_t now, struct err *err);

/* How a task ended or failed to start. `when` is the agent's clock at the end. */
struct engine_end {
    enum fail_class cls; /* FAIL_NONE, FAIL_EXIT or FAIL_SIGNAL for an end of its own */
    int code;            /* exit code, or 128 + signal */
    int signal;          /* 0: none */
    int64_t when;
    int64_t lived;     /* ms from its start to its end, by no clock of the day; 0: not known */
    bool results;      /* it left some where it ran */
    bool asked;        /* its agent had told it to end before it did, whatever the two clocks say */
    const char *text;  /* a sentence about it, or NULL; borrowed */
    const char *lines; /* its last output lines, or NULL; borrowed */
};
int engine_on_ended(struct engine *e, uint32_t task, const struct engine_end *end, int64_t now,
                    struct err *err);
/* The agent has saved what its tasks left. */
void engine_on_saved(struct engine *e, uint32_t agent);
/* It leaves without: what its tasks left goes with its container. */
void engine_on_results_left(struct engine *e, uint32_t agent);
/* Has the task done its work, and are its results gone with its container? */
bool engine_lost_results(const struct engine *e, uint32_t task);
/* A container is gone with everything in it. `cls`: FAIL_NODE, FAIL_PREEMPTED, FAIL_PERSON,
 * FAIL_MEMORY, or FAIL_START, FAIL_FILES, FAIL_DISK (the agent itself could not be started). While
 * nothing of the user's has ever run another one is asked for whatever the restart policy says. */
int engine_on_lost(struct engine *e, uint32_t slot, enum fail_class cls, const char *text,
                   int64_t now, struct err *err);
/* The platform will take the container soon (preemption, a node that is decommissioned). Its tasks
 * are told to end, with the job's grace; then it is given back, and what the policy says of
 * preemption happens: another one is asked for, the gang is formed again, or the job fails. Nobody
 * is to blame: whatever a task ends with is FAIL_PREEMPTED and uses up no restart; but with exit
 * code 0 it has done its work. A container that is lost meanwhile (on_lost) counts as preempted,
 * once. */
int engine_on_leaving(struct engine *e, uint32_t slot, int64_t now, struct err *err);
/* The agent of a slot died, and a new one is connected that stands in the same container (in place
 * of on_agent_up). What ran there has ended with its agent (FAIL_NODE, "its agent ended": no
 * restart used up, but a loss is counted); what was prepared is prepared again, with the same
 * ports. */
int engine_on_agent_again(struct engine *e, uint32_t slot, int64_t now, struct err *err);
/* The connection to a slot's agent is gone, and it is expected to come back, with its tasks: the
 * slot is away, as after engine_resume() below, until engine_on_held()… and engine_on_agent_up().
 */
int engine_on_agent_away(struct engine *e, uint32_t slot, int64_t now, struct err *err);
/* The rendezvous servers of the generation are up and the cluster specification is made: answers
 * ACTION_FORM, also when the generation has moved on since. */
int engine_on_formed(struct engine *e, int64_t now, struct err *err);
/* Tasks know each other by names, which go with them: "worker-0.DOMAIN". From the next
 * engine_on_formed() on, until it is said otherwise; NULL: by numbers, as in the beginning. A task
 * that is restarted alone (SPEC_RESTART_TASK) may then move alone: it asks for its previous ports,
 * so that the others need not be told. Where it cannot have them the gang is formed again. */
int engine_set_names(struct engine *e, const char *domain, struct err *err);
const char *engine_names(const struct engine *e); /* borrowed; NULL: by numbers */
/* What a task says of itself. It is shown every second (engine_live), and written down seldom. */
void engine_on_progress(struct engine *e, uint32_t task, int64_t step, int64_t total,
                        const char *metrics_json, int64_t now);
/* A sentence that a task writes into the events. -EAGAIN, and why: there were too many of late. */
int engine_on_task_note(struct engine *e, uint32_t task, const char *text, int64_t now,
                        struct err *err);
int engine_on_time(struct engine *e, int64_t now, struct err *err); /* at or after the deadline */
/* Something that is nobody's task failed (70: a bug in ydl; a rendezvous server that cannot be
 * started): everybody is stopped, and the job fails with this exit code and sentence. */
int engine_abort(struct engine *e, int exit, const char *text, int64_t now, struct err *err);

/* ---- a master that takes over ----
 *
 * It makes an engine, gives it every line of the events log so far, segment after segment, and says
 * that this was all; then it goes on from where the last one was:
 *     engine_new → engine_restore… → (its own EVENT_MASTER record) → engine_resume
 * Each segment begins with the EVENT_MASTER record of its master. With an empty log there is
 * nothing to resume: engine_created() and engine_start() as ever. A job that has ended stays so,
 * and ACTION_END comes again; the slots that it had are away as below, until the master has what
 * their tasks left.
 *
 * Slots that had a container keep it: they are *away* until their agent is back, and nothing is
 * wanted of their tasks before. When it is, the master says what it has (engine_on_held, for every
 * task in its Hello), then engine_on_agent_up for each of its slots: what should run there and was
 * not named is lost, and restarted in place as by engine_on_agent_again (which is to be called
 * instead of on_agent_up when the agent is a new one). An agent that does not come back in time is
 * the master's to notice: engine_on_lost. Slots that were only asked for are asked for again.
 * Times go on as they were written down; but a hold time that is over leaves agents 15 s to come.
 * A container that the log does not know, but whose agent names a slot that is being asked for, may
 * be given to it: on_granted, on_held…, on_agent_up. */

/* One line without its newline. -EINVAL for one that is no record (cut short by a crash): nothing
 * has changed, and the caller goes on. Lines count when the engine had come to rest after them
 * ("rest": true): a part of a decision is no decision. */
int engine_restore(struct engine *e, const char *line, size_t n, struct err *err);
int engine_resume(struct engine *e, int64_t now, struct err *err);

/* A task's state at its agent, or its last one. */
struct engine_held {
    uint32_t task, generation, attempt;
    int pid; /* 0: it does not run */
    const uint16_t *ports;
    unsigned n_ports;
    bool ready;
    bool ended; /* has run, and does no more: how it ended is told by engine_on_ended() later */
};
int engine_on_held(struct engine *e, const struct engine_held *held, int64_t now, struct err *err);
/* The agent in whose container the slot is; ENGINE_NO_AGENT: it has none. */
#define ENGINE_NO_AGENT UINT32_MAX
uint32_t engine_slot_agent(const struct engine *e, uint32_t slot);
/* The highest number of an agent that was ever granted, by this master or one before it; 0: none.
 * Numbers do not return: a new master counts on from there, past what may not be in the log. */
uint32_t engine_last_agent(const struct engine *e);
/* Whether it had an agent that is not back yet. */
bool engine_slot_is_away(const struct engine *e, uint32_t slot);

/* ---- what a person wants ----
 * -EALREADY when the job has ended, -EBUSY when it does not run (yet, or at the moment). */

/* With grace; a second time it is a kill. */
int engine_stop(struct engine *e, const char *who, int64_t now, struct err *err);
int engine_kill(struct engine *e, const char *who, int64_t now, struct err *err);
void engine_set_grace(struct engine *e, int64_t ms); /* of stops from now on */
/* Restarts one task (counted against no budget), or with task == UINT32_MAX the gang. */
int engine_restart(struct engine *e, uint32_t task, const char *who, int64_t now, struct err *err);
/* Moves a task to another container, with all that are in its own: they are told to end with grace,
 * the container is given back, and another one is asked for. No failure, and no budget pays. Only
 * if this start of it runs: otherwise there is nothing to do, which is 0. -EOPNOTSUPP where tasks
 * know each other. */
int engine_move(struct engine *e, uint32_t task, uint32_t attempt, const char *who, int64_t now,
                struct err *err);
/* Changes a role's number of containers while the job runs: more are asked for and started, or the
 * highest ranks are stopped. Where tasks must know of each other the gang is formed again, if its
 * policy allows that: otherwise -EOPNOTSUPP. New tasks have the next free numbers. */
int engine_scale(struct engine *e, const char *role, unsigned count, const char *who, int64_t now,
                 struct err *err);

/* ---- what is to be done ---- */
enum action_kind {
    ACTION_ASK,     /* slot: get a container for it */
    ACTION_RELEASE, /* slot: give it back, with its agent; or take the ask back */
    ACTION_PREPARE, /* task: files, ports (task->port when it had some: the same again) */
    ACTION_FORM,    /* make the cluster specification of engine_generation(), then on_formed */
    ACTION_START,   /* task */
    ACTION_STOP,    /* task: grace in ms; 0: kill at once */
    ACTION_END,     /* nothing runs any more: engine_outcome() is final. Slots with an agent are
                     * still held, so that logs and results can be fetched; then they are the
                     * master's to close, and engine_close() says the last record */
};
struct action {
    enum action_kind kind;
    uint32_t id; /* task or slot */
    int64_t grace;
};
bool engine_next_action(struct engine *e, struct action *ret);
/* When engine_on_time() wants to be called; INT64_MAX: not at all. */
int64_t engine_deadline(const struct engine *e);

/* Takes the event lines made since the last call: moves them to the end of `out`. */
int engine_events(struct engine *e, struct buf *out);
/* Everything that the engine knows when it has nothing to say (engine_events() gives nothing), as
 * lines of EVENT_SUMMARY: engine_restore() of these brings a new engine to where this one is, as
 * all lines of the log before them would. Not of a job that is ending. The caller may add lines of
 * its own; the last one says how many there are, so that a summary that is cut short is seen to be.
 */
int engine_summary(const struct engine *e, const struct engine_facts *facts, int64_t now,
                   struct buf *out);
int engine_summary_end(struct buf *out, int64_t now);
/* The same of lines that are for those who look at the job now, and are in no log: progress. */
int engine_live(struct engine *e, struct buf *out);
void engine_watch(struct engine *e, bool on); /* does anybody? Not at first */
/* Progress that is newer than what the log says, a line of each task. */
int engine_untold(const struct engine *e, struct buf *out);
/* After ACTION_END, when nothing more is to be told of the job: the record EVENT_END, once. */
void engine_close(struct engine *e, int64_t now);
void engine_set_unsaved(struct engine *e); /* … which also tells that results are not all saved */
/* 0, or why the engine is past help: the master ends the job by itself. */
int engine_fault(const struct engine *e, struct err *err);

/* ---- what is ---- */
enum job_state engine_state(const struct engine *e);
uint32_t engine_generation(const struct engine *e);
uint32_t engine_n_tasks(const struct engine *e); /* that were ever part of the job */
uint32_t engine_n_slots(const struct engine *e);
unsigned engine_role_count(const struct engine *e, uint32_t role); /* containers, after scaling */
const struct task *engine_task(const struct engine *e,
                               uint32_t id); /* borrowed, until it changes */
/* ---- who is in the gang ----
 * The tasks that the job has now: those that were scaled away are not, though they may still be
 * ending. Every list, number and world is made of these. The ranks of a role have no holes: it is
 * the highest that are scaled away. */
bool engine_in_gang(const struct engine *e, uint32_t task);
uint32_t engine_role_tasks(const struct engine *e, uint32_t role); /* ranks 0 … n-1 */
/* All of them, in the order of their numbers: the one after `t`; NULL before the first, and after
 * the last. */
const struct task *engine_next_in_gang(const struct engine *e, const struct task *t);

/* The role and first task of a slot, and how many tasks it has. */
void engine_slot(const struct engine *e, uint32_t slot, uint32_t *ret_role, uint32_t *ret_first,
                 uint32_t *ret_n);
/* "worker:3"; `out` holds ENGINE_NAME_MAX. */
#define ENGINE_NAME_MAX 48
const char *engine_task_name(const struct engine *e, uint32_t id, char out[ENGINE_NAME_MAX]);
int engine_find_task(const struct engine *e, const char *name, uint32_t *ret, struct err *err);

/* How it ended, or the first failure so far: the earliest, by the clock of where it happened, since
 * everybody was last well. Failures that our own stopping caused are none. Strings are borrowed
 * from the engine. */
struct outcome {
    enum job_state state;
    int exit;      /* the command's exit code; 0 while it runs */
    uint32_t task; /* whose; UINT32_MAX: nobody's */
    enum fail_class cls;
    int code, signal;
    uint32_t generation, attempt;
    int64_t when;
    const char *text, *lines, *hint;
};
void engine_outcome(const struct engine *e, struct outcome *ret);
/* A sentence for `status` about what the job waits for, or "". */
void engine_waiting_for(const struct engine *e, struct buf *out);
