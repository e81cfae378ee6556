/* client_agent.c - the agent is a child whose standard input is a socket to us: its end is the
 * signal to leave, whichever of the two dies. An agent that was killed is started again; one that
 * fails otherwise ends the job, which cannot go on without it. See client_agent.h. */
#include "launch/client_agent.h"
#include "agent/platform/agent_container.h"
#include "agent/supervisor.h"
#include "base/path.h"
#include "client/client_private.h"
#include "client/job_actions.h"
#include "launch/launch_local.h"
#include "loop/fiber.h"
#include "loop/proc.h"
#include "platform/local/local_jobs.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define AGAIN_MAX 3       /* as often as a NodeManager would */
#define EARLY_MS 100      /* before a master that expects nobody yet is asked again */
#define LEAVE_MS 2000     /* for an agent that was told to leave, as it has by now */
#define END_MS 15000      /* … and for one that has lost us */
#define KILLED_MS 5000    /* for the kernel */
#define LAST_LINE_MAX 400 /* of what the agent said */

struct client_agent {
    struct job_call *x;
    struct loop *loop;
    struct credentials *given;
    char *host, *dir, *program, *cwd;
    int line, log; /* our end of the agent's life; what it says; -1 */
    struct proc *agent;
    struct fiber *fiber;
    struct cond changed; /* the fiber has ended */
    unsigned again;
    bool begun, stopping;
};

bool client_agent_wanted(const struct spec *s)
{
    for (size_t i = 0; i < s->n_roles; i++)
        if (s->roles[i].place == SPEC_PLACE_CLIENT && s->roles[i].count > 0)
            return true;
    return false;
}

/* ---- what the agent is told ---- */

/* Asked for at each start: another master may have taken over since the last. One that has no
 * platform yet answers -EAGAIN. */
static int ask_address(struct client_agent *b, char **ret, struct err *err)
{
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    AUTO_JSON *v = NULL;
    const char *address;
    int r;

    while ((r = client_get(b->x->client, "/v1/join", &text, err)) == -EAGAIN) {
        err_clear(err);
        if (fiber_sleep(b->loop, EARLY_MS) < 0)
            return err_set(err, -ECANCELED, "interrupted");
    }
    if (r == 0)
        r = json_parse("/v1/join", text.data, text.len, &v, err);
    if (r < 0)
        return r;
    address = json_string_value(json_object_get(v, "address"));
    if (!address)
        return err_set(err, -EPROTO, "the master does not say where agents connect");
    *ret = strdup(address);
    return *ret ? 0 : err_oom(err);
}

/* As a master does it for containers. */
static int write_credentials(const struct client_agent *b, const char *address, struct err *err)
{
    AUTO_FREE char *path = path_join(b->dir, AGENT_CONTAINER_CREDENTIALS);
    AUTO_YARN_BOOT boot = { 0 };
    AUTO_CREDENTIALS *c = NULL;
    int r = path ? yarn_boot_read(b->given, &boot, err) : err_oom(err);

    if (r == 0)
        r = yarn_boot_strip(b->given, &c, err);
    if (r < 0)
        return r;
    free(boot.address);
    boot.address = strdup(address);
    r = boot.address ? yarn_boot_add(&boot, c, err) : err_oom(err);
    return r < 0 ? r : credentials_save(c, path, err);
}

static int client_agent_make_dir(struct client_agent *b, struct err *err)
{
    AUTO_FREE char *log = NULL;
    int r = b->dir ? 0 : jobs_make_run(&b->dir, err);

    if (r < 0 || b->log >= 0)
        return r;
    log = path_join(b->dir, "agent.log");
    b->log = log ? open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    return b->log < 0 ? err_sys(err, "make a file in '%s'", b->dir) : 0;
}

/* ---- its life ---- */

static void client_agent_let_go(struct client_agent *b)
{
    if (b->line >= 0)
        close(take_fd(b->line));
}

/* Closing our end of the last agent's line first makes sure that two never live at the same time.
 */
static int start_process(struct client_agent *b, struct err *err)
{
    char *argv[] = { (char *)"ydl-node",
                     (char *)"agent",
                     (char *)"--client",
                     b->dir,
                     b->host ? (char *)"--host" : NULL,
                     b->host,
                     NULL };
    AUTO_CLOSE int theirs = -1;
    struct proc_spec spec = { .program = b->program, .argv = argv, .cwd = b->cwd };
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, "make a pair of sockets");
    client_agent_let_go(b);
    b->line = pair[0];
    theirs = pair[1];
    spec.fds[0] = theirs;
    spec.fds[1] = -1;
    spec.fds[2] = b->log;
    return proc_start(b->loop, &spec, &b->agent, err);
}

static int client_agent_spawn(struct client_agent *b, struct err *err)
{
    AUTO_FREE char *address = NULL;
    int r = ask_address(b, &address, err);

    if (r == 0)
        r = client_agent_make_dir(b, err);
    if (r == 0)
        r = write_credentials(b, address, err);
    return r < 0 ? r : start_process(b, err);
}

/* Its last line, without the newline; "" when it said nothing. */
static void client_agent_last_line(const struct client_agent *b, char out[LAST_LINE_MAX])
{
    off_t size = lseek(b->log, 0, SEEK_END), from = size - (LAST_LINE_MAX - 1);
    ssize_t n = pread(b->log, out, LAST_LINE_MAX - 1, from > 0 ? from : 0);
    char *line;

    out[n > 0 ? n : 0] = '\0';
    if (n > 0 && out[n - 1] == '\n')
        out[n - 1] = '\0';
    line = strrchr(out, '\n');
    if (line)
        memmove(out, line + 1, strlen(line));
}

/* Runs one agent to its end: 1 when another one is to take its place.
 * 0: it left in order, with the job. SUPERVISOR_AGAIN: it was killed, and another is started as a
 * NodeManager would. Any other code is its own decision, and starting it again would change
 * nothing. */
static int client_agent_run_once(struct client_agent *b, struct err *err)
{
    char said[LAST_LINE_MAX];
    int status = 0, code, r = client_agent_spawn(b, err);

    if (r == 0)
        r = proc_wait(b->agent, LOOP_NEVER, &status);
    b->agent = proc_free(b->agent);
    if (r < 0 || b->stopping)
        return r;
    code = proc_exit_code(status);
    if (code == 0 || (code == SUPERVISOR_AGAIN && b->again++ < AGAIN_MAX))
        return code != 0;
    client_agent_last_line(b, said);
    return err_set(err, -ECHILD, "the agent for tasks on this machine exited with code %d%s%s",
                   code, *said ? ": " : "", said);
}

/* Without its tasks here the job cannot go on. */
static void end_job(struct client_agent *b, const struct err *why)
{
    struct err err = ERR_INIT;

    client_say(b->x->client, "%s", why->text);
    if (act_ask_stop_beside(b->x->client, NULL, NULL, &err) < 0 && err.code != -ECANCELED)
        client_say(b->x->client, "%s", err.text);
}

static void client_agent_run(void *arg)
{
    struct client_agent *b = arg;
    struct err err = ERR_INIT;
    int r = 1;

    while (r > 0 && !b->stopping)
        r = client_agent_run_once(b, &err);
    if (r < 0 && r != -ECANCELED && !b->stopping)
        end_job(b, &err);
    b->fiber = NULL;
    cond_wake_all(&b->changed);
}

/* ---- ours ---- */

static void beside_free(struct client_agent *b)
{
    client_agent_let_go(b);
    if (b->log >= 0)
        close(b->log);
    if (b->dir)
        (void)path_remove(b->dir, NULL);
    credentials_free(b->given);
    free(b->host);
    free(b->dir);
    free(b->program);
    free(b->cwd);
    free(b);
}

int client_agent_new(struct job_call *x, struct submitted *app, const char *cwd, const char *host,
                     struct client_agent **ret, struct err *err)
{
    struct client_agent *b = calloc(1, sizeof(*b));
    struct buf *text = &app->credentials;
    int r;

    if (!b)
        return err_oom(err);
    *b = (struct client_agent){ .x = x, .loop = x->loop, .line = -1, .log = -1 };
    r = credentials_parse(text->data, text->len, &b->given, err);
    if (r == 0)
        r = launch_node_program(&b->program, err);
    b->cwd = strdup(cwd);
    b->host = host ? strdup(host) : NULL;
    if (r == 0 && (!b->cwd || (host && !b->host)))
        r = err_oom(err);
    if (r < 0)
        beside_free(b);
    else
        *ret = b;
    return r;
}

void client_agent_begin(struct client_agent *b)
{
    struct err err = ERR_INIT;

    if (!b || b->begun)
        return;
    b->begun = true;
    if (fiber_start(b->loop, client_agent_run, b, &b->fiber, &err) < 0)
        end_job(b, &err);
}

static bool wait_until(struct client_agent *b, int64_t ms)
{
    int64_t deadline = loop_in(b->loop, ms);

    while (b->fiber && cond_wait(b->loop, &b->changed, deadline) == 0)
        ;
    return !b->fiber;
}

/*     job ended:  it was told to leave ──LEAVE_MS──► hang up ──END_MS──► kill ──KILLED_MS──► done
 *     otherwise:                                     hang up ──► the same
 *
 * A fiber that waits for an address and not for an agent is cancelled instead. Should even the kill
 * not help, the memory stays, as the fiber uses it. */
struct client_agent *client_agent_stop(struct client_agent *b, bool ended)
{
    if (!b)
        return NULL;
    b->stopping = true;
    fiber_shield(b->loop, true);
    if (b->fiber && !b->agent)
        fiber_cancel(b->fiber);
    if (!ended || !wait_until(b, LEAVE_MS))
        client_agent_let_go(b);
    if (!wait_until(b, END_MS) && b->agent) {
        (void)proc_signal_group(b->agent, SIGKILL);
        (void)wait_until(b, KILLED_MS);
    }
    fiber_shield(b->loop, false);
    if (!b->fiber)
        beside_free(b);
    return NULL;
}
