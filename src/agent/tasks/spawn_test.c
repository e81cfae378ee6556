/* spawn_test.c - see spawn.h */
#include "agent/tasks/spawn.h"
#include "base/path.h"
#include "base/str.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *const plain_env[] = { (char *)"PATH=/usr/bin:/bin", NULL };

struct world {
    struct spawner *s;
    int out[2];
    char dir[TEST_PATH];
};

static struct world *w_new(void)
{
    static struct world w;
    struct err err = ERR_INIT;

    w = (struct world){ 0 };
    assert_int_equal(spawner_new(&w.s, &err), 0);
    assert_int_equal(pipe2(w.out, O_CLOEXEC), 0);
    assert_true(test_dir(w.dir, "spawn"));
    return &w;
}

static void w_free(struct world *w)
{
    spawner_free(w->s);
    close(w->out[0]);
    if (w->out[1] >= 0)
        close(w->out[1]);
    assert_int_equal(path_remove(w->dir, NULL), 0);
}

static struct spawn_spec spec_of(struct world *w, char *const *argv)
{
    return (struct spawn_spec){ .argv = argv,
                                .envp = plain_env,
                                .cwd = w->dir,
                                .out = w->out[1],
                                .err = w->out[1],
                                .extra = -1,
                                .cgroup = -1 };
}

static int end_of(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* What a shell script prints when it is started with `spec`. */
static const char *run_script(struct world *w, const char *script, char *text, size_t cap)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    struct spawn_spec spec = spec_of(w, argv);
    struct err err = ERR_INIT;
    size_t n = 0;
    ssize_t r;
    pid_t pid;

    if (spawn_start(w->s, &spec, &pid, &err) < 0)
        fail_msg("%s", err.text);
    close(w->out[1]);
    w->out[1] = -1;
    while (n < cap - 1 && (r = read(w->out[0], text + n, cap - 1 - n)) > 0)
        n += (size_t)r;
    text[n] = '\0';
    assert_int_equal(end_of(pid), 0);
    return text;
}

static void a_child_leads_its_session_with_default_signals_and_three_descriptors(void **state)
{
    static const char script[] = "test $(ps -o sid= -p $$) = $$ && echo leader; "
                                 "grep -E '^Sig(Blk|Ign)' /proc/self/status; "
                                 "ls /proc/self/fd | tr '\\n' ' '; cat /proc/$$/oom_score_adj";
    AUTO_CLOSE int extra = open("/dev/null", O_RDONLY); /* on purpose without O_CLOEXEC */
    struct world *w;
    char text[512];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    w = w_new();
    assert_true(extra >= 0);
    assert_string_equal(run_script(w, script, text, sizeof(text)),
                        "leader\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                        "0 1 2 3 500\n");
    signal(SIGUSR1, SIG_DFL);
    w_free(w);
}

static void the_limit_of_open_files_is_the_one_from_before(void **state)
{
    struct rlimit before, low, now;
    struct world *w;
    char text[64];

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){ .rlim_cur = 200, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    w = w_new();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_true(now.rlim_cur == before.rlim_max);
    assert_string_equal(run_script(w, "ulimit -n", text, sizeof(text)), "200\n");
    w_free(w);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void one_more_descriptor_becomes_the_fourth(void **state)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"echo hello >&3", NULL };
    struct world *w = w_new();
    struct spawn_spec spec = spec_of(w, argv);
    struct err err = ERR_INIT;
    char text[16] = "";
    pid_t pid;

    (void)state;
    spec.extra = w->out[1];
    spec.out = spec.err = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(spawn_start(w->s, &spec, &pid, &err), 0);
    close(spec.out);
    assert_int_equal(end_of(pid), 0);
    assert_int_equal(read(w->out[0], text, sizeof(text) - 1), 6);
    assert_string_equal(text, "hello\n");
    w_free(w);
}

static void put(struct world *w, const char *name, const char *text, mode_t mode)
{
    AUTO_FREE char *path = path_join(w->dir, name);

    assert_non_null(path);
    assert_int_equal(path_write(path, text, strlen(text), mode, NULL), 0);
}

static void a_program_that_cannot_run_is_explained(void **state)
{
    static const struct {
        const char *program, *cwd;
        int detail;
        const char *text, *hint;
    } rows[] = {
        { "no-such", NULL, 127, "there is no command 'no-such'", "PATH" },
        { "./no-such", NULL, 127, "there is no file './no-such'", "" },
        { "", NULL, 127, "the command is empty", "" },
        { "./plain", NULL, 126, "'./plain' may not be executed", "chmod +x" },
        { "plain", NULL, 126, "'plain' is in PATH but is not an executable file", "" },
        { "./dir", NULL, 126, "'./dir' is a directory", "" },
        { "./text", NULL, 126, "'./text' is neither a program for this machine nor a script",
          "#!/bin/sh" },
        { "./badint", NULL, 126,
          "'./badint' needs the interpreter '/no/python', which does not exist", "" },
        { "./dos", NULL, 126, "'./dos' needs the interpreter '/bin/sh\\r', which does not exist",
          "dos2unix" },
        { "./plain/x", NULL, 127, "start './plain/x': Not a directory", "" },
        { "sh", "/no/dir", 126, "start 'sh' in '/no/dir': No such file or directory", "" },
    };
    struct world *w = w_new();
    AUTO_FREE char *dir = path_join(w->dir, "dir"), *path = str_printf("PATH=/bin:%s", w->dir);
    char *envp[] = { path, NULL };

    (void)state;
    assert_non_null(dir);
    assert_non_null(path);
    put(w, "plain", "#!/bin/sh\n", 0644);
    put(w, "text", "echo\n", 0755);
    put(w, "badint", "#! /no/python -u\n", 0755);
    put(w, "dos", "#!/bin/sh\r\n", 0755);
    assert_int_equal(mkdir(dir, 0755), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *argv[] = { (char *)rows[i].program, NULL };
        struct spawn_spec spec = spec_of(w, argv);
        struct err err = ERR_INIT;
        pid_t pid;

        spec.envp = envp;
        if (rows[i].cwd)
            spec.cwd = rows[i].cwd;
        assert_true(spawn_start(w->s, &spec, &pid, &err) < 0);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.detail, rows[i].detail);
        assert_non_null(strstr(err.hint, rows[i].hint));
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
    }
    w_free(w);
}

static void arguments_beyond_the_systems_limit_are_measured(void **state)
{
    size_t n = 200 * KIB;
    AUTO_FREE char *big = malloc(n + 1);
    struct world *w = w_new();
    struct err err = ERR_INIT;
    char *argv[] = { (char *)"true", big, NULL };
    struct spawn_spec spec = spec_of(w, argv);
    pid_t pid;

    (void)state;
    assert_non_null(big);
    memset(big, 'x', n);
    big[n] = '\0';
    assert_int_equal(spawn_start(w->s, &spec, &pid, &err), -E2BIG);
    assert_string_equal(err.text, "the arguments (200 KB) and environment (0 KB) of 'true' are too "
                                  "large for this system");
    assert_int_equal(err.detail, SPAWN_NOT_RUN);
    assert_string_equal(err.hint,
                        "one argument or variable may have at most 128 KB: pass a file instead");
    w_free(w);
}

static void a_name_is_looked_for_in_the_tasks_own_path(void **state)
{
    struct world *w = w_new();
    char *envp[] = { (char *)"PATH=/nowhere::bin", NULL }, *argv[] = { (char *)"mine", NULL };
    struct spawn_spec spec = spec_of(w, argv);
    AUTO_FREE char *bin = path_join(w->dir, "bin");
    struct err err = ERR_INIT;
    pid_t pid;

    (void)state;
    spec.envp = envp;
    assert_non_null(bin);
    assert_int_equal(mkdir(bin, 0755), 0);
    put(w, "bin/mine", "#!/bin/sh\nexit 7\n", 0755);
    assert_int_equal(spawn_start(w->s, &spec, &pid, &err), 0);
    assert_int_equal(WEXITSTATUS(end_of(pid)), 7);
    w_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_leads_its_session_with_default_signals_and_three_descriptors),
        cmocka_unit_test(the_limit_of_open_files_is_the_one_from_before),
        cmocka_unit_test(one_more_descriptor_becomes_the_fourth),
        cmocka_unit_test(a_program_that_cannot_run_is_explained),
        cmocka_unit_test(arguments_beyond_the_systems_limit_are_measured),
        cmocka_unit_test(a_name_is_looked_for_in_the_tasks_own_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
