/* node_master.c - `ydl-node master`: runs one job. Started by ydl, with the job's lock as standard
 * input, so that the lock lives exactly as long as this process, and a pipe as standard output on
 * which it says once that it is ready; or by YARN (--container), which tells it everything by the
 * container's credentials. */
#include "cli/globals.h"
#include "cmd/verbs.h"
#include "loop/fiber.h"
#include "master/master.h"
#include "master/yarn/master_container.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct args {
    const char *dir;
    bool container;
};

static const struct cli_opt opts[] = {
    { "dir", 0, CLI_TEXT, offsetof(struct args, dir), NULL, "DIR", "directory of the job" },
    { "container", 0, CLI_FLAG, offsetof(struct args, container), NULL, NULL,
      "run as the application master on YARN" },
    { 0 },
};

struct run {
    struct master_options opt;
    struct err *err;
};

static int run_master(void *arg)
{
    struct run *r = arg;

    return master_run(&r->opt, r->err);
}

static int run_container(void *arg)
{
    struct run *r = arg;
    struct master_container c;
    int result = master_container_open(r->opt.loop, &c, r->err);

    if (result == 0) {
        r->opt.container = &c;
        r->opt.dir = &c.dir;
        result = master_run(&r->opt, r->err);
    }
    fiber_shield(r->opt.loop, true);
    master_container_close(&c);
    fiber_shield(r->opt.loop, false);
    return result;
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

static int run_on_yarn(struct err *err)
{
    struct loop *loop = NULL;
    struct run run = { .err = err };
    int r = loop_new(&loop, err);

    if (r < 0)
        return r;
    run.opt = (struct master_options){ .loop = loop, .ready_fd = -1 };
    r = loop_run(loop, run_container, &run, true);
    loop_free(loop);
    return r;
}

static int node_master_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    AUTO_JOB_DIR dir = JOB_DIR_INIT;
    struct loop *loop = NULL;
    struct run run = { .err = err };
    int r;

    (void)signal(SIGPIPE, SIG_IGN);
    if (a->container)
        return run_on_yarn(err);
    if (!a->dir)
        return cli_bad(err, "--dir DIR is needed");
    r = jobs_open(a->dir, &dir, err);
    if (r < 0)
        return r;
    if (!dir.run)
        return err_set(err, -ENOENT, "'%s' is not the directory of a new job", a->dir);
    note_pid();
    r = loop_new(&loop, err);
    if (r < 0)
        return r;
    run.opt = (struct master_options){
        .loop = loop, .dir = &dir, .node_program = "/proc/self/exe", .ready_fd = move_pipe()
    };
    r = loop_run(loop, run_master, &run, true);
    loop_free(loop);
    return r;
}

const struct cli_verb verb_node_master = {
    .name = "master",
    .summary = "run one job (started by ydl)",
    .hidden = true,
    .opts = opts,
    .args_size = sizeof(struct args),
    .run = node_master_run,
};
