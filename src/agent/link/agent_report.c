/* agent_report.c - messages to the master, in batches.
 *
 * Events are collected until the loop is about to wait and then sent, one message per kind. A
 * thousand tasks that end together cost a few dozen messages and one write. */
#include "agent/link/agent_report.h"
#include "agent/agent_private.h"
#include "agent/link/resync.h"
#include "agent/output/export.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"
#include "loop/loop.h"

#include <string.h>

#define BATCH_BYTES (256 * KIB) /* of one message, more or less */

/* A list of messages of one kind, owned with all they point to. */
struct list {
    void **v;
    size_t n, cap;
};

struct report {
    uv_prepare_t before_wait;
    struct list prepared, started, exited, kv;
    uint32_t *ready;
    size_t n_ready, cap_ready;
    bool hold; /* nothing goes out */
};

/* ---- gathering ---- */

/* libuv calls prepare handles just before it waits for events: by then everything that happened in
 * this turn has been gathered. It stops itself and is started again by the next report, so an idle
 * agent does not run it. */
static void on_before_wait(uv_prepare_t *h)
{
    uv_prepare_stop(h);
    report_flush(h->data);
}

int report_init(struct agent *a, struct err *err)
{
    struct report *r = calloc(1, sizeof(*r));

    if (!r)
        return err_oom(err);
    uv_prepare_init(loop_uv(a->loop), &r->before_wait);
    r->before_wait.data = a;
    a->link.report = r;
    return 0;
}

static void report_out_of_memory(struct agent *a)
{
    agent_break(a, -ENOMEM, "report to the master");
}

/* Takes `m` over, also when it fails. */
static void report_gather(struct agent *a, struct list *l, ProtobufCMessage *m)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        void **v = reallocarray(l->v, cap, sizeof(*v));

        if (!v) {
            protobuf_c_message_free_unpacked(m, NULL);
            report_out_of_memory(a);
            return;
        }
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = m;
    uv_prepare_start(&a->link.report->before_wait, on_before_wait);
}

static void report_forget(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        protobuf_c_message_free_unpacked(l->v[i], NULL);
    free(l->v);
    *l = (struct list){ 0 };
}

/* protobuf-c's empty string is a constant that is never freed. */
static char *text_copy(const char *s)
{
    return s && *s ? strdup(s) : (char *)protobuf_c_empty_string;
}

static int bytes_copy(ProtobufCBinaryData *to, const void *p, size_t n)
{
    to->data = n ? malloc(n) : NULL;
    to->len = to->data ? n : 0;
    if (!n)
        return 0;
    if (!to->data)
        return -ENOMEM;
    memcpy(to->data, p, n);
    return 0;
}

void report_prepared(struct agent_task *t, enum fail_class fail, const char *text)
{
    Agent__PreparedTask *m = calloc(1, sizeof(*m));

    if (!m) {
        report_out_of_memory(t->agent);
        return;
    }
    agent__prepared_task__init(m);
    m->task = t->id;
    m->fail = fail;
    m->text = text_copy(text);
    m->ports =
        fail == FAIL_NONE && t->prep.n_ports ? calloc(t->prep.n_ports, sizeof(*m->ports)) : NULL;
    m->n_ports = m->ports ? t->prep.n_ports : 0;
    for (size_t i = 0; i < m->n_ports; i++)
        m->ports[i] = t->prep.ports[i].number;
    if (!m->text || (fail == FAIL_NONE && m->n_ports != t->prep.n_ports)) {
        agent__prepared_task__free_unpacked(m, NULL);
        report_out_of_memory(t->agent);
        return;
    }
    report_gather(t->agent, &t->agent->link.report->prepared, &m->base);
}

void report_started(struct agent_task *t)
{
    Agent__StartedTask *m = calloc(1, sizeof(*m));

    if (!m) {
        report_out_of_memory(t->agent);
        return;
    }
    agent__started_task__init(m);
    m->task = t->id;
    m->pid = t->process.pid;
    m->when = loop_wall();
    m->attempt = t->start.attempt;
    m->generation = t->start.generation;
    m->log_began = t->output.began;
    m->out_base = t->output.base[0];
    m->err_base = t->output.base[1];
    m->out_saved = output_saved(t->agent, t->label, "out");
    m->err_saved = output_saved(t->agent, t->label, "err");
    report_gather(t->agent, &t->agent->link.report->started, &m->base);
}

/* The container is being killed, and the task with it. The ResourceManager knows why and tells the
 * master; anything we said would only be earlier, not right. */
static bool is_taken_along(const struct agent_task *t)
{
    return t->agent->platform->told_by_rm && t->agent->life.signal;
}

/* Kept for a new master before it is sent (resync_keep()). The copy owns its text, because `end`
 * points to the caller's stack. */
void report_exited(struct agent_task *t, const Agent__ExitedTask *end)
{
    Agent__ExitedTask *m;

    if (is_taken_along(t))
        return;
    m = malloc(sizeof(*m));
    if (!m) {
        report_out_of_memory(t->agent);
        return;
    }
    *m = *end;
    resync_keep(t, end);
    m->text = text_copy(end->text);
    if (bytes_copy(&m->lines, end->lines.data, end->lines.len) < 0 || !m->text ||
        bytes_copy(&m->error_file, end->error_file.data, end->error_file.len) < 0) {
        agent__exited_task__free_unpacked(m, NULL);
        report_out_of_memory(t->agent);
        return;
    }
    report_gather(t->agent, &t->agent->link.report->exited, &m->base);
}

void report_exited_again(struct agent *a, Agent__ExitedTask *m)
{
    if (m)
        report_gather(a, &a->link.report->exited, &m->base);
    else
        report_out_of_memory(a);
}

void report_ready(struct agent_task *t)
{
    struct report *r = t->agent->link.report;

    t->readiness.ready = true;
    if (r->n_ready == r->cap_ready) {
        size_t cap = r->cap_ready ? 2 * r->cap_ready : 16;
        uint32_t *v = reallocarray(r->ready, cap, sizeof(*v));

        if (!v) {
            report_out_of_memory(t->agent);
            return;
        }
        r->ready = v;
        r->cap_ready = cap;
    }
    r->ready[r->n_ready++] = t->id;
    uv_prepare_start(&r->before_wait, on_before_wait);
}

static Agent__KvRequest *kv_message(const struct kvline_word *words, size_t n)
{
    Agent__KvRequest *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    agent__kv_request__init(m);
    m->words = calloc(n, sizeof(*m->words));
    while (m->words && m->n_words < n) {
        const struct kvline_word *w = &words[m->n_words];

        if (bytes_copy(&m->words[m->n_words], w->p, w->n) < 0)
            break;
        m->n_words++;
    }
    if (m->n_words == n)
        return m;
    agent__kv_request__free_unpacked(m, NULL);
    return NULL;
}

void report_kv(struct agent_task *t, uint64_t id, const struct kvline_word *words, size_t n)
{
    Agent__KvRequest *m = kv_message(words, n);

    if (!m) {
        report_out_of_memory(t->agent);
        return;
    }
    m->task = t->id;
    m->id = id;
    report_gather(t->agent, &t->agent->link.report->kv, &m->base);
}

/* ---- sending ---- */

int report_send(struct agent *a, const Agent__ToMaster *m)
{
    struct err err = ERR_INIT;
    int r = a->link.channel && !a->link.report->hold ? channel_send(a->link.channel, &m->base, &err)
                                                     : -ENOTCONN;

    if (r < 0 && r != -ENOTCONN)
        trace(LOG_AGENT, "not sent: %s", err.text);
    return r;
}

/* Sends a list in messages of about BATCH_BYTES. `set` puts a part of it into one. */
static void send_list(struct agent *a, struct list *l, void (*set)(struct agent *, void **, size_t))
{
    size_t first = 0, bytes = 0;

    for (size_t i = 0; i < l->n; i++) {
        bytes += protobuf_c_message_get_packed_size(l->v[i]);
        if (bytes < BATCH_BYTES && i + 1 < l->n)
            continue;
        set(a, l->v + first, i + 1 - first);
        first = i + 1;
        bytes = 0;
    }
    report_forget(l);
}

static void send_prepared(struct agent *a, void **v, size_t n)
{
    Agent__Prepared body = AGENT__PREPARED__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    body.tasks = (Agent__PreparedTask **)v;
    body.n_tasks = n;
    m.prepared = &body;
    m.body_case = AGENT__TO_MASTER__BODY_PREPARED;
    (void)report_send(a, &m);
}

static void send_started(struct agent *a, void **v, size_t n)
{
    Agent__Started body = AGENT__STARTED__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    body.tasks = (Agent__StartedTask **)v;
    body.n_tasks = n;
    m.started = &body;
    m.body_case = AGENT__TO_MASTER__BODY_STARTED;
    (void)report_send(a, &m);
}

static void send_exited(struct agent *a, void **v, size_t n)
{
    Agent__Exited body = AGENT__EXITED__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    body.tasks = (Agent__ExitedTask **)v;
    body.n_tasks = n;
    m.exited = &body;
    m.body_case = AGENT__TO_MASTER__BODY_EXITED;
    (void)report_send(a, &m);
}

static void send_kv(struct agent *a, void **v, size_t n)
{
    Agent__KvRequests body = AGENT__KV_REQUESTS__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    body.requests = (Agent__KvRequest **)v;
    body.n_requests = n;
    m.kv = &body;
    m.body_case = AGENT__TO_MASTER__BODY_KV;
    (void)report_send(a, &m);
}

static void send_ready(struct agent *a)
{
    struct report *r = a->link.report;
    Agent__ReadyNow body = AGENT__READY_NOW__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    if (r->n_ready == 0)
        return;
    body.tasks = r->ready;
    body.n_tasks = r->n_ready;
    m.ready = &body;
    m.body_case = AGENT__TO_MASTER__BODY_READY;
    (void)report_send(a, &m);
    r->n_ready = 0;
}

void report_note(struct agent *a, const char *text)
{
    Agent__Note body = AGENT__NOTE__INIT;
    Agent__ToMaster m = AGENT__TO_MASTER__INIT;

    log_warn(LOG_AGENT, "%s", text);
    body.level = LOG_LEVEL_WARN;
    body.text = (char *)text;
    m.note = &body;
    m.body_case = AGENT__TO_MASTER__BODY_NOTE;
    (void)report_send(a, &m);
}

/* In the order in which a task lives. */
void report_flush(struct agent *a)
{
    struct report *r = a->link.report;

    if (r->hold)
        return;
    send_list(a, &r->prepared, send_prepared);
    send_list(a, &r->started, send_started);
    send_ready(a);
    send_list(a, &r->kv, send_kv);
    send_list(a, &r->exited, send_exited);
}

static void report_forget_all(struct report *r)
{
    report_forget(&r->prepared);
    report_forget(&r->started);
    report_forget(&r->exited);
    report_forget(&r->kv);
    r->n_ready = 0;
}

/* Until the Welcome nothing goes out but the Hello, and what was gathered for the old connection is
 * forgotten: Hello and resync_tell() say it again, as it is now. */
void report_hold(struct agent *a)
{
    report_forget_all(a->link.report);
    a->link.report->hold = true;
}

void report_go_on(struct agent *a)
{
    a->link.report->hold = false;
    report_flush(a);
}

void report_free(struct agent *a)
{
    struct report *r = a->link.report;

    if (!r)
        return;
    report_forget_all(r);
    free(r->ready);
    free(r);
    a->link.report = NULL;
}
