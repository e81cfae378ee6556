/* hub_private.h - what hub.c (output as it comes from agents) and hub_read.c (its readers) share.
 */
#pragma once
#include "master/master_private.h"

#define HUB_QUEUE_MAX (2 * EVENT_LINE_MAX) /* add_events() adds one of these to a quarter of it */

enum { OUT, ERR, STREAMS };

/* What is known of a task's output. One that moved to another machine begins a new file there: its
 * first byte is the `base`-th of the output as readers see it. */
struct feed {
    bool started, ended, lost;
    bool ran;       /* it was started under a master before us; its agent may never tell us so */
    uint32_t agent; /* that has the file */
    /* The start of the task, counted from 1, that the file begins with. It tells files apart for a
     * reader of ours who was another master's: we do not know how long that one's file was. */
    uint32_t began;
    uint64_t base[STREAMS];
    uint64_t seen[STREAMS]; /* bytes that agents have sent, or said that there are */
    uint64_t size[STREAMS]; /* once ended */
    /* The file in HDFS that has the beginning of what its agent sends, saved by an agent that died
     * in the same container: its number there. 0: none. */
    uint64_t saved[STREAMS];
};

struct place {
    uint64_t at[STREAMS];
    /* Who does not follow wants what was there when it asked: the agent says how much that is, in
     * answer to the request with this mark. UINT64_MAX: it has not yet. Who wants the end alone
     * stands far behind it until then, so that nothing else is sent. */
    uint64_t until[STREAMS], mark;
    bool wanted, missed;
};

struct hub {
    struct feed *feeds; /* by task: what is known of its output */
    uint32_t n_feeds;
    struct follower *followers;
    struct cond left;   /* one of them has gone */
    uint64_t last_mark; /* of a question how much there is */
};

struct follower {
    struct master *master;
    struct follower *prev, *next;
    const struct follow_options *opt;
    struct place *places; /* by task */
    uint32_t n_places;
    struct buf queue;
    uint64_t journal_at, live_at;
    int64_t moved; /* when it last took something */
    struct cond wake;
};

#define HUB_FAR (UINT64_MAX / 2)

/* Are the files of all tasks on this machine? */
bool hub_has_files(const struct master *m);
int hub_grow_feeds(struct master *m);
int hub_grow_places(struct follower *f, struct err *err);
/* The agent goes back (or on) to where this reader is. */
void hub_request(struct follower *f, uint32_t task);
bool hub_wants(const struct follower *f, int stream);
/* Output that ends at `size` is what a reader of its end wants: it goes back to where that begins.
 */
void hub_place_tail(struct follower *f, uint32_t task, int stream, uint64_t size);
/* Queues a piece that begins where the reader is. -E2BIG when its queue is full. */
int hub_put(struct follower *f, uint32_t task, int stream, const uint8_t *p, size_t n);
