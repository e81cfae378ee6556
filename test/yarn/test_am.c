/* test_am.c - an application master that uses the library and nothing else.
 *
 * It asks for six containers at two priorities, two on each of three nodes and nowhere else, and
 * starts a shell command in each, which writes the file task-N and waits for the file `go` before
 * it exits with N. When all six have ended it puts a node on the blacklist, gets one more container
 * anywhere else, waits until it runs and for the file `stop`, stops it, and finishes.
 *
 * A container that YARN took away (preempted, or lost with its node) is asked for again: its task
 * has done nothing wrong. A second attempt goes on with the containers that the first one left,
 * known by those files.
 *
 *     YDL_TEST_DIR     where the files are; what happens is told in its am.log, line by line
 *     YDL_TEST_HOSTS   the names of three nodes, with spaces */
#include "test_am.h"
#include "base/log.h"
#include "hadoop/session/session.h"
#include "loop/fiber.h"

#include <inttypes.h>
#include <string.h>

#define GIVE_UP_MS 240000
#define LOST (-100) /* exit statuses of YARN's own */
#define PREEMPTED (-102)
#define FINAL_URL "http://127.0.0.1:9/test-am"

void say(struct test *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(t->log, fmt, ap);
    va_end(ap);
    fputc('\n', t->log);
    fflush(t->log);
}

/* ---- events ---- */

static int on_granted(struct test *t, const struct amrm_event *e)
{
    size_t i = (size_t)e->container->allocation_request_id;
    char id[YARN_CONTAINER_ID_TEXT];

    if (i > TASKS || t->tasks[i].container)
        return err_set(&t->err, -EPROTO, "a container for nobody");
    say(t, "granted task=%zu container=%s host=%s priority=%d", i,
        yarn_container_id_text(e->id, id), e->container->node_id->host,
        e->container->priority->priority);
    t->tasks[i].container = message_copy(e->container);
    return t->tasks[i].container ? 0 : err_oom(&t->err);
}

static bool first_word(FILE *f, char *out, int size)
{
    if (!fgets(out, size, f))
        return false;
    out[strcspn(out, " \n")] = '\0';
    return true;
}

/* Which task a container of an earlier attempt runs: its first word is in that task's file. */
static void on_previous(struct test *t, const struct amrm_event *e)
{
    char id[YARN_CONTAINER_ID_TEXT], word[YARN_CONTAINER_ID_TEXT];

    yarn_container_id_text(e->id, id);
    for (size_t i = 0; i < TASKS; i++) {
        AUTO_FREE char *path = str_printf("%s/task-%zu", t->dir, i);
        FILE *f = path ? fopen(path, "re") : NULL;
        struct task *k = &t->tasks[i];

        if (f && first_word(f, word, sizeof(word)) && str_eq(word, id) && !k->container) {
            k->container = message_copy(e->container);
            k->started = true;
            say(t, "previous task=%zu container=%s", i, id);
        }
        if (f)
            fclose(f);
    }
}

/* The number of the task whose container this is; -1 when it is nobody's. */
static int task_of(const struct test *t, struct yarn_container_id id)
{
    for (int i = 0; i <= TASKS; i++) {
        const struct task *k = &t->tasks[i];

        if (k->container && yarn_container_id_cmp(yarn_container_id_of(k->container->id), id) == 0)
            return i;
    }
    return -1;
}

static int on_completed(struct test *t, const struct amrm_event *e)
{
    int i = task_of(t, e->id);
    struct task *k = &t->tasks[i < 0 ? 0 : i];

    if (i < 0)
        return 0;
    k->code = e->status->exit_status;
    say(t, "completed task=%d code=%d why=%s", i, k->code, e->status->diagnostics);
    k->done = k->code != LOST && k->code != PREEMPTED;
    if (k->done)
        return 0;
    k->container = message_free(k->container);
    k->started = false;
    return ask_for(t, (size_t)i);
}

static int on_event(struct test *t, const struct amrm_event *e)
{
    switch (e->type) {
    case AMRM_REGISTERED:
        say(t, "registered again=%d", e->again);
        t->registered = true;
        return 0;
    case AMRM_PREVIOUS:
        on_previous(t, e);
        return 0;
    case AMRM_GRANTED:
        return on_granted(t, e);
    case AMRM_COMPLETED:
        return on_completed(t, e);
    case AMRM_PREEMPT:
        say(t, "preempt task=%d strict=%d", task_of(t, e->id), e->strict);
        return 0;
    case AMRM_NODE:
        say(t, "node host=%s state=%s", e->node->node_id ? e->node->node_id->host : "",
            yarn_node_state_name(e->node->state));
        return 0;
    case AMRM_TOKEN:
        say(t, "token");
        return 0;
    case AMRM_SURPLUS:
        say(t, "surplus");
        return 0;
    case AMRM_ENDED:
        say(t, "ended");
        return 0;
    default:
        return 0;
    }
}

/* Takes events until `done` says so; whatever came together is started together. */
static int until(struct test *t, bool (*done)(const struct test *t))
{
    const struct amrm_event *e = NULL;
    int r = 0;

    while (r == 0 && !done(t)) {
        r = am_next(t->am, &e, t->deadline, &t->err);
        while (r == 0) {
            r = on_event(t, e);
            if (r == 0)
                r = am_next(t->am, &e, loop_now(t->loop), NULL);
        }
        r = r == -ETIMEDOUT && loop_now(t->loop) < t->deadline ? start_granted(t) : r;
    }
    if (r < 0 && am_error(t->am)->code)
        t->err = *am_error(t->am);
    return r;
}

static bool is_registered(const struct test *t)
{
    return t->registered;
}

static bool all_done(const struct test *t)
{
    for (size_t i = 0; i < TASKS; i++)
        if (!t->tasks[i].done)
            return false;
    return true;
}

static bool extra_started(const struct test *t)
{
    return t->tasks[EXTRA].started;
}

static bool extra_done(const struct test *t)
{
    return t->tasks[EXTRA].done;
}

/* ---- the extra container ---- */

/* Until the test has looked at us, too. */
static int wait_for_file(struct test *t, const char *name)
{
    AUTO_FREE char *path = str_printf("%s/%s", t->dir, name);
    int r = path ? 0 : err_oom(&t->err);

    while (r == 0 && access(path, F_OK) < 0)
        r = loop_now(t->loop) < t->deadline ? fiber_sleep(t->loop, 50) : -ETIMEDOUT;
    return r;
}

static int run_extra(struct test *t)
{
    struct nm_item item = { 0 };
    struct nm_at at = { 0 };
    int r = amrm_blacklist(am_rm(t->am), t->hosts.v[0], true, &t->err);

    if (r == 0)
        r = ask_for(t, EXTRA);
    if (r == 0)
        r = until(t, extra_started);
    if (r < 0)
        return r;
    item.id = yarn_container_id_of(t->tasks[EXTRA].container->id);
    at.host = t->tasks[EXTRA].container->node_id->host;
    at.port = t->tasks[EXTRA].container->node_id->port;
    r = wait_for_file(t, "task-6");
    say(t, "extra runs");
    if (r == 0)
        r = wait_for_file(t, "stop");
    if (r == 0)
        r = nm_stop(t->nodes, &at, &item, 1, &t->err);
    return r < 0 ? r : until(t, extra_done);
}

/* ---- all of it ---- */

static int set_up(struct test *t)
{
    struct session_options options = { .caller = "ydl-test-am", .patient = true };
    struct am_conf conf = { .shown = { .host = "test-am",
                                       .rpc_port = -1,
                                       .tracking_url = "http://127.0.0.1:9/running" },
                            .idle_ms = 200 };
    int r = session_new(t->loop, &options, &t->session, &t->err);

    if (r == 0)
        r = nm_pool_new(t->session, 2, &t->nodes, &t->err);
    conf.nodes = t->nodes;
    if (r == 0)
        r = am_new(t->session, &conf, &t->am, &t->err);
    if (r == 0)
        r = am_start(t->am, &t->err);
    return r;
}

static int finish(struct test *t)
{
    bool good = true;
    char text[120];
    size_t n = 0;

    for (size_t i = 0; i < TASKS; i++) {
        good = good && t->tasks[i].code == (int32_t)i;
        n += (size_t)snprintf(text + n, sizeof(text) - n, " %d", t->tasks[i].code);
    }
    snprintf(text + n, sizeof(text) - n, ", extra %d", t->tasks[EXTRA].code);
    say(t, "finishing codes:%s", text);
    return am_finish(t->am,
                     good ? YARN__FINAL_STATUS__FINAL_SUCCEEDED : YARN__FINAL_STATUS__FINAL_FAILED,
                     text, FINAL_URL, t->deadline, &t->err);
}

static int run(void *arg)
{
    struct test *t = arg;
    int r;

    say(t, "master pid=%d", (int)getpid());
    r = set_up(t);
    t->deadline = loop_in(t->loop, GIVE_UP_MS);
    if (r == 0)
        r = until(t, is_registered);
    for (size_t i = 0; i < TASKS && r == 0; i++)
        if (!t->tasks[i].container)
            r = ask_for(t, i);
    if (r == 0)
        r = until(t, all_done);
    if (r == 0)
        r = run_extra(t);
    if (r == 0)
        r = finish(t);
    say(t, "%s", r == 0 ? "finished" : t->err.text);
    for (size_t i = 0; i <= TASKS; i++)
        message_free(t->tasks[i].container);
    t->am = am_free(t->am);
    t->nodes = nm_pool_free(t->nodes);
    t->session = session_free(t->session);
    return r;
}

int main(void)
{
    const char *hosts = getenv("YDL_TEST_HOSTS");
    struct test t = { .dir = getenv("YDL_TEST_DIR") };
    AUTO_FREE char *path = str_printf("%s/am.log", t.dir ? t.dir : ".");
    int r;

    log_init("ydl-test-am");
    if (!hosts || strs_split(&t.hosts, hosts, " ") < 0 || t.hosts.n < 3 || !path)
        return 2;
    t.log = fopen(path, "ae");
    if (!t.log || loop_new(&t.loop, &t.err) < 0)
        return 2;
    r = loop_run(t.loop, run, &t, true);
    loop_free(t.loop);
    strs_done(&t.hosts);
    fclose(t.log);
    return r < 0;
}
