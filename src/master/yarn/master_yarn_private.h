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
