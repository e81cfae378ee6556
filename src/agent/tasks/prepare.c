/* prepare.c - Prepare and Drop: a task's directory, its ports, its socket and its files.
 *
 *     WORK_DIR/tasks/          0700
 *         worker-3.sock        YDL_SOCKET
 *         worker-3.stop        YDL_STOP, once it is to end
 *         worker-3.error       TORCHELASTIC_ERROR_FILE
 *         worker-3.env, .end, .docker    of a task in a container image: docker.c
 *         worker-3.work/       files that were asked for; where it runs, unless the job says where
 *         spec-1-0.json        YDL_SPEC, for all tasks of agent 1 that were started with it
 *         tmp-1/               TMPDIR of all tasks of agent 1
 *
 * No directory for each task: to make and remove one costs more than to start a process.
 * Each Prepare is a fiber, because unpacking an archive may take long. */
#include "agent/agent_private.h"
#include "base/path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TURN 32 /* tasks that are prepared before others have their turn */

struct preparing {
    struct agent *agent;
    Agent__ToAgent *m;
};

/* ---- a task ---- */

char *prepare_path(const struct agent_task *t, const char *what)
{
    return str_printf("%s.%s", t->scratch, what);
}

/* "worker:3": letters, digits, - and _, one colon. It becomes a part of file names. */
static bool prepare_good_name(const char *s)
{
    size_t n = strlen(s), colons = 0;

    for (const char *p = s; *p; p++) {
        colons += *p == ':';
        if (!isalnum((unsigned char)*p) && *p != ':' && *p != '-' && *p != '_')
            return false;
    }
    return n > 2 && n < 64 && colons == 1 && s[0] != ':' && s[n - 1] != ':';
}

/* Of an agent before us, in the same container or on the same machine. */
static void find_pieces(struct stream_out *s)
{
    s->cut.path = s->path;
    if (access(s->path, F_OK) < 0)
        return;
    s->gone = rotate_look(&s->cut, s->path) < 0;
    if (s->gone || rotate_mend(&s->cut) < 0)
        s->cut.never = true;
}

static int name_paths(struct agent_task *t, struct err *err)
{
    static const char *const streams[] = { "out", "err" };
    const struct agent *a = t->agent;

    t->label = strdup(t->name);
    if (!t->label)
        return err_oom(err);
    *strchr(t->label, ':') = '-';
    t->scratch = path_join(a->tasks_dir, t->label);
    t->socket = str_printf("%s/%s.sock", a->socket_dir, t->label);
    for (int i = 0; i < 2; i++)
        t->streams[i].path =
            str_printf("%s/%s.%s%s", a->log_dir, t->label, a->container ? "std" : "", streams[i]);
    for (int i = 0; i < 2 && t->streams[i].path; i++)
        find_pieces(&t->streams[i]);
    if (*a->facts->cwd)
        t->work = strdup(a->facts->cwd);
    else if (a->container)
        t->work = strdup(a->container->dir);
    else
        t->work = t->scratch ? prepare_path(t, "work") : NULL;
    if (!t->scratch || !t->socket || !t->streams[0].path || !t->streams[1].path || !t->work)
        return err_oom(err);
    return 0;
}

static void task_free(struct agent_task *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_ports; i++)
        ports_drop(&t->ports[i]);
    free(t->name);
    free(t->label);
    free(t->gpus);
    free(t->scratch);
    free(t->socket);
    free(t->work);
    free(t->out);
    free(t->end);
    free(t->why_text);
    for (int i = 0; i < 2; i++) {
        free(t->streams[i].path);
        if (t->streams[i].kept >= 0)
            close(t->streams[i].kept);
    }
    free(t->cgroup.path);
    docker_done(t);
    free(t);
}

static int prepare_room_for(struct agent *a, uint32_t id, struct err *err)
{
    struct agent_task **v;

    if (id >= AGENT_TASKS_TOP)
        return err_set(err, -EPROTO, "task number %u is too large", id);
    if (a->n_tasks == a->cap_tasks) {
        v = reallocarray(a->tasks, 2 * a->cap_tasks + 16, sizeof(struct agent_task *));
        if (!v)
            return err_oom(err);
        a->tasks = v;
        a->cap_tasks = 2 * a->cap_tasks + 16;
    }
    if (id < a->n_ids)
        return 0;
    v = reallocarray(a->by_id, id + 64, sizeof(struct agent_task *));
    if (!v)
        return err_oom(err);
    memset(v + a->n_ids, 0, (id + 64 - a->n_ids) * sizeof(struct agent_task *));
    a->by_id = v;
    a->n_ids = id + 64;
    return 0;
}

static int prepare_task_get(struct agent *a, const Agent__PrepareTask *m, struct agent_task **ret,
                            struct err *err)
{
    struct agent_task *t = agent_task(a, m->task);
    int r;

    if (t) {
        *ret = t;
        return str_eq(t->name, m->name) ? 0
                                        : err_set(err, -EPROTO, "task %u is '%s'", t->id, t->name);
    }
    if (!prepare_good_name(m->name))
        return err_set(err, -EPROTO, "a task has no good name");
    r = prepare_room_for(a, m->task, err);
    if (r < 0)
        return r;
    t = calloc(1, sizeof(*t));
    if (!t)
        return err_oom(err);
    *t = (struct agent_task){ .agent = a, .id = m->task, .kill_at = LOOP_NEVER };
    t->streams[0].wd = t->streams[1].wd = -1;
    t->streams[0].kept = t->streams[1].kept = -1;
    t->name = strdup(m->name);
    r = t->name ? name_paths(t, err) : err_oom(err);
    if (r < 0) {
        task_free(t);
        return r;
    }
    *ret = a->by_id[t->id] = a->tasks[a->n_tasks++] = t;
    return 0;
}

/* ---- its parts ---- */

static int prepare_make_dir(const char *path, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", path);
    return 0;
}

/* Only for a task that has files of its own, or nowhere else to run. */
static int make_work(struct agent_task *t, bool with_files, struct err *err)
{
    AUTO_FREE char *work = prepare_path(t, "work");

    if (!work)
        return err_oom(err);
    if (!with_files && !str_eq(work, t->work))
        return 0;
    t->has_work = true;
    return prepare_make_dir(work, err);
}

/* Results that are not to stay where they are need a place to be taken from. */
static bool results_are_taken(const struct agent *a)
{
    bool taken = a->container != NULL;

    for (size_t i = 0; i < a->facts->n_results; i++)
        taken = taken || !*a->facts->results[i]->from;
    return taken;
}

static int make_out(struct agent_task *t, struct err *err)
{
    const struct agent *a = t->agent;

    if (t->out || !results_are_taken(a))
        return 0;
    t->out = path_join(a->out_dir, t->label);
    return t->out ? path_mkdirs(t->out, 0755, err) : err_oom(err);
}

/* One port: the one it had, the one asked for (unless 0), or any. */
static int hold_port(struct agent_task *t, size_t i, unsigned number, struct err *err)
{
    struct port *p = &t->ports[i];

    if (i < t->n_ports && (number == 0 || p->number == number))
        return ports_hold_again(p, err);
    if (i < t->n_ports)
        ports_drop(p);
    *p = (struct port){ .bound = -1, .lock = -1 };
    return number ? ports_one(number, p, err) : ports_any(&t->agent->ports, p, err);
}

static int hold_ports(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    size_t want = m->n_ports ? m->n_ports : m->ports_wanted;
    int r = 0;

    if (want > AGENT_PORTS_MAX)
        return err_set(err, -EPROTO, "a task may have %d ports", AGENT_PORTS_MAX);
    for (size_t i = 0; i < want && r == 0; i++) {
        r = hold_port(t, i, m->n_ports ? m->ports[i] : 0, err);
        if (i >= t->n_ports && r == 0)
            t->n_ports = i + 1;
    }
    while (t->n_ports > want)
        ports_drop(&t->ports[--t->n_ports]);
    return r;
}

static int set_gpus(struct agent_task *t, const Agent__PrepareTask *m, struct err *err)
{
    AUTO_BUF text = { .max = 4 * KIB };
    const char *own = NULL;
    int r = gpus_of_container(t->agent, m->gpu_count, &own, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < m->n_gpus && r == 0; i++)
        r = buf_printf(&text, "%s%u", i ? "," : "", m->gpus[i]);
    if (r == 0 && own)
        r = buf_add_str(&text, own);
    if (r < 0 || !buf_text(&text))
        return err_oom(err);
    t->gpus_unknown = m->gpu_count > 0 && text.len == 0;
    free(t->gpus);
    t->gpus = (char *)take(text.data);
    return 0;
}

enum fail_class prepare_file_class(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EIO ? FAIL_DISK : FAIL_FILES;
}

/* Says which class of failure it is; FAIL_NONE when all is well. */
static enum fail_class prepare_task(struct agent_task *t, const Agent__PrepareTask *m,
                                    struct err *err)
{
    int r;

    if (t->phase != PHASE_IDLE) {
        err_set(err, -EBUSY, "it still runs");
        return FAIL_START;
    }
    t->share_ports = m->share_ports;
    t->memory = m->memory;
    t->memory_shared = m->memory_shared;
    t->slot = m->slot;
    t->log_base[0] = m->out_base;
    t->log_base[1] = m->err_base;
    t->log_began = m->log_began;
    output_place_find(t);
    if (set_gpus(t, m, err) < 0)
        return FAIL_START;
    r = docker_prepare(t, m, err);
    if (r == 0)
        r = make_work(t, m->n_files > 0, err);
    if (r == 0)
        r = make_out(t, err);
    if (r < 0)
        return prepare_file_class(r);
    if (hold_ports(t, m, err) < 0)
        return FAIL_PORT;
    r = kvsock_open(t, err);
    if (r == 0)
        r = files_place(t, m, err);
    if (r < 0)
        return prepare_file_class(r);
    t->prepared = true;
    return FAIL_NONE;
}

/* ---- a message ---- */

/* A task that cannot even be named cannot be reported either. */
static int prepare_one(struct agent *a, const Agent__PrepareTask *m)
{
    struct err err = ERR_INIT;
    struct agent_task *t = NULL;
    enum fail_class fail;
    int r = prepare_task_get(a, m, &t, &err);

    if (r < 0 || !t) {
        agent_break(a, r, err.text);
        return r;
    }
    if (remove_wait(t) < 0 || a->leaving)
        return 0;
    fail = finish_directory_gone(a) ? FAIL_NODE : prepare_task(t, m, &err);
    fail = finish_blame(a, fail, &err); /* it may go at any moment */
    if (!a->leaving)
        report_prepared(t, fail, err.text);
    return 0;
}

static void prepare_run_prepare(void *arg)
{
    struct preparing *p = arg;
    struct agent *a = p->agent;
    const Agent__Prepare *m = p->m->prepare;
    struct err err = ERR_INIT;
    int r = dirs_place_files(a, &err);

    if (r < 0)
        agent_break(a, r, err.text);
    else
        conda_place(a);
    if (access(a->tmp_dir, F_OK) < 0 && /* a cleaner of temporary files was here */
        !finish_directory_gone(a))
        (void)path_mkdirs(a->tmp_dir, 0700, NULL);
    for (size_t i = 0; i < m->n_tasks && r == 0 && !a->leaving; i++) {
        r = prepare_one(a, m->tasks[i]);
        if (i % TURN == TURN - 1)
            (void)fiber_yield(a->loop);
    }
    agent__to_agent__free_unpacked(p->m, NULL);
    free(p);
    a->busy--;
    cond_wake_all(&a->quiet);
}

int prepare_begin(struct agent *a, Agent__ToAgent *m, struct err *err)
{
    struct preparing *p = calloc(1, sizeof(*p));
    int r;

    if (p)
        *p = (struct preparing){ .agent = a, .m = m };
    r = p ? fiber_start(a->loop, prepare_run_prepare, p, NULL, err) : err_oom(err);
    if (r < 0) {
        free(p);
        agent__to_agent__free_unpacked(m, NULL);
        return r;
    }
    a->busy++;
    return 0;
}

/* ---- the end ---- */

static int clear_file(const struct agent_task *t, const char *what, struct err *err)
{
    AUTO_FREE char *path = prepare_path(t, what);

    if (!path)
        return err_oom(err);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    return 0;
}

int prepare_clear(struct agent_task *t, struct err *err)
{
    int r = t->has_stop ? clear_file(t, "stop", err) : 0;

    if (r == 0 && t->wants_error_file)
        r = clear_file(t, "error", err);
    t->has_stop = false;
    return r;
}

/* Its directory stays while there may be results in it. */
void prepare_drop(struct agent_task *t)
{
    struct err err = ERR_INIT;

    if (t->phase != PHASE_IDLE)
        return;
    while (t->n_ports > 0)
        ports_drop(&t->ports[--t->n_ports]);
    kvsock_close(t);
    (void)prepare_clear(t, &err);
    docker_clear(t);
    if (t->has_work && (t->agent->cleaning || !t->agent->facts->n_results)) {
        t->has_work = false;
        remove_begin(t);
    }
    resync_forget(t);
    t->prepared = false;
}

void prepare_free(struct agent *a)
{
    gpus_done(a);
    for (size_t i = 0; i < a->n_tasks; i++)
        task_free(a->tasks[i]);
    free(a->tasks);
    free(a->by_id);
    free(a->pids);
}
