/* hub.c - output of tasks and events, to whoever reads them.
 *
 * A reader (follower) has a position in every task's output and a queue with a ceiling. Agents send
 * pieces as long as they have credit, which comes back to them as pieces find a reader with room. A
 * reader whose queue is full misses pieces; when it has caught up the agent is told to go back to
 * its position. So nobody waits for a slow reader, nothing is kept for one, and nothing is lost. */
#include "master/api/hub_private.h"

#include <string.h>

#define CREDIT (4 * MIB)        /* that an agent begins with */
#define CREDIT_STEP (256 * KIB) /* given back in steps of at least so much */

/* ---- telling agents ---- */

/* Offsets are counted twice over: readers count from the task's first byte ever, the agent from the
 * first byte of its own files; `base` is the difference, what the task wrote elsewhere before it
 * moved there. */
static void follow_task(struct agent_conn *a, uint32_t task, const struct place *from)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Follow body = AGENT__FOLLOW__INIT;
    Agent__Follow__One one = AGENT__FOLLOW__ONE__INIT, *list[] = { &one };

    if (from) {
        const struct feed *d = &a->master->hub->feeds[task];

        one.task = task;
        one.out_offset = from->at[OUT] > d->base[OUT] ? from->at[OUT] - d->base[OUT] : 0;
        one.err_offset = from->at[ERR] > d->base[ERR] ? from->at[ERR] - d->base[ERR] : 0;
        one.mark = from->mark;
        body.tasks = list;
        body.n_tasks = 1;
    }
    body.credit = a->credited ? a->credit_due : CREDIT;
    a->credited = true;
    a->credit_due = 0;
    msg.body_case = AGENT__TO_AGENT__BODY_FOLLOW;
    msg.follow = &body;
    outbox_send(a, &msg);
}

/* What was written on a machine that the task has left is not to be had any more. */
static void skip_left(struct follower *f, uint32_t task)
{
    for (int s = OUT; s < STREAMS; s++)
        if (f->places[task].at[s] < f->master->hub->feeds[task].base[s])
            f->places[task].at[s] = f->master->hub->feeds[task].base[s];
}

bool hub_wants(const struct follower *f, int stream)
{
    return stream == ERR ? f->opt->err : f->opt->out;
}

/* Is this stream on its way to the reader, from where it stands? One that has all it wants stands
 * still, wherever the agent is. */
static bool is_served(const struct follower *f, uint32_t task, int stream)
{
    const struct place *at = task < f->n_places ? &f->places[task] : NULL;

    return at && at->wanted && !at->missed &&
           (!hub_wants(f, stream) || at->at[stream] < at->until[stream]);
}

/* The agent has one position in a file for all readers: the first one that any of them waits for.
 * Were it sent ahead to this reader's, the others would miss what lies between. False when it is on
 * its way there already. */
static bool first_wanted(const struct follower *f, uint32_t task, struct place *ret)
{
    bool comes[STREAMS] = { false };

    *ret = f->places[task];
    for (const struct follower *o = f->master->hub->followers; o; o = o->next) {
        for (int s = OUT; s < STREAMS; s++) {
            if (o == f || !is_served(o, task, s))
                continue;
            comes[s] |= o->places[task].at[s] <= f->places[task].at[s];
            if (o->places[task].at[s] < ret->at[s])
                ret->at[s] = o->places[task].at[s];
        }
    }
    return !comes[OUT] || !comes[ERR];
}

void hub_request(struct follower *f, uint32_t task)
{
    struct master *m = f->master;
    const struct task *t = engine_task(m->engine, task);
    struct agent_conn *a = agents_get(m, t->agent);
    struct place from;
    bool go;

    f->places[task].missed = false;
    skip_left(f, task);
    if (!f->opt->follow && f->places[task].mark == 0)
        f->places[task].mark = ++m->hub->last_mark;
    go = first_wanted(f, task, &from) || from.mark > 0;
    if (m->hub->feeds[task].started && a && a->channel && (go || a->credit_due > 0))
        follow_task(a, task, go ? &from : NULL);
}

/* Nothing is on its way to anybody: each has to ask, and none may count on another. */
static void request_anew(struct master *m, uint32_t task)
{
    for (struct follower *f = m->hub->followers; f; f = f->next)
        if (task < f->n_places)
            f->places[task].missed = true;
    for (struct follower *f = m->hub->followers; f; f = f->next)
        if (task < f->n_places && f->places[task].wanted)
            hub_request(f, task);
}

/* ---- who wants what ---- */

static bool names_task(const char *list, const char *task, const char *role)
{
    size_t n, t = strlen(task), r = strlen(role);

    for (; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if ((n == t && memcmp(list, task, n) == 0) || (n == r && memcmp(list, role, n) == 0))
            return true;
    }
    return false;
}

int hub_grow_places(struct follower *f, struct err *err)
{
    struct master *m = f->master;
    uint32_t n = engine_n_tasks(m->engine);
    struct place *v;

    if (n <= f->n_places)
        return 0;
    v = realloc(f->places, n * sizeof(*v));
    if (!v)
        return err_oom(err);
    f->places = v;
    for (uint32_t i = f->n_places; i < n; i++) {
        char name[ENGINE_NAME_MAX];
        const char *role = m->spec.roles[engine_task(m->engine, i)->role].name;

        v[i] = (struct place){ .until = { UINT64_MAX, UINT64_MAX } };
        if (f->opt->tail > 0)
            v[i].at[OUT] = v[i].at[ERR] = HUB_FAR;
        v[i].wanted =
            f->opt->logs && (!f->opt->tasks ||
                             names_task(f->opt->tasks, engine_task_name(m->engine, i, name), role));
    }
    f->n_places = n;
    return 0;
}

int hub_grow_feeds(struct master *m)
{
    uint32_t n = engine_n_tasks(m->engine);
    struct feed *v;

    if (n <= m->hub->n_feeds)
        return 0;
    v = realloc(m->hub->feeds, n * sizeof(*v));
    if (!v)
        return -ENOMEM;
    memset(v + m->hub->n_feeds, 0, (n - m->hub->n_feeds) * sizeof(*v));
    m->hub->feeds = v;
    m->hub->n_feeds = n;
    return 0;
}

bool hub_has_files(const struct master *m)
{
    return !m->platform || !m->platform->ops->apart;
}

/* A file of its own on each machine; on one machine all agents write to the same. */
static bool has_moved(const struct master *m, uint32_t task)
{
    const struct feed *d = &m->hub->feeds[task];

    return d->started && d->agent != engine_task(m->engine, task)->agent && !hub_has_files(m);
}

/* `seen` is the farthest byte that any reader could know of: what follows on the new machine begins
 * there, so that no offset is used twice. */
static void note_move(struct master *m, uint32_t task)
{
    struct feed *d = &m->hub->feeds[task];

    d->began = hub_began(m, task);
    if (d->began == 0)
        d->began = engine_task(m->engine, task)->attempt + 1;
    hub_base(m, task, &d->base[OUT], &d->base[ERR]);
    d->agent = engine_task(m->engine, task)->agent;
}

void hub_base(const struct master *m, uint32_t task, uint64_t *ret_out, uint64_t *ret_err)
{
    const struct feed *d = task < m->hub->n_feeds ? &m->hub->feeds[task] : NULL;
    const uint64_t *base = NULL;

    if (d)
        base = has_moved(m, task) ? d->seen : d->base;
    *ret_out = base ? base[OUT] : 0;
    *ret_err = base ? base[ERR] : 0;
}

uint32_t hub_began(const struct master *m, uint32_t task)
{
    if (hub_has_files(m)) /* one file for all attempts, also for one that nobody reported */
        return 1;
    return task < m->hub->n_feeds && !has_moved(m, task) ? m->hub->feeds[task].began : 0;
}

void hub_follow_again(struct agent_conn *a)
{
    struct master *m = a->master;

    a->credited = false;
    a->credit_due = 0;
    for (uint32_t i = 0; i < m->hub->n_feeds; i++)
        if (m->hub->feeds[i].agent == a->number)
            request_anew(m, i);
}

/* Each start breaks what was under way: the agent, or its file, may be another one. */
void hub_task_started(struct master *m, uint32_t task)
{
    if (hub_grow_feeds(m) < 0)
        return;
    note_move(m, task);
    m->hub->feeds[task].started = true;
    m->hub->feeds[task].ended = m->hub->feeds[task].lost = false;
    for (struct follower *f = m->hub->followers; f; f = f->next)
        (void)hub_grow_places(f, NULL); /* one that cannot grow sees less */
    request_anew(m, task);
}

/* An agent that follows one that was killed goes on in its files: a new master hears of them here.
 */
void hub_task_place(struct master *m, const Agent__StartedTask *s)
{
    struct feed *d = hub_grow_feeds(m) < 0 ? NULL : &m->hub->feeds[s->task];

    if (d) {
        d->saved[OUT] = s->out_saved;
        d->saved[ERR] = s->err_saved;
    }
    if (!d || d->started || s->log_began == 0)
        return;
    d->began = s->log_began;
    d->base[OUT] = s->out_base;
    d->base[ERR] = s->err_base;
    for (int i = OUT; i < STREAMS; i++)
        if (d->seen[i] < d->base[i])
            d->seen[i] = d->base[i];
}

/* One that we have heard of before is known better here. */
void hub_task_held(struct master *m, const Agent__HeldTask *h)
{
    const uint64_t base[] = { h->out_base, h->err_base }, size[] = { h->out_size, h->err_size };
    struct feed *d;

    if (hub_grow_feeds(m) < 0)
        return;
    d = &m->hub->feeds[h->task];
    d->saved[OUT] = h->out_saved;
    d->saved[ERR] = h->err_saved;
    for (int s = OUT; s < STREAMS; s++) {
        if (!d->started) {
            d->base[s] = base[s];
            d->began = h->log_began;
        }
        if (d->base[s] + size[s] > d->seen[s])
            d->seen[s] = d->base[s] + size[s];
    }
    hub_task_started(m, h->task);
}

static int add_saved(json_t *task, const struct feed *d)
{
    json_t *both = d->saved[OUT] || d->saved[ERR]
                       ? json_pack("[I, I]", (json_int_t)d->saved[OUT], (json_int_t)d->saved[ERR])
                       : NULL;

    if (!both && (d->saved[OUT] || d->saved[ERR]))
        return -ENOMEM;
    return both ? json_object_set_new(task, "saved_files", both) : 0;
}

int hub_add_saved(struct master *m, json_t *status, struct err *err)
{
    json_t *tasks = json_object_get(status, "tasks"), *task;
    uint32_t id = 0;
    size_t i;

    json_array_foreach(tasks, i, task)
    {
        const char *name = json_string_value(json_object_get(task, "task"));

        if (name && engine_find_task(m->engine, name, &id, NULL) == 0 && id < m->hub->n_feeds &&
            add_saved(task, &m->hub->feeds[id]) < 0)
            return err_oom(err);
    }
    return 0;
}

void hub_task_ended(struct master *m, uint32_t task, uint64_t out_bytes, uint64_t err_bytes)
{
    struct feed *d;

    if (hub_grow_feeds(m) < 0)
        return;
    d = &m->hub->feeds[task];
    d->ended = true;
    for (int s = OUT; s < STREAMS; s++) {
        d->size[s] = d->base[s] + (s == OUT ? out_bytes : err_bytes);
        d->seen[s] = d->size[s] > d->seen[s] ? d->size[s] : d->seen[s];
    }
    for (struct follower *f = m->hub->followers; f; f = f->next)
        cond_wake_all(&f->wake);
}

void hub_task_ran(struct master *m, uint32_t task)
{
    if (hub_grow_feeds(m) == 0)
        m->hub->feeds[task].ran = true;
}

/* An agent that is killed may have started a task that we did not hear of: on one machine its files
 * are here, if there are any. What was saved before is sent again by nobody until the next agent in
 * the container says that it does. */
void hub_task_lost(struct master *m, uint32_t task)
{
    struct feed *d;

    if (hub_grow_feeds(m) < 0)
        return;
    d = &m->hub->feeds[task];
    d->lost = d->started || hub_has_files(m);
    d->saved[OUT] = d->saved[ERR] = 0;
}

/* ---- pieces ---- */

/* The line before a piece. */
static int hub_put_head(struct follower *f, uint32_t task, int stream, size_t n)
{
    char name[ENGINE_NAME_MAX];
    const struct feed *d = &f->master->hub->feeds[task];
    int r =
        buf_printf(&f->queue, "{\"task\":\"%s\",\"stream\":\"%s\",\"offset\":%llu,\"len\":%zu",
                   engine_task_name(f->master->engine, task, name), stream == ERR ? "err" : "out",
                   (unsigned long long)f->places[task].at[stream], n);

    if (r >= 0 && d->began > 1)
        r = buf_printf(&f->queue, ",\"began\":%u", d->began);
    if (r >= 0 && d->saved[stream] > 0)
        r = buf_printf(&f->queue, ",\"saved\":%llu", (unsigned long long)d->saved[stream]);
    return r < 0 ? r : buf_add(&f->queue, "}\n", 2);
}

int hub_put(struct follower *f, uint32_t task, int stream, const uint8_t *p, size_t n)
{
    if (f->queue.len + n + 220 > HUB_QUEUE_MAX)
        return -E2BIG;
    if ((!f->opt->plain && hub_put_head(f, task, stream, n) < 0) || buf_add(&f->queue, p, n) < 0)
        return -ENOMEM;
    f->places[task].at[stream] += n;
    cond_wake_all(&f->wake);
    return 0;
}

/* The agent is told where that is when the reader is seen to miss what comes. */
void hub_place_tail(struct follower *f, uint32_t task, int stream, uint64_t size)
{
    struct place *at = &f->places[task];
    uint64_t begin = size > f->opt->tail ? size - f->opt->tail : 0;

    if (f->opt->tail == 0 || at->at[stream] != HUB_FAR || !hub_wants(f, stream))
        return;
    at->at[stream] = begin;
    if (f->opt->plain && begin > 0) /* without memory for it just the output comes */
        (void)buf_printf(&f->queue, "[%llu bytes before this are left out]\n",
                         (unsigned long long)begin);
}

/* Marks count up: a later one answers all that were before it. */
static void hub_note_size(struct follower *f, const Agent__OutputPiece *piece, uint64_t base)
{
    struct place *at = &f->places[piece->task];
    int stream = piece->err ? ERR : OUT;

    if (f->opt->follow || piece->mark == 0 || piece->mark < at->mark ||
        at->until[stream] != UINT64_MAX)
        return;
    at->until[stream] = base + piece->size;
    hub_place_tail(f, piece->task, stream, at->until[stream]);
    cond_wake_all(&f->wake);
}

/* One reader's share of a piece: what lies beyond its position, if the piece reaches back to it.
 *
 *     piece        |----begin=======end----|
 *     reader at         between: takes the rest;  before: has missed something;  behind: has it
 *
 * A gap moves the reader forward, as what lies between is gone for good. */
static bool offer(struct follower *f, const Agent__OutputPiece *piece)
{
    int stream = piece->err ? ERR : OUT;
    struct place *at = piece->task < f->n_places ? &f->places[piece->task] : NULL;
    uint64_t base = f->master->hub->feeds[piece->task].base[stream];
    uint64_t begin = base + piece->offset, end = begin + piece->data.len, skip;

    if (!at || !at->wanted || at->missed)
        return false;
    hub_note_size(f, piece, base);
    if (!hub_wants(f, stream)) {
        at->at[stream] = end > at->at[stream] ? end : at->at[stream];
        return true;
    }
    if (piece->gap && begin > at->at[stream])
        at->at[stream] = begin;
    if (end > at->until[stream])
        end = at->until[stream];
    if (end <= at->at[stream])
        return true; /* another reader went back, or this one has all that it wants */
    if (begin > at->at[stream]) {
        at->missed = true;
        cond_wake_all(&f->wake); /* it may have nothing else to do than ask */
        return false;
    }
    skip = at->at[stream] - begin;
    if (hub_put(f, piece->task, stream, piece->data.data + skip, end - begin - skip) < 0) {
        at->missed = true;
        return false;
    }
    return true;
}

/* Credit comes back in larger steps and only while somebody takes what comes. An agent whose
 * readers are all full runs out of credit and stops; the first that has room asks anew, and credit
 * goes with it. */
void hub_output(struct agent_conn *a, const Agent__OutputPiece *piece)
{
    struct master *m = a->master;
    struct feed *d = piece->task < m->hub->n_feeds ? &m->hub->feeds[piece->task] : NULL;
    int stream = piece->err ? ERR : OUT;
    bool taken = false;

    if (!d || d->agent != a->number)
        return; /* of a file that is not the task's any more */
    if (d->base[stream] + piece->offset + piece->data.len > d->seen[stream])
        d->seen[stream] = d->base[stream] + piece->offset + piece->data.len;

    for (struct follower *f = m->hub->followers; f; f = f->next)
        taken |= offer(f, piece);
    /* What nobody took comes again when a reader asks for it: its credit comes back then. */
    a->credit_due += piece->data.len;
    if (taken && a->credit_due >= CREDIT_STEP)
        follow_task(a, 0, NULL);
}

void hub_wake(struct master *m)
{
    for (struct follower *f = m->hub->followers; f; f = f->next)
        cond_wake_all(&f->wake);
}

int hub_new(struct hub **ret, struct err *err)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : err_oom(err);
}

struct hub *hub_free(struct hub *h)
{
    if (h)
        free(h->feeds);
    free(h);
    return NULL;
}
