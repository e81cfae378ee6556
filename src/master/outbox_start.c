/* outbox_start.c - the Start message: each task's arguments and environment, as planned. */
#include "master/master_private.h"

#include <string.h>

#define PIECE_TASKS 500
#define PIECE_BYTES (2 * MIB) /* of argument and environment text */

struct start_one {
    Agent__StartTask msg;
    Agent__Ready ready;
    struct plan_task plan;
    ProtobufCBinaryData *words; /* argv, then env */
};

struct start_piece {
    struct start_one one[PIECE_TASKS];
    Agent__StartTask *list[PIECE_TASKS];
    size_t n, bytes;
};

/* The words of a piece are borrowed from its plans, so both live until the message is packed. */
static void empty_piece(struct start_piece *p)
{
    for (size_t i = 0; i < p->n; i++) {
        plan_task_done(&p->one[i].plan);
        free(p->one[i].words);
    }
    p->n = p->bytes = 0;
}

static size_t point_to(ProtobufCBinaryData *to, const struct strs *from)
{
    size_t bytes = 0;

    for (size_t i = 0; i < from->n; i++) {
        to[i].data = (uint8_t *)from->v[i];
        to[i].len = strlen(from->v[i]);
        bytes += to[i].len;
    }
    return bytes;
}

static int fill_words(struct start_piece *p, struct start_one *x, struct err *err)
{
    size_t n = x->plan.argv.n + x->plan.env.n;

    x->words = calloc(n ? n : 1, sizeof(*x->words));
    if (!x->words)
        return err_oom(err);
    x->msg.argv = x->words;
    x->msg.n_argv = x->plan.argv.n;
    x->msg.env = x->words + x->plan.argv.n;
    x->msg.n_env = x->plan.env.n;
    p->bytes += point_to(x->msg.argv, &x->plan.argv) + point_to(x->msg.env, &x->plan.env);
    return 0;
}

static void fill_ready(struct start_one *x, const struct spec_ready *ready)
{
    if (ready->kind == SPEC_READY_NONE)
        return;
    agent__ready__init(&x->ready);
    x->ready.kind = (uint32_t)ready->kind;
    x->ready.what = ready->what ? ready->what : (char *)"";
    x->ready.timeout_ms = ready->timeout;
    x->msg.ready = &x->ready;
}

/* A task becomes part of the piece (p->n) only when all of it could be planned; until then this
 * function frees what it made, afterwards empty_piece() does. */
static int fill_start(struct master *m, uint32_t id, struct start_piece *p, struct err *err)
{
    const struct task *t = engine_task(m->engine, id);
    const struct spec_role *role = &m->spec.roles[t->role];
    struct plan plan = form_plan(m, t->attempt);
    struct start_one *x = &p->one[p->n];
    int r;

    memset(x, 0, sizeof(*x));
    r = plan_task(&plan, role, t->rank, &x->plan, err);
    if (r < 0)
        return r;
    agent__start_task__init(&x->msg);
    r = fill_words(p, x, err);
    if (r < 0) {
        plan_task_done(&x->plan);
        return r;
    }
    p->list[p->n++] = &x->msg;
    x->msg.task = id;
    x->msg.generation = engine_generation(m->engine);
    x->msg.attempt = t->attempt;
    x->msg.rank = t->rank;
    x->msg.world = (uint32_t)m->form.cluster.roles[t->role].n;
    x->msg.pmi = (m->framework->servers & FRAMEWORK_PMI) != 0;
    x->msg.error_file = m->framework->error != NULL;
    fill_ready(x, &role->ready);
    if (str_eq(role->name, FRAMEWORK_BOARD) && framework_board_copies(&m->spec)) {
        x->msg.mirror_from = m->spec.tensorboard;
        x->msg.mirror_to = (char *)FRAMEWORK_BOARD_COPY;
    }
    return 0;
}

static void send_piece(struct agent_conn *a, struct start_piece *p, outbox_sender *send)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Start body = AGENT__START__INIT;

    body.tasks = p->list;
    body.n_tasks = p->n;
    if (a->spec_sent != a->master->form.id) { /* without one it uses the last that it got */
        body.spec.data = (uint8_t *)a->master->form.text;
        body.spec.len = strlen(a->master->form.text);
    }
    msg.body_case = AGENT__TO_AGENT__BODY_START;
    msg.start = &body;
    if (p->n > 0) {
        send(a, &msg);
        a->spec_sent = a->master->form.id;
    }
    empty_piece(p);
}

int outbox_fail(struct master *m, uint32_t id, const struct err *why, struct err *err)
{
    struct engine_end end = {
        .cls = FAIL_START, .code = 126, .when = master_now(m), .text = why->text
    };

    master_wake(m);
    return engine_on_ended(m->engine, id, &end, end.when, err);
}

/* A task that cannot be planned fails by itself: the others of the agent still start, and the
 * restart policy decides as if its command had not been found (exit code 126). */
int outbox_send_start(struct agent_conn *a, outbox_sender *send, struct err *err)
{
    AUTO_FREE struct start_piece *p = a->start.n ? calloc(1, sizeof(*p)) : NULL;
    int r = 0;

    if (a->start.n && !p)
        return err_oom(err);
    for (size_t i = 0; i < a->start.n && r == 0; i++) {
        struct err why = ERR_INIT;

        if (p->n == PIECE_TASKS || p->bytes > PIECE_BYTES)
            send_piece(a, p, send);
        if (fill_start(a->master, a->start.v[i], p, &why) < 0)
            r = outbox_fail(a->master, a->start.v[i], &why, err);
    }
    if (p)
        send_piece(a, p, send);
    a->start.n = 0;
    return r;
}
