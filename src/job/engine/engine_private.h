/* engine_private.h - what the engine's files share. See engine.h for what it is.
 *
 *     engine.c          birth, death, questions       engine_gang.c      asks, grants, forming
 *     engine_counts.c   states and their counters     engine_run.c       start order, readiness
 *     engine_events.c   event lines                   engine_fail.c      ends, losses, verdicts
 *     engine_time.c     timers, queue of actions      engine_restart.c   restarts, forming again
 *     engine_wait.c     what it waits for             engine_end.c       finishing
 *     engine_restore.c  the log, read back            engine_commands.c  stop, kill, restart, scale
 *     engine_resume.c   a new master's beginning      engine_leaving.c   containers taken back
 *     engine_summary.c  all that it knows, as lines; engine_summary_read.c reads them back
 *
 * Every number that a decision needs is kept up to date by unit_set(), unit_over() and slot_set(),
 * so that no decision walks over all tasks: only what concerns all of them does (a stop, a new
 * generation), once.
 *
 * Functions here return nothing: what can go wrong inside (memory, or a table that says no to our
 * own wish) is remembered in `bad`, and engine_leave() tells it to the caller. */
#pragma once
#include "job/engine/budget.h"
#include "job/engine/engine.h"
#include "job/engine/outcome.h"
#include "job/engine/policy.h"
#include "job/engine/state.h"

#define NEVER INT64_MAX
#define TRY_AGAIN_EXIT 75
#define TIME_LIMIT_EXIT 124
#define PERSON_EXIT 143

enum slot_state {
    SLOT_IDLE, /* no container, none asked for */
    SLOT_ASKED,
    SLOT_GRANTED,
    SLOT_UP, /* its agent is there */
    SLOT_STATES_
};

struct slot {
    uint32_t role, index; /* index: number within the role */
    uint32_t first;       /* its first task; it has the role's procs */
    uint32_t agent;
    enum slot_state state;
    bool retired;     /* scaled away */
    bool leave;       /* to be given back before its tasks start again: the place is not good */
    bool leaving;     /* the platform takes it back: given back as soon as nothing runs in it */
    bool moving;      /* that is our own wish (leaving, too): another one is asked for then */
    bool away;        /* its agent knew a master before us and is not back yet */
    uint32_t refused; /* how often what was asked for was refused, since it was last granted */
    int64_t ask_at;   /* refused: when it is asked for again; NEVER: it is being asked for */
};

enum timer {
    TIMER_HOLD,    /* an incomplete gang gives back what it has */
    TIMER_ASK,     /* and asks again */
    TIMER_LIMIT,   /* the job's time is up */
    TIMER_REFORM,  /* the gang may be prepared again */
    TIMER_REFUSED, /* what was refused is asked for again */
    TIMER_JOB_,
    TIMER_STOP = TIMER_JOB_, /* a task that was asked to end has not */
    TIMER_RESTART,
    TIMER_PROGRESS,
    TIMERS_
};

/* A task with what only the engine knows of it. */
struct unit {
    struct task t;
    uint32_t starts; /* ACTION_STARTs so far */
    bool retired;    /* scaled away: others ask engine_in_gang() */
    bool starting;   /* told to start; it has not said that it did */
    bool homeless;   /* ended, and its container is gone since */
    bool over;       /* ended for good: well, or a side task that nobody starts again */
    bool kept;       /* over, and not to be run again by the generation that is being formed */
    bool down;       /* failed, and has not run since */
    bool again;      /* a person wants it to start again once it has ended */
    bool untold;     /* its progress is newer than what the log says */
    bool held;       /* its agent, which has reconnected, confirms its state */
    bool brought;    /* its ports are from another container: they may be taken in this one */
    uint8_t young;   /* how often it died soon after its start */
    int64_t at[TIMERS_ - TIMER_JOB_];
    int64_t started, stopped; /* when it last started, was asked to end */
    /* Progress: when it was last reported, shown, and written down; and first, of this start. */
    int64_t reported, shown, told, first_told;
    char *metrics;
    int64_t notes_paid; /* engine_task_notes.c; also of all together, in the engine */
    struct budget budget;
};

struct role {
    const struct spec_role *spec;
    struct policy_restart restart;
    bool side, decides;
    bool awaited;          /* another role waits for its end */
    bool open;             /* its tasks may start, in this generation */
    uint32_t procs, count; /* containers in use: slots[0 … count-1] */
    uint32_t *slots;       /* by index; grows */
    uint32_t n_slots;
    uint32_t n_tasks;          /* not retired */
    uint32_t n[TASK_STATES_];  /* of them, by state */
    uint32_t n_ready, n_over;  /* running and ready; over */
    uint32_t in[SLOT_STATES_]; /* containers by state */
};

struct timer_entry {
    int64_t at;
    uint32_t unit; /* 0 for the job's own */
    enum timer kind;
};

struct engine {
    const struct spec *spec;
    struct engine_options opt;
    struct role *roles;
    uint32_t n_roles;
    struct unit *units;
    uint32_t n_units, cap_units;
    struct slot *slots;
    uint32_t n_slots, cap_slots;

    enum job_state state;
    uint32_t generation;
    bool numbered;     /* ACTION_FORM was made for this generation */
    bool forming;      /* ACTION_FORM waits for its answer */
    bool spoiled;      /* and that answer will come too late */
    bool reforming;    /* everybody is being stopped, to be started again */
    bool backing_off;  /* everything was given back; TIMER_ASK */
    bool ever_started; /* something of the user's has run */
    bool unsettled;    /* agents knew more than the log: do all things fit together? */
    char *names;       /* the domain below which tasks have names; NULL: they have none */
    uint32_t n_tasks, n_live, n_kept, n_undecided, n_down, n_away;
    uint32_t n[TASK_STATES_], in[SLOT_STATES_];

    uint32_t rounds; /* how often the gang gave everything back since it last stood */
    uint32_t seed;
    uint32_t last_agent;   /* the highest number that was ever granted */
    uint32_t refused_seed; /* of pauses that the log does not tell */
    uint8_t young;         /* how often the gang died soon after it was formed */
    int64_t formed;        /* when */
    int64_t last_loss;     /* when one was last counted */
    struct budget gang, losses, files;
    int64_t grace;
    unsigned stops; /* wishes to stop */

    /* The end, once it is decided. */
    enum job_state final;
    bool by_task; /* decided by the story, whose exit code counts */
    bool closed;  /* the last record is written */
    bool unsaved; /* … and says that results are not all where they belong */
    int exit;
    char *end_text;
    struct failure story;
    char *refusal; /* why what was asked for was refused last; NULL: it never was */

    int64_t at[TIMER_JOB_];
    struct timer_entry *heap;
    uint32_t n_heap;
    struct action *queue; /* a ring */
    uint32_t n_queue, cap_queue, first_queue;
    struct buf events, too_late; /* too_late: records after "end", which are dropped */
    struct buf live;             /* lines that are in no log, … */
    bool watched;                /* … while somebody follows the job */
    uint64_t seq;
    uint32_t restarts; /* records of them so far */
    int64_t notes_paid;
    int64_t created, ran; /* when the job was made, and first ran; 0: not yet */
    bool read, summing;   /* a record was read back; a summary is being read */
    json_t **pending;     /* records that were read since the engine last was at rest */
    uint32_t n_pending;
    int bad;
    struct err fault;
};

/* ---- engine.c ---- */
int engine_enter(const struct engine *e, struct err *err); /* -ENOMEM … when it is past help */
int engine_leave(struct engine *e, struct err *err);
void engine_oom(struct engine *e);
/* Makes slots for a role, with their tasks, up to `count` of them; they are born retired, and
 * engine_join() makes them part of the job. */
int engine_add_slots(struct engine *e, struct role *r, uint32_t count);
void engine_join(struct engine *e, struct role *r, uint32_t count);
int engine_unit_of(struct engine *e, uint32_t id, struct unit **ret, struct err *err);
int engine_slot_of(struct engine *e, uint32_t id, struct slot **ret, struct err *err);

/* ---- engine_counts.c ---- */
static inline struct role *role_of(const struct engine *e, const struct unit *u)
{
    return &e->roles[u->t.role];
}

/* Whether something of it may be running, or is about to. */
static inline bool unit_live(const struct unit *u)
{
    return u->starting || u->t.state == TASK_RUNNING;
}

/* Asks the table, changes nothing. */
int unit_next(const struct engine *e, const struct unit *u, enum task_event ev,
              enum task_state *ret, struct err *err);
void unit_set(struct engine *e, struct unit *u, enum task_state s, int64_t now);
void unit_do(struct engine *e, struct unit *u, enum task_event ev, int64_t now);
void unit_starting(struct engine *e, struct unit *u, bool on);
void unit_ready(struct engine *e, struct unit *u, bool on);
void unit_over(struct engine *e, struct unit *u, bool on);
void unit_kept(struct engine *e, struct unit *u, bool on);
void unit_down(struct engine *e, struct unit *u, bool on);
void unit_join(struct engine *e, struct unit *u);
void unit_retire(struct engine *e, struct unit *u);
void slot_join(struct engine *e, struct slot *s);
void slot_retire(struct engine *e, struct slot *s);
void slot_set(struct engine *e, struct slot *s, enum slot_state state);
void job_do(struct engine *e, enum job_event ev, const char *reason, int64_t now);

bool slot_has_live(const struct engine *e, const struct slot *s);

/* ---- engine_events.c ---- */
void say_task(struct engine *e, const struct unit *u, int64_t now);
void say_job(struct engine *e, const char *reason, int64_t now);
/* The description of the job, for its first record and for a summary. */
void say_facts(struct event *ev, const struct engine_facts *facts);
/* What a failure led to. */
struct judgement {
    enum policy_action then;
    bool counted; /* uses up the user's restart budget */
    bool gone;    /* with its container */
};
void say_failure(struct engine *e, const struct failure *f, const struct judgement *j, int64_t now);
void say_story(struct engine *e, int64_t now);
/* What the gang does next; the words of a record. */
enum gang_step {
    GANG_ASKS,
    GANG_FORMS,     /* everybody is prepared */
    GANG_BACKS_OFF, /* not complete in time: releasing all containers */
    GANG_RETURNS,   /* everybody has ended, and is prepared again */
    GANG_STEPS_
};
int gang_step_from(const char *name, enum gang_step *ret);
void say_gang(struct engine *e, enum gang_step step, int64_t delay, int64_t now);
/* The fate of a container, when no task's record tells it; cls FAIL_NONE: left out. */
void say_container(struct engine *e, const struct slot *s, const char *state, enum fail_class cls,
                   int64_t now);
void say_restart(struct engine *e, const struct unit *u, int64_t delay, const char *reason,
                 int64_t now); /* u NULL: the gang */
void say_request(struct engine *e, const char *what, const char *task, const char *who,
                 int64_t now);
void say_scale(struct engine *e, const struct role *r, uint32_t count, const char *who,
               int64_t now);
void say_note(struct engine *e, const char *level, const char *text, int64_t now);
void say_progress(struct engine *e, struct unit *u, int64_t now); /* in the log */
void progress_due(struct engine *e, struct unit *u,
                  int64_t now); /* there, or to a client that looks */
void say_ready(struct engine *e, const struct unit *u, int64_t now);
void say_end(struct engine *e, int64_t now);

/* ---- engine_time.c ---- */
void timer_set(struct engine *e, enum timer kind, struct unit *u, int64_t at); /* NEVER: unset */
void action_add(struct engine *e, enum action_kind kind, uint32_t id, int64_t grace);

/* ---- engine_gang.c ---- */
void unit_forget_place(const struct engine *e, struct unit *u); /* it has no container any more */
void slot_ask(struct engine *e, struct slot *s);
/* Gives the container back; what was not running in it waits for another. */
void slot_release(struct engine *e, struct slot *s, int64_t now);
/* Takes the container from its tasks, which ran (LOST) or did not (WAITING). */
void slot_vacate(struct engine *e, struct slot *s, enum fail_class cls, int64_t now);
/* Looks whether the gang is complete, incomplete, or can be formed. */
void gang_look(struct engine *e, int64_t now);
/* The gang that was being formed has changed. */
void gang_spoil(struct engine *e);
/* An incomplete gang that has something gives it back after a while. */
void gang_hold(struct engine *e, int64_t now);
void gang_set_limit(struct engine *e, int64_t started); /* the timer of the time limit */
void gang_want_all(struct engine *e); /* every container that somebody waits for */
/* It stands: every task whose role may start does. */
void gang_stands(struct engine *e, int64_t now);
void gang_on_hold_over(struct engine *e, int64_t now);
void gang_on_ask(struct engine *e, int64_t now);
void gang_on_refused_time(struct engine *e, int64_t now);

/* ---- engine_run.c ---- */
void run_prepare(struct engine *e, struct unit *u, enum task_event ev, int64_t now);
bool run_same_ports(const struct task *t, const uint16_t *ports, unsigned n);
void run_set_ports(struct unit *u, const uint16_t *ports, unsigned n);
void run_start(struct engine *e, struct unit *u); /* if it may */
void run_open(struct engine *e);                  /* every role that may start */
/* A task of `r` took this step: if it was the last to do so, others may have waited for it. */
void run_step(struct engine *e, const struct role *r, enum spec_when step);
/* Whether it can join a running generation, without the others being told. */
bool run_alone(const struct engine *e, const struct unit *u);
/* Whether its name and ports go with it to another container. */
bool run_named(const struct engine *e, const struct unit *u);
/* Does it take its ports along to another container? */
bool run_brings_ports(const struct engine *e, const struct unit *u);

/* ---- engine_fail.c ---- */
/* The container of `s` is gone, by a report or because it did not answer. */
void fail_slot(struct engine *e, struct slot *s, enum fail_class cls, const char *text,
               int64_t now);
/* It runs no more because its agent does not, but its place is as good as before. */
void fail_here(struct engine *e, struct unit *u, const char *text, int64_t now);
/* The parts of judging that the log repeats: remembers the story, and pays; false: used up. */
void fail_remember(struct engine *e, const struct failure *f);
bool fail_afford(struct engine *e, struct unit *u, bool counted, enum fail_class cls, int64_t now);
void fail_give_up_side(struct engine *e, struct unit *u, bool gone);

/* ---- engine_restart.c ---- */
/* Prepares an ended task again: where it is, or in another container when it has none. */
void again_unit(struct engine *e, struct unit *u, int64_t now);
void again_later(struct engine *e, struct unit *u, int64_t delay, const char *reason, int64_t now);
/* The tasks of a container that is gone wait for another one, which is asked for. */
void again_slot(struct engine *e, struct slot *s, int64_t now);
void again_gang(struct engine *e, const char *reason, int64_t delay, int64_t now);
void again_stop_all(struct engine *e, int64_t delay, int64_t now); /* its beginning */
void again_look(struct engine *e, int64_t now);                    /* has everybody been stopped? */
void again_stop(struct engine *e, struct unit *u, int64_t grace, int64_t now);

/* ---- engine_end.c ---- */
struct ending {
    enum job_state final;
    int exit; /* 0 with by_task: the story's */
    bool by_task;
    const char *text; /* a sentence */
};
void end_begin(struct engine *e, const struct ending *how, int64_t now);
void end_look(struct engine *e, int64_t now); /* has everybody ended? */
void end_kill_rest(struct engine *e, int64_t now);
/* Success, when every deciding task has succeeded. */
void fail_or_not(struct engine *e, int64_t now);

/* ---- engine_commands.c ---- */
int engine_is_running(const struct engine *e, struct err *err); /* or why nothing can be asked */
/* Slots and tasks join or are retired; the role has slots enough. */
void person_scale(struct engine *e, struct role *r, uint32_t count, int64_t now);

/* ---- engine_leaving.c ---- */
#define LEAVING_TEXT "the cluster takes its container back"
/* Gives a container that the platform takes back away, once nothing runs in it any more. */
void leaving_look(struct engine *e, struct slot *s, int64_t now);
/* A container that is being moved is gone: another one is asked for, and nobody has failed. */
void leaving_move(struct engine *e, struct slot *s, enum fail_class cls, int64_t now);
/* Its tasks are told to end, to be started in another container. */
void leaving_begin_move(struct engine *e, struct slot *s, int64_t now);
/* The agent does not have a task that does not run: it is prepared, or prepared again. */
void leaving_prepare(struct engine *e, struct unit *u, int64_t now);

/* ---- engine_restore.c ---- */
/* Forgets what was read since the engine last was at rest; its tasks are told again. */
void restore_drop(struct engine *e, int64_t now);

/* ---- engine_resume.c ---- */
/* The agent of a slot that was away is there: the same, or a new one that has nothing. */
void resume_slot(struct engine *e, struct slot *s, const char *text, int64_t now);
void resume_settle(struct engine *e, int64_t now); /* once all are back */
