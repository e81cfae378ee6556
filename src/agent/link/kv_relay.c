/* kv_relay.c - requests to the job's key-value store, which lives in the master: fibers that serve
 * a task's socket ask and wait for the master's answer. */
#include "agent/link/kv_relay.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"

#include <string.h>
#include <sys/random.h>

struct waiting {
    struct agent_task *task;
    const struct kvline_word *words; /* of the fiber that waits */
    size_t n_words;
    uint64_t id;
    struct buf *answer;
    struct cond changed;
    int result;
    bool done;
    struct waiting *next;
};

struct relay {
    uint64_t last_id;
    struct waiting *first;
    bool stopped;
};

static struct relay *relay_of(struct agent *a)
{
    uint32_t salt = 0;

    if (a->link.relay)
        return a->link.relay;
    a->link.relay = calloc(1, sizeof(*a->link.relay));
    /* The master identifies requests by their numbers, so we start at a random one: an earlier
     * agent of this container, or of this task, must not have used the same numbers. */
    (void)!getrandom(&salt, sizeof(salt), GRND_NONBLOCK);
    if (a->link.relay)
        a->link.relay->last_id = (uint64_t)salt << 31;
    return a->link.relay;
}

/* The wait is on this fiber's stack and in the list until it is answered. There is no deadline: a
 * barrier may take hours, and the request has its own timeout, which the master keeps. A master
 * that is lost meanwhile is asked again by relay_again(), under the same number. */
int relay_ask(struct agent_task *t, const struct kvline_word *words, size_t n, struct buf *ret)
{
    struct agent *a = t->agent;
    struct relay *rl = relay_of(a);
    struct waiting w = { .task = t, .words = words, .n_words = n, .answer = ret }, **at;
    int r = 0;

    if (!rl)
        return -ENOMEM;
    if (rl->stopped)
        return -ECONNABORTED;
    w.id = ++rl->last_id;
    w.next = rl->first;
    rl->first = &w;
    report_kv(t, w.id, words, n);
    while (!w.done && r == 0) /* the master answers, the task ends, or we leave */
        r = cond_wait(a->loop, &w.changed, LOOP_NEVER);
    for (at = &rl->first; *at != &w; at = &(*at)->next)
        ;
    *at = w.next;
    return w.done ? w.result : r;
}

static int copy_words(struct buf *to, const Agent__KvReply *m)
{
    int r = 0;

    for (size_t i = 0; i < m->n_words && r == 0; i++) {
        r = buf_add_be32(to, (uint32_t)m->words[i].len);
        if (r == 0 && m->words[i].len)
            r = buf_add(to, m->words[i].data, m->words[i].len);
    }
    return r;
}

bool relay_next(struct view *answer, struct kvline_word *ret)
{
    uint32_t n = view_be32(answer);

    ret->p = view_bytes(answer, n);
    ret->n = n;
    return ret->p && !answer->bad;
}

void relay_answer(struct agent *a, const Agent__KvReplies *m)
{
    for (size_t i = 0; i < m->n_replies && a->link.relay; i++) {
        const Agent__KvReply *reply = m->replies[i];
        struct waiting *w = a->link.relay->first;

        while (w && (w->id != reply->id || w->task->id != reply->task))
            w = w->next;
        if (!w || w->done)
            continue; /* nobody waits for it any more */
        w->result = copy_words(w->answer, reply);
        w->done = true;
        cond_wake_all(&w->changed);
    }
}

/* A master that only lost the connection knows the numbers, and does nothing twice. Nor does the
 * successor of one that died: what was answered, and how, is in the store's log. */
void relay_again(struct agent *a)
{
    for (struct waiting *w = a->link.relay ? a->link.relay->first : NULL; w; w = w->next)
        if (!w->done)
            report_kv(w->task, w->id, w->words, w->n_words);
}

/* Everybody who waits gets an error, and so does who asks later: the fibers that serve tasks'
 * sockets must end before the loop does. */
void relay_stop(struct agent *a)
{
    struct relay *rl = relay_of(a);

    if (!rl)
        return;
    rl->stopped = true;
    for (struct waiting *w = rl->first; w; w = w->next) {
        if (w->done)
            continue;
        w->result = -ECONNABORTED;
        w->done = true;
        cond_wake_all(&w->changed);
    }
}
