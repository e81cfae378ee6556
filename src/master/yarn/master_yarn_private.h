/* master_yarn_private.h - what a master keeps in a container of YARN, and its hooks. Loop thread
 * only. */
#pragma once
#include "master/master_private.h"
#include "master/yarn/kvlog.h"
#include "master/yarn/log_summary.h"
#include "master/yarn/master_container.h"
#include "platform/yarn/yarn_platform.h"

/* The log of the key-value store: kvlog.c, kvanswer.c. */
struct kv_copy {
    struct journal journal; /* what changes in the store, … */
    struct mirror *mirror;  /* … and its copy; NULL: nothing has */
    uint64_t max;           /* bytes of that journal; 0: the usual */
    uint64_t base;          /* of which everything took so many when it last began */
    struct held_answers held;
    bool unlogged; /* what changes in the store cannot be written down */
};

struct master_yarn {                    /* master_options.side */
    struct master_container *container; /* borrowed, changed */
    struct yarn_options platform;
    int api_port;
    struct page *page; /* what the tracking URL leads to */
    char *page_url;
    struct fiber *announcer;
    struct enrolled *enrolled; /* the job in YARN's registry; NULL: there is none */
    struct keytab_watch *keytab_watch;
    struct outputs *outputs;   /* whose output is not in HDFS yet; NULL: nobody's */
    struct recovery *recovery; /* what earlier masters left, until it is taken over */
    uint64_t recovered;        /* bytes of the journal that the masters before us wrote */
    struct mirror *mirror;     /* the journal's copy in HDFS */
    struct summary summary;
    struct kv_copy kv;
    int64_t no_rival_at; /* HDFS named no later master, in a look that began then */
};
#define MASTER_YARN_INIT(c)                                                                        \
    {                                                                                              \
        .container = (c), .kv = {.journal = { .fd = -1 } }                                         \
    }

extern const struct master_ops master_yarn_ops;

static inline struct master_yarn *yarn_of(const struct master *m)
{
    return m->side;
}

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
/* The same; true, too, when there is no use in waiting. */
bool mirror_holds_events(const struct master *m, uint64_t bytes);
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

/* ---- job_page_http.c ---- */
int page_start(struct master *m, struct err *err); /* sets page_url */
void page_find_proxies(struct master *m);          /* until then nobody may look. Fibers only */
void page_stop(struct master *m);

/* ---- recover.c ---- */
/* Takes a job over from the masters before us: reads what they wrote, and makes engine, journal,
 * slots and agents what they were. 1 when there was something, 0 when the job begins here. The
 * platform has just been made. Fibers only. */
int recover_job(struct master *m, struct err *err);
const struct agent_log *recover_agents(const struct master *m); /* between the two */
/* Reads the log; before the platform is made. */
int recover_read(struct master *m, struct err *err);
void recover_done(struct master *m); /* what was read is not needed any more */

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

/* ---- yarn_welcome.c ---- */
int yarn_welcome(const struct master *m, struct strs *env, Agent__Welcome *welcome,
                 Agent__JobFacts *facts);
bool yarn_results_wanted(const struct master *m);
int yarn_results(const struct master *m, struct results *r);
const char *yarn_results_waiting(const struct master *m, const char *to);
