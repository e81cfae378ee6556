/* finish.c - what is reported of a task's end: its class, a sentence, and the last lines.
 *
 * What we did ourselves is known. A SIGKILL that we did not send came from the kernel if its count
 * of out-of-memory kills has gone up. A failure on a full disk is blamed on the disk. */
#include "agent/tasks/finish.h"
#include "agent/agent_private.h"
#include "agent/link/agent_report.h"
#include "agent/output/export.h"
#include "agent/output/last_lines.h"
#include "agent/output/output_files.h"
#include "agent/output/output_follow.h"
#include "agent/tasks/agent_tasks.h"
#include "agent/tasks/cgroup.h"
#include "agent/tasks/ports.h"
#include "agent/tasks/prepare.h"
#include "agent/tasks/spawn.h"
#include "base/path.h"
#include "loop/loop.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#define LINES_DEFAULT 20 /* last lines of an ended task, when the master does not say */
#define LINES_BYTES (4 * KIB)
#define ERROR_FILE_MAX (64 * KIB)

uint64_t finish_oom_kills(void)
{
    AUTO_BUF text = { .max = 64 * KIB };
    const char *at;

    if (path_read("/proc/vmstat", &text, NULL) < 0 || !buf_text(&text))
        return 0;
    at = strstr((const char *)text.data, "\noom_kill ");
    return at ? strtoull(at + 10, NULL, 10) : 0;
}

/* ---- why ---- */

struct verdict {
    enum fail_class fail;
    char text[256];
};

static bool full(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && fs.f_blocks > 0 &&
           (fs.f_bavail == 0 || (fs.f_files > 0 && fs.f_favail == 0));
}

static bool disk_full(const struct agent_task *t, const struct buf *lines, struct verdict *v)
{
    static const char *const says[] = { "No space left on device", "Disk quota exceeded" };
    const char *places[] = { t->agent->dirs.log, t->agent->dirs.tasks, t->prep.work };

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (!full(places[i]))
            continue;
        snprintf(v->text, sizeof(v->text), "the disk with '%s' is full", places[i]);
        return true;
    }
    for (size_t i = 0; lines->len && i < COUNT_OF(says); i++) {
        if (!memmem(lines->data, lines->len, says[i], strlen(says[i])))
            continue;
        snprintf(v->text, sizeof(v->text), "it says: %s", says[i]);
        return true;
    }
    return false;
}

static bool finish_out_of_memory(const struct agent_task *t, struct verdict *v)
{
    char limit[STR_SIZE_MAX];

    if (cgroup_oom_kills(&t->memory.cgroup) > 0) {
        snprintf(v->text, sizeof(v->text), "killed by the kernel for using more than %s",
                 str_size(t->memory.limit, limit));
        return true;
    }
    if (t->stop.killed || !WIFSIGNALED(t->process.status) ||
        WTERMSIG(t->process.status) != SIGKILL || finish_oom_kills() <= t->agent->limits.oom_kills)
        return false;
    snprintf(v->text, sizeof(v->text), "killed by the kernel, because memory ran out");
    return true;
}

#define DIRECTORY_GONE "the directory of its container has been removed"

bool finish_directory_gone(const struct agent *a)
{
    return a->platform->gone && a->platform->gone(a);
}

enum fail_class finish_blame(const struct agent *a, enum fail_class fail, struct err *err)
{
    if (fail == FAIL_NONE || fail == FAIL_PERSON || !finish_directory_gone(a))
        return fail;
    err_set(err, -ENOENT, DIRECTORY_GONE);
    return FAIL_NODE;
}

/* From what is certain to what is likely. What we did ourselves comes first; success needs no
 * cause; then the kernel's count, the signals of a stop, a directory that was removed, and a full
 * disk, which explains a failure better than its exit code. The class decides whether a restart is
 * counted and whether the node is blamed, so that a task is not blamed for what happened to it. */
static struct verdict finish_judge(const struct agent_task *t, const struct buf *lines)
{
    struct verdict v = { .fail = FAIL_NONE };
    int signum = WIFSIGNALED(t->process.status) ? WTERMSIG(t->process.status) : 0;

    if (t->stop.why != FAIL_NONE) {
        v.fail = t->stop.why;
        snprintf(v.text, sizeof(v.text), "%s", t->stop.why_text ? t->stop.why_text : "");
    } else if (t->process.status == 0) {
        v.fail = FAIL_NONE;
    } else if (finish_out_of_memory(t, &v)) {
        v.fail = FAIL_MEMORY;
    } else if (signum && t->stop.stopping && (signum == SIGTERM || signum == SIGKILL)) {
        v.fail = FAIL_PERSON;
        snprintf(v.text, sizeof(v.text),
                 signum == SIGTERM ? "ended when it was asked to stop"
                                   : "killed when its grace period expired");
    } else if (!t->stop.stopping && finish_directory_gone(t->agent)) {
        v.fail = FAIL_NODE;
        snprintf(v.text, sizeof(v.text), DIRECTORY_GONE);
    } else if (!t->stop.stopping && disk_full(t, lines, &v)) {
        v.fail = FAIL_DISK;
    } else if (signum) {
        const char *name = sigabbrev_np(signum);

        v.fail = FAIL_SIGNAL;
        snprintf(v.text, sizeof(v.text), "ended by signal %d (SIG%s)%s", signum, name ? name : "?",
                 WCOREDUMP(t->process.status) ? ", core dumped" : "");
    } else {
        v.fail = FAIL_EXIT;
    }
    return v;
}

/* ---- what is told ---- */

/* Standard error first: it usually explains the failure. */
static void read_lines(const struct agent_task *t, const Agent__ExitedTask *end, struct buf *out)
{
    unsigned most = t->agent->facts->lines ? t->agent->facts->lines : LINES_DEFAULT, n = 0;
    char name[OUTPUT_NAME];

    if (end->err_bytes && lines_last(output_name(&t->output.streams[1], name), most, out) < 0)
        return;
    for (size_t i = 0; i < out->len; i++)
        n += out->data[i] == '\n';
    if (n < most && end->out_bytes)
        (void)lines_last(output_name(&t->output.streams[0], name), most - n, out);
}

static void read_error_file(const struct agent_task *t, struct buf *out)
{
    AUTO_FREE char *path = t->start.wants_error_file ? prepare_path(t, "error") : NULL;

    if (path && path_read(path, out, NULL) < 0)
        buf_reset(out);
}

/* An abort that the task announced (MPI_Abort, pmi.c) gives the exit code, whatever signal then
 * ended it. */
static void finish_tell(struct agent_task *t, Agent__ExitedTask end)
{
    AUTO_BUF lines = { .max = LINES_BYTES };
    AUTO_BUF error_file = { .max = ERROR_FILE_MAX };
    uint64_t peak = cgroup_peak(&t->memory.cgroup);
    struct verdict v;

    if (t->process.status != 0)
        read_lines(t, &end, &lines);
    read_error_file(t, &error_file);
    v = finish_judge(t, &lines);
    end.fail = v.fail;
    end.text = v.text;
    end.signal = WIFSIGNALED(t->process.status) ? WTERMSIG(t->process.status) : 0;
    end.code = end.signal ? 128 + end.signal : WEXITSTATUS(t->process.status);
    if (t->stop.abort_code) {
        end.signal = 0;
        end.code = t->stop.abort_code;
    }
    end.lines = (ProtobufCBinaryData){ .data = lines.data, .len = lines.len };
    end.error_file = (ProtobufCBinaryData){ .data = error_file.data, .len = error_file.len };
    end.memory_peak = peak > t->memory.peak ? peak : t->memory.peak;
    report_exited(t, &end);
}

static void finish_fill(struct agent_task *t, Agent__ExitedTask *end)
{
    end->task = t->id;
    end->attempt = t->start.attempt;
    end->generation = t->start.generation;
    end->when = t->process.when_ended;
    end->asked = t->process.asked;
    end->out_bytes = rotate_size(&t->output.streams[0].cut);
    end->err_bytes = rotate_size(&t->output.streams[1].cut);
}

void finish_task(struct agent_task *t)
{
    Agent__ExitedTask end = AGENT__EXITED_TASK__INIT;
    struct agent *a = t->agent;

    finish_fill(t, &end);
    end.results = t->process.status == 0 && export_has_results(t);
    end.lived_ms =
        t->process.ended > t->process.started ? t->process.ended - t->process.started : 1;
    finish_tell(t, end);
    cgroup_remove(&t->memory.cgroup);
    /* Holds the ports for the next attempt; a failure now is reported then. */
    for (size_t i = 0; i < t->prep.n_ports; i++)
        (void)ports_hold_again(&t->prep.ports[i], NULL);
    t->phase = PHASE_IDLE;
    follow_task_changed(t);
    if (--a->tasks.living == 0)
        cond_wake_all(&a->tasks.quiet);
}

/* The same report as for a task that ran, so that the master has one path for both; it has no lines
 * and lived for no time. */
void finish_unstarted(struct agent_task *t, enum fail_class why, const struct err *err)
{
    Agent__ExitedTask end = AGENT__EXITED_TASK__INIT;
    char text[sizeof(err->text) + sizeof(err->hint) + 2];

    t->phase = PHASE_IDLE;
    t->process.when_ended = loop_wall();
    t->process.asked = t->stop.stopping;
    snprintf(text, sizeof(text), "%s%s%s", err->text, err->hint[0] ? ": " : "", err->hint);
    finish_fill(t, &end);
    end.fail = why;
    end.code = err->detail ? err->detail : SPAWN_NOT_RUN;
    end.text = text;
    report_exited(t, &end);
    for (size_t i = 0; i < t->prep.n_ports; i++)
        (void)ports_hold_again(&t->prep.ports[i], NULL);
    follow_task_changed(t);
}
