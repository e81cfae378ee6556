/* pmi.c - PMI-1 for a task: MPI programs find each other without mpirun.
 *
 * The task has one end of a socket pair (PMI_FD), one of our fibers the other. What it publishes
 * goes to the job's key-value store under "pmi/", and its barrier is a barrier of all ranks:
 *
 *     cmd=put key=K value=V   ──►  put pmi/K V              cmd=put_result rc=0
 *     cmd=get key=K           ──►  get pmi/K                cmd=get_result rc=0 value=V
 *     cmd=barrier_in          ──►  barrier pmi WORLD        cmd=barrier_out rc=0 */
#include "agent/socket/pmi.h"
#include "agent/agent_private.h"
#include "agent/link/kv_relay.h"
#include "agent/socket/kvline.h"
#include "agent/socket/pmi_line.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/task_stop.h"
#include "loop/sock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define KVS "ydl" /* the one space of keys */
#define ANSWER_MS 30000

struct pmi {
    struct agent_task *task;
    struct sock *sock;
};

struct request {
    struct agent_task *task;
    const char *line;
    struct buf *out;
    bool last; /* nothing comes after it */
};

/* ---- the store ---- */

static bool pmi_is_word(const struct kvline_word *w, const char *text)
{
    return w->n == strlen(text) && memcmp(w->p, text, w->n) == 0;
}

/* Asks; `value` (may be NULL) gets what stands behind "value". 0 when the answer begins with
 * `want`, -ENOENT when with something else. */
static int pmi_store(struct agent_task *t, const struct kvline_word *words, size_t n,
                     const char *want, struct buf *value)
{
    AUTO_BUF answer = { .max = 2 * MIB };
    struct kvline_word word = { 0 };
    struct view v;
    int r = relay_ask(t, words, n, &answer);

    if (r < 0)
        return r;
    v = view_of(answer.data, answer.len);
    if (!relay_next(&v, &word) || !pmi_is_word(&word, want))
        return -ENOENT;
    if (value && relay_next(&v, &word))
        return buf_add(value, word.p, word.n);
    return 0;
}

static struct kvline_word text_word(const char *s)
{
    return (struct kvline_word){ .p = s, .n = strlen(s) };
}

/* "pmi/KEY" of the line; false when it has none. */
static bool pmi_key_of(const char *line, char out[PMI_NAME_MAX + 8])
{
    char key[PMI_NAME_MAX + 1];

    if (!pmi_field(line, "key", key, sizeof(key)) || !key[0])
        return false;
    snprintf(out, PMI_NAME_MAX + 8, "pmi/%s", key);
    return true;
}

/* ---- the commands ---- */

static int on_init(struct request *q)
{
    char version[8] = "";
    bool fine = pmi_field(q->line, "pmi_version", version, sizeof(version)) && str_eq(version, "1");

    return buf_printf(q->out, "cmd=response_to_init rc=%d pmi_version=1 pmi_subversion=1\n",
                      fine ? 0 : -1);
}

static int on_maxes(struct request *q)
{
    return buf_printf(q->out, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n",
                      PMI_NAME_MAX, PMI_NAME_MAX, PMI_VALUE_MAX);
}

static int on_universe(struct request *q)
{
    return buf_printf(q->out, "cmd=universe_size rc=0 size=%u\n", q->task->start.world);
}

static int on_appnum(struct request *q)
{
    return buf_add_str(q->out, "cmd=appnum rc=0 appnum=0\n");
}

static int pmi_on_name(struct request *q)
{
    return buf_add_str(q->out, "cmd=my_kvsname rc=0 kvsname=" KVS "\n");
}

static int pmi_on_put(struct request *q)
{
    char key[PMI_NAME_MAX + 8], value[PMI_VALUE_MAX + 1];
    struct kvline_word words[3] = { { "put", 3 } };
    int r;

    if (!pmi_key_of(q->line, key) || !pmi_field(q->line, "value", value, sizeof(value)))
        return buf_add_str(q->out, "cmd=put_result rc=-1 msg=key_or_value_missing_or_too_long\n");
    words[1] = text_word(key);
    words[2] = text_word(value);
    r = pmi_store(q->task, words, 3, "ok", NULL);
    if (r < 0 && r != -ENOENT)
        return r;
    return buf_printf(q->out, "cmd=put_result rc=%d msg=%s\n", r < 0 ? -1 : 0,
                      r < 0 ? "refused" : "success");
}

static int pmi_on_get(struct request *q)
{
    char key[PMI_NAME_MAX + 8] = "";
    struct kvline_word words[2] = { { "get", 3 } };
    AUTO_BUF value = { .max = PMI_VALUE_MAX };
    int r = -ENOENT;

    if (pmi_key_of(q->line, key)) {
        words[1] = text_word(key);
        r = pmi_store(q->task, words, 2, "value", &value);
    }
    if (r < 0 && r != -ENOENT && r != -E2BIG)
        return r;
    if (r < 0)
        return buf_add_str(q->out, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    r = buf_add_str(q->out, "cmd=get_result rc=0 msg=success value=");
    if (r == 0)
        r = buf_add(q->out, value.data, value.len);
    return r == 0 ? buf_add_u8(q->out, '\n') : r;
}

static int on_barrier(struct request *q)
{
    char world[16];
    struct kvline_word words[3] = { { "barrier", 7 }, { "pmi", 3 } };
    int r;

    snprintf(world, sizeof(world), "%u", q->task->start.world);
    words[2] = text_word(world);
    r = pmi_store(q->task, words, 3, "ok", NULL);
    if (r < 0 && r != -ENOENT)
        return r;
    return buf_printf(q->out, "cmd=barrier_out rc=%d\n", r < 0 ? -1 : 0);
}

static int on_finalize(struct request *q)
{
    q->last = true;
    return buf_add_str(q->out, "cmd=finalize_ack rc=0\n");
}

/* No answer: it waits to be killed. MPICH's MPI_Abort would return and the program continue. */
static int on_abort(struct request *q)
{
    char text[16];
    int64_t code = 0;

    if (!pmi_field(q->line, "exitcode", text, sizeof(text)) ||
        str_to_i64(text, INT32_MIN, INT32_MAX, &code) < 0 || (code & 255) == 0)
        code = 1; /* whatever it says, it has not done its work */
    q->last = true;
    if (q->task->stop.why == FAIL_NONE)
        q->task->stop.abort_code = (int)(code & 255);
    stop_for(q->task, FAIL_EXIT, "it called MPI_Abort");
    return 0;
}

static const struct {
    const char *name;
    int (*fn)(struct request *q);
} commands[] = {
    { "init", on_init },
    { "get_maxes", on_maxes },
    { "get_universe_size", on_universe },
    { "get_appnum", on_appnum },
    { "get_my_kvsname", pmi_on_name },
    { "put", pmi_on_put },
    { "get", pmi_on_get },
    { "barrier_in", on_barrier },
    { "finalize", on_finalize },
    { "abort", on_abort },
};

static int pmi_answer(struct request *q)
{
    char cmd[32];

    if (!pmi_field(q->line, "cmd", cmd, sizeof(cmd)))
        return -EBADMSG;
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (str_eq(cmd, commands[i].name))
            return commands[i].fn(q);
    return buf_printf(q->out, "cmd=%s_result rc=-1 msg=not_supported\n", cmd);
}

/* ---- the fiber ---- */

/* Answers the lines that are there; 1 after the last one.
 * One request at a time, in order: PMI-1 has no numbers by which an answer could be told from
 * another. A barrier therefore holds this task's fiber until the whole world has come. */
static int pmi_serve_lines(struct pmi *p, struct buf *in)
{
    int64_t deadline = loop_in(p->task->agent->loop, ANSWER_MS);
    char *end;

    while (in->len > 0 && (end = memchr(in->data, '\n', in->len)) != NULL) {
        AUTO_BUF out = { .max = PMI_LINE_MAX };
        struct request q = { .task = p->task, .line = (char *)in->data, .out = &out };
        size_t n = (size_t)(end - (char *)in->data) + 1;
        int r;

        *end = '\0';
        r = pmi_answer(&q);
        if (r == 0 && out.len)
            r = sock_write(p->sock, out.data, out.len, deadline);
        if (r < 0 || q.last)
            return r < 0 ? r : 1;
        buf_eat(in, n);
    }
    return 0;
}

static void pmi_run(void *arg)
{
    struct pmi *p = arg;
    AUTO_BUF in = { .max = PMI_LINE_MAX };
    uint8_t *room;
    int r = 0;

    while (r == 0) {
        ssize_t n;

        r = buf_room(&in, in.max - in.len ? in.max - in.len : 1, &room);
        if (r < 0)
            break;
        n = sock_read(p->sock, room, in.max - in.len, LOOP_NEVER); /* the task's end ends it */
        if (n <= 0)
            break;
        in.len += (size_t)n;
        r = pmi_serve_lines(p, &in);
    }
    if (!fiber_cancelled(p->task->agent->loop))
        p->task->socket.pmi = NULL;
    sock_close(p->sock);
    free(p);
}

int pmi_begin(struct agent_task *t, int *ret_fd, struct err *err)
{
    struct pmi *p = calloc(1, sizeof(*p));
    int pair[2], r;

    if (!p)
        return err_oom(err);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        free(p);
        return err_sys(err, "make a socket pair");
    }
    p->task = t;
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK); /* ours only: the task's end blocks */
    r = sock_from_fd(t->agent->loop, pair[0], &p->sock, err);
    if (r == 0)
        r = fiber_start(t->agent->loop, pmi_run, p, &t->socket.pmi, err);
    if (r < 0) {
        sock_close(p->sock);
        close(pair[1]);
        free(p);
        return r;
    }
    *ret_fd = pair[1];
    return 0;
}

void pmi_end(struct agent_task *t)
{
    if (t->socket.pmi)
        fiber_cancel(t->socket.pmi);
    t->socket.pmi = NULL;
}
