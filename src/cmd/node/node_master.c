/* node_master.c - `ydl-node master`: runs one job. Started by ydl, with the job's lock as standard
 * input, so that the lock lives exactly as long as this process, and a pipe as standard output on
 * which it says once that it is ready; or by YARN (--container), which tells it everything by the
 * container's credentials. */
#include "cmd/verbs.h"
#include "loop/fiber.h"
#include "master/local/master_local.h"
#include "master/yarn/master_yarn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

struct args {
    const char *dir;
    bool container;
};

struct run {
    struct loop *loop;
    const struct job_dir *dir; /* on this machine */
    int ready_fd;
    struct err *err;
};

static int run_here(void *arg)
{
    struct run *r = arg;

    return master_local_run(r->loop, r->dir, "/proc/self/exe", r->ready_fd, r->err);
}

static int run_container(void *arg)
{
    struct run *r = arg;

    return master_yarn_run(r->loop, r->err);
}

/* Who holds the lock, for people who look. */
static void note_pid(void)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (n > 0)
        (void)!pwrite(STDIN_FILENO, text, (size_t)n, 0);
}

/* The pipe moves away from standard output, so that nothing else can be printed into it. */
static int move_pipe(void)
{
    AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

    if (null >= 0)
        (void)dup2(null, STDOUT_FILENO);
    return fd;
}

static int run_in_loop(struct run *run, int (*fn)(void *arg))
{
    int r = loop_new(&run->loop, run->err);

    if (r < 0)
        return r;
    r = loop_run(run->loop, fn, run, true);
    loop_free(run->loop);
    return r;
}

static int node_master_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    AUTO_JOB_DIR dir = JOB_DIR_INIT;
    struct run run = { .err = err };
    int r;

    (void)signal(SIGPIPE, SIG_IGN);
    if (a->container)
        return run_in_loop(&run, run_container);
    if (!a->dir)
        return cli_bad(err, "--dir DIR is needed");
    r = jobs_open(a->dir, &dir, err);
    if (r < 0)
        return r;
    if (!dir.run)
        return err_set(err, -ENOENT, "'%s' is not the directory of a new job", a->dir);
    note_pid();
    run.dir = &dir;
    run.ready_fd = move_pipe();
    return run_in_loop(&run, run_here);
}

/* clang-format off */
const struct cli_verb verb_node_master = {
    .name = "master", .summary = "run one job (started by ydl)", .hidden = true,
    .run = node_master_run,
    CLI_OPTS(struct args,
        { "dir", 0, CLI_TEXT, offsetof(struct args, dir), NULL, "DIR", "directory of the job" },
        { "container", 0, CLI_FLAG, offsetof(struct args, container), NULL, NULL,
          "run as the application master on YARN" }),
};
/* clang-format on */
