/* proc_test.c - see proc.h */
#include "loop/fiber.h"
#include "loop/proc.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define SOON 60000 /* a deadline that is never reached unless something is wrong */

struct world {
    struct loop *loop;
    int out[2]; /* pipe for what a child writes */
};

/* Starts `script` in sh with its output in our pipe. */
static struct proc *sh(struct world *w, const char *script)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    struct proc_spec spec = { .program = "sh", .argv = argv, .fds = { -1, w->out[1], w->out[1] } };
    struct err err = ERR_INIT;
    struct proc *p = NULL;

    if (proc_start(w->loop, &spec, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

/* What is in the pipe now, up to its end once our own writing side is closed. */
static const char *output(struct world *w, char *text, size_t cap)
{
    size_t n = 0;
    ssize_t r;

    close(w->out[1]);
    while (n < cap - 1 && (r = read(w->out[0], text + n, cap - 1 - n)) > 0)
        n += (size_t)r;
    text[n] = '\0';
    w->out[1] = -1;
    return text;
}

static size_t open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void in_fiber(int (*fn)(void *arg))
{
    struct world w = { 0 };
    size_t before;

    /* The first loop of a process opens what libuv keeps forever. */
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    loop_free(w.loop);
    before = open_fds();
    assert_int_equal(pipe2(w.out, O_CLOEXEC), 0);
    assert_int_equal(loop_new(&w.loop, NULL), 0);
    assert_int_equal(loop_run(w.loop, fn, &w, false), 0);
    loop_free(w.loop);
    close(w.out[0]);
    if (w.out[1] >= 0)
        close(w.out[1]);
    /* No zombie and no descriptor is left on any path. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(open_fds(), before);
}

static int statuses(void *arg)
{
    static const struct {
        const char *script;
        int code;
    } rows[] = {
        { "exit 0", 0 },       { "exit 7", 7 },        { "exit 255", 255 },
        { "kill -9 $$", 137 }, { "kill -15 $$", 143 },
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_PROC *p = sh(w, rows[i].script);
        int status = -1;

        assert_int_equal(proc_wait(p, loop_in(w->loop, SOON), &status), 0);
        assert_int_equal(proc_exit_code(status), rows[i].code);
        assert_int_equal(WIFSIGNALED(status), rows[i].code > 128 && rows[i].code < 255);
        assert_int_equal(proc_wait(p, 0, &status), 0); /* again, and past its deadline */
    }
    return 0;
}

static void the_end_is_told_with_its_status(void **state)
{
    (void)state;
    in_fiber(statuses);
}

static int wait_too_short(void *arg)
{
    struct world *w = arg;
    AUTO_PROC *p = sh(w, "exec sleep 60");
    int status = -1;

    assert_int_equal(proc_wait(p, loop_in(w->loop, 20), &status), -ETIMEDOUT);
    assert_false(proc_ended(p, &status));
    assert_int_equal(proc_signal_group(p, SIGINT), 0);
    assert_int_equal(proc_wait(p, loop_in(w->loop, SOON), &status), 0);
    assert_int_equal(proc_exit_code(status), 128 + SIGINT);
    return 0;
}

static void a_wait_ends_at_its_deadline_and_the_child_goes_on(void **state)
{
    (void)state;
    in_fiber(wait_too_short);
}

static int own_session(void *arg)
{
    struct world *w = arg;
    AUTO_PROC *p = sh(w, "ps -o pid= -o pgid= -o sid= -p $$; trap; ls /proc/self/fd | wc -l");
    char text[256], *at = text;
    int status = -1;

    assert_int_equal(proc_wait(p, loop_in(w->loop, SOON), &status), 0);
    output(w, text, sizeof(text));
    for (int i = 0; i < 3; i++) /* process, group and session are one number */
        assert_int_equal(strtol(at, &at, 10), proc_pid(p));
    assert_string_equal(strchr(text, '\n') + 1, "4\n"); /* 0, 1, 2 and the directory itself */
    return 0;
}

static void a_child_leads_a_session_and_inherits_three_descriptors(void **state)
{
    AUTO_CLOSE int extra = open("/dev/null", O_RDONLY); /* on purpose without O_CLOEXEC */

    (void)state;
    assert_true(extra >= 0);
    in_fiber(own_session);
}

static int in_place(void *arg)
{
    struct world *w = arg;
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"pwd; echo $A$HOME; cat", NULL };
    char *envp[] = { (char *)"A=1", NULL };
    struct proc_spec spec = {
        .program = "/bin/sh", .argv = argv, .envp = envp, .cwd = "/", .fds = { -1, w->out[1], 1 }
    };
    AUTO_PROC *p = NULL;
    struct err err = ERR_INIT;
    char text[64];
    int status = -1;

    assert_int_equal(proc_start(w->loop, &spec, &p, &err), 0);
    assert_int_equal(proc_wait(p, loop_in(w->loop, SOON), &status), 0);
    assert_int_equal(status, 0);
    assert_string_equal(output(w, text, sizeof(text)), "/\n1\n");
    return 0;
}

static void directory_environment_and_streams_are_as_asked(void **state)
{
    (void)state;
    in_fiber(in_place);
}

static int bad_starts(void *arg)
{
    static const struct {
        const char *program, *cwd;
        int result;
        const char *text, *hint;
    } rows[] = {
        { "/no/such", NULL, -ENOENT, "start '/no/such': No such file or directory", "" },
        { "no-such-program", NULL, -ENOENT, "start 'no-such-program': No such file or directory",
          "no directory of PATH has a program of that name" },
        { "/etc/passwd", NULL, -EACCES, "start '/etc/passwd': Permission denied", "" },
        { "sh", "/no/dir", -ENOENT, "start 'sh' in '/no/dir': No such file or directory", "" },
    };
    struct world *w = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *argv[] = { (char *)"x", NULL };
        struct proc_spec spec = {
            .program = rows[i].program, .argv = argv, .cwd = rows[i].cwd, .fds = { -1, -1, -1 }
        };
        struct err err = ERR_INIT;
        struct proc *p = NULL;

        assert_int_equal(proc_start(w->loop, &spec, &p, &err), rows[i].result);
        assert_null(p);
        assert_string_equal(err.text, rows[i].text);
        assert_string_equal(err.hint, rows[i].hint);
    }
    return 0;
}

static void a_program_that_cannot_start_is_named(void **state)
{
    (void)state;
    in_fiber(bad_starts);
}

static bool alive(pid_t pid)
{
    char path[64], line[256] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    (void)!fgets(line, sizeof(line), f);
    (void)fclose(f);
    return strstr(line, ") Z ") == NULL; /* an orphan may wait for init to reap it */
}

/* A child leaves a grandchild behind that ignores SIGTERM; its number comes through the pipe. */
static pid_t leave_one_behind(struct world *w, struct proc **ret, bool leader_stays)
{
    char text[32] = "";
    size_t n = 0;

    *ret = sh(w, leader_stays ? "trap '' TERM; sleep 60 & echo $!; wait"
                              : "trap '' TERM; sleep 60 & echo $!");
    while (!strchr(text, '\n') && n < sizeof(text) - 1) {
        ssize_t r = read(w->out[0], text + n, 1);

        assert_int_equal(r, 1);
        n++;
    }
    return (pid_t)strtol(text, NULL, 10);
}

static int free_with_orphan(void *arg)
{
    struct world *w = arg;
    struct proc *p;
    pid_t orphan = leave_one_behind(w, &p, false);
    int status = -1;

    assert_int_equal(proc_wait(p, loop_in(w->loop, SOON), &status), 0);
    assert_true(alive(orphan));
    assert_int_equal(proc_signal_group(p, SIGCONT), 0);
    proc_free(p);
    for (int i = 0; i < 12000 && alive(orphan); i++)
        fiber_sleep(w->loop, 5);
    assert_false(alive(orphan));
    return 0;
}

static void freeing_ends_the_whole_group(void **state)
{
    (void)state;
    in_fiber(free_with_orphan);
}

static int end_with_grace(void *arg)
{
    struct world *w = arg;
    AUTO_PROC *obeys = sh(w, "exec sleep 60");
    struct proc *stubborn;
    pid_t grandchild = leave_one_behind(w, &stubborn, true);
    int status = -1;

    assert_int_equal(proc_end(obeys, SOON, &status), 0);
    assert_int_equal(proc_exit_code(status), 128 + SIGTERM);
    assert_int_equal(proc_end(stubborn, 30, &status), 0);
    assert_int_equal(proc_exit_code(status), 128 + SIGKILL);
    proc_free(stubborn);
    for (int i = 0; i < 12000 && alive(grandchild); i++)
        fiber_sleep(w->loop, 5);
    assert_false(alive(grandchild));
    return 0;
}

static void an_end_is_asked_for_and_then_forced(void **state)
{
    (void)state;
    in_fiber(end_with_grace);
}

struct waiter {
    struct world *w;
    struct proc *p;
    int result;
};

static void wait_for_long(void *arg)
{
    struct waiter *me = arg;
    int status;

    me->result = proc_wait(me->p, LOOP_NEVER, &status);
}

static int free_under_waiters(void *arg)
{
    struct world *w = arg;
    struct proc *p = sh(w, "exec sleep 60");
    struct waiter a = { w, p, 1 }, b = { w, p, 1 }, c = { w, p, 1 };
    struct fiber *f;

    assert_int_equal(fiber_start(w->loop, wait_for_long, &a, NULL, NULL), 0);
    assert_int_equal(fiber_start(w->loop, wait_for_long, &b, NULL, NULL), 0);
    assert_int_equal(fiber_start(w->loop, wait_for_long, &c, &f, NULL), 0);
    assert_int_equal(fiber_sleep(w->loop, 5), 0);
    fiber_cancel(f);
    assert_int_equal(fiber_yield(w->loop), 0);
    assert_int_equal(c.result, -ECANCELED);
    assert_int_equal(a.result, 1);
    proc_free(p);
    assert_int_equal(fiber_sleep(w->loop, 5), 0);
    assert_int_equal(a.result, -ECANCELED);
    assert_int_equal(b.result, -ECANCELED);
    return 0;
}

static void freeing_releases_whoever_waits(void **state)
{
    (void)state;
    in_fiber(free_under_waiters);
}

static int many(void *arg)
{
    struct world *w = arg;
    struct proc *all[50];

    for (size_t i = 0; i < COUNT_OF(all); i++)
        all[i] = sh(w, "exit 3");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        int status = -1;

        assert_int_equal(proc_wait(all[i], loop_in(w->loop, SOON), &status), 0);
        assert_int_equal(proc_exit_code(status), 3);
        proc_free(all[i]);
    }
    return 0;
}

static void many_children_are_told_apart(void **state)
{
    (void)state;
    in_fiber(many);
}

static void count_end(void *user)
{
    ++*(int *)user;
}

static int be_called(void *arg)
{
    struct world *w = arg;
    AUTO_PROC *ends = sh(w, "exit 3");
    struct proc *freed = sh(w, "sleep 60");
    int calls = 0, never = 0, status = 0;

    assert_int_equal(proc_on_end(ends, count_end, &calls), 0);
    assert_int_equal(proc_on_end(freed, count_end, &never), 0);
    assert_int_equal(calls, 0);
    freed = proc_free(freed);
    while (calls == 0)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    assert_int_equal(proc_wait(ends, loop_in(w->loop, SOON), &status), 0);
    assert_int_equal(proc_exit_code(status), 3);
    assert_int_equal(fiber_yield(w->loop), 0);
    assert_int_equal(calls, 1);
    assert_int_equal(never, 0);
    return 0;
}

static void the_end_is_told_without_a_fiber_that_waits(void **state)
{
    (void)state;
    in_fiber(be_called);
}

struct askers {
    struct proc *proc;
    int calls;
};

/* Has no memory twice, and wants to hear of it again. */
static void ask_again(void *user)
{
    struct askers *a = user;

    if (++a->calls < 3)
        assert_int_equal(proc_on_end(a->proc, ask_again, a), 0);
}

static int be_called_again(void *arg)
{
    struct world *w = arg;
    AUTO_PROC *ends = sh(w, "exit 3");
    struct askers a = { .proc = ends };

    assert_int_equal(proc_on_end(ends, ask_again, &a), 0);
    while (a.calls < 3)
        assert_int_equal(fiber_sleep(w->loop, 1), 0);
    return 0;
}

static void who_asks_again_is_told_again(void **state)
{
    (void)state;
    in_fiber(be_called_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_told_with_its_status),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_the_child_goes_on),
        cmocka_unit_test(a_child_leads_a_session_and_inherits_three_descriptors),
        cmocka_unit_test(directory_environment_and_streams_are_as_asked),
        cmocka_unit_test(a_program_that_cannot_start_is_named),
        cmocka_unit_test(freeing_ends_the_whole_group),
        cmocka_unit_test(an_end_is_asked_for_and_then_forced),
        cmocka_unit_test(freeing_releases_whoever_waits),
        cmocka_unit_test(many_children_are_told_apart),
        cmocka_unit_test(the_end_is_told_without_a_fiber_that_waits),
        cmocka_unit_test(who_asks_again_is_told_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
