/* agent_leave.c - the end of an agent: of its tasks, of what they left, and of its own things. */
#include "agent/agent_private.h"
#include "base/log.h"
#include "base/path.h"

#include <signal.h>
#include <sys/stat.h>

#define END_MS 5000 /* for the kernel to end what was killed */

void leave_tasks(struct agent *a, int64_t grace)
{
    int64_t deadline = loop_in(a->loop, (grace > 0 ? grace : 0) + END_MS);

    a->leaving = true;
    stop_all(a, grace);
    measure_end(a);
    logrotate_end(a);
    tensorboard_mirror_end(a);
    for (struct helper *h = a->helpers; h; h = h->next)
        (void)kill(-h->pid, SIGKILL);
    while ((a->living || a->busy) && cond_wait(a->loop, &a->quiet, deadline) == 0)
        ;
    relay_stop(a);
    if (!reap_all(a, loop_in(a->loop, END_MS)))
        log_error(LOG_AGENT, "processes are left that cannot be killed");
}

/* The run directory, when the master could not remove it and no other agent uses it any more.
 * Whoever removes the directory of tasks, which must be empty, was the last. */
static void leave_remove_run(struct agent *a)
{
    AUTO_FREE char *run = path_dir(a->opt->join_file);
    struct stat st;

    if (!run || !a->tasks_dir || !str_starts(a->work_dir, run) || lstat(run, &st) < 0)
        return;
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    if (rmdir(a->tasks_dir) < 0 && errno != ENOENT)
        return;
    if (remove_tree(a, run, NULL) < 0)
        log_warn(LOG_AGENT, "cannot remove '%s', ignoring", run);
}

/* In a container everything of ours is in one directory, which stays for an agent that may follow
 * us there unless the job is over; beside the client that one is there before we are, and only ours
 * to remove when the client is gone. Elsewhere others have theirs there. */
static void remove_own(struct agent *a, bool master_gone)
{
    if (a->tmp_dir)
        (void)remove_tree(a, a->tmp_dir, NULL);
    for (size_t i = 0; i < a->n_tasks; i++)
        if (a->tasks[i]->out)
            (void)remove_tree(a, a->tasks[i]->out, NULL);
    if (a->out_dir)
        (void)rmdir(a->out_dir);
    if (a->told_to_leave)
        output_marks_remove(a);
    if (a->container && (a->container->client || (a->work_dir && a->told_to_leave)))
        (void)remove_tree(a, a->container->own, NULL);
    else if (!a->container && master_gone && a->facts)
        leave_remove_run(a);
}

void leave_clean(struct agent *a, bool master_gone)
{
    a->cleaning = true;
    report_flush(a);
    if (a->channel && channel_flush(a->channel, loop_in(a->loop, END_MS), NULL) < 0)
        a->untold = a->unsaved;
    (void)fiber_sleep(a->loop, 1); /* a master that went while we stood still is noticed here */
    if (!a->channel)
        a->untold = a->unsaved; /* it may have told nobody */
    for (size_t i = 0; i < a->n_tasks; i++) {
        a->tasks[i]->phase = PHASE_IDLE;
        prepare_drop(a->tasks[i]);
    }
    remove_end(a);
    files_done(a);
    start_done(a);
    remove_own(a, master_gone);
    attend_end(a);
    follow_stop(a);
    a->channel = channel_close(a->channel);
}
