/* process_tree_test.c - see process_tree.h */
#include "agent/tasks/process_tree.h"
#include "base/path.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Two children, the second with a child in a session of its own; all wait to be killed. */
struct dmlc {
    pid_t first, second, grandchild;
};

/* Not beyond its parent's end, whatever an assertion did to that. */
static void sleep_for_ever(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

static struct dmlc make_family(void)
{
    struct dmlc f = { 0 };
    int p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    f.first = fork();
    if (f.first == 0)
        sleep_for_ever();
    f.second = fork();
    if (f.second == 0) {
        pid_t g = fork();

        if (g == 0) {
            g = setsid();
            (void)!write(p[1], &g, sizeof(g));
        }
        sleep_for_ever();
    }
    assert_int_equal(read(p[0], &f.grandchild, sizeof(pid_t)), sizeof(pid_t));
    close(p[0]);
    close(p[1]);
    return f;
}

static void end_family(const struct dmlc *f)
{
    kill(f->grandchild, SIGKILL);
    kill(f->first, SIGKILL);
    kill(f->second, SIGKILL);
    waitpid(f->first, NULL, 0);
    waitpid(f->second, NULL, 0);
}

static const struct tree_proc *find(const struct tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].pid == pid)
            return &t->v[i];
    return NULL;
}

static bool is(void *user, pid_t pid)
{
    return pid == *(pid_t *)user;
}

static void everything_below_is_found_with_whom_it_comes_from(void **state)
{
    struct dmlc f = make_family();
    AUTO_TREE t = { 0 };
    const struct tree_proc *g;
    int r;

    (void)state;
    tree_init(&t);
    r = tree_read(&t, getpid(), NULL, NULL);
    if (r == 0) {
        g = find(&t, f.grandchild);
        assert_int_equal(t.n, 3);
        assert_non_null(g);
        assert_int_equal(g->parent, f.second);
        assert_int_equal(t.v[g->top].pid, f.second);
        assert_int_equal(g->session, f.grandchild);
        assert_int_equal(t.v[find(&t, f.first)->top].pid, f.first);
        assert_true(g->start > 0 && g->start <= tree_now());
        assert_true(g->rss > 0);
    }
    end_family(&f);
    assert_int_equal(r, 0);
}

static void a_skipped_child_is_left_out_with_its_own(void **state)
{
    struct dmlc f = make_family();
    AUTO_TREE t = { 0 };
    int r;

    (void)state;
    tree_init(&t);
    r = tree_read(&t, getpid(), is, &f.second);
    end_family(&f);
    assert_int_equal(r, 0);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.v[0].pid, f.first);
}

/* A made-up /proc: each process with the numbers that its stat has, and what each of its threads
 * lists as children. */
static void put(const char *dir, const char *file, const char *text)
{
    char path[2 * TEST_PATH], *slash;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(path_mkdirs(path, 0700, NULL), 0);
    *slash = '/';
    assert_int_equal(path_write(path, text, strlen(text), 0600, NULL), 0);
}

static void make_proc(const char *dir)
{
    static const struct {
        int pid, parent;
        const char *name, *threads[2];
    } rows[] = {
        { 10, 1, "root", { "20 30 ", "40 " } }, /* two threads with children */
        { 20, 10, "a) S 99", { "21 " } },       /* a name that looks like the rest of the line */
        { 21, 20, "aa", { "" } },
        { 30, 10, "b", { "31 " } },
        { 31, 30, "bb", { "32 " } },
        { 32, 31, "bbb", { "" } },
        { 40, 10, "c", { "41 " } }, /* 41 has gone before it was looked at */
        { 50, 1, "stranger", { "51 " } },
        { 51, 50, "its child", { "" } },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char file[64], text[256];

        snprintf(file, sizeof(file), "%d/stat", rows[i].pid);
        snprintf(text, sizeof(text), "%d (%s) S %d 7 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 3 0\n",
                 rows[i].pid, rows[i].name, rows[i].parent, 1000 + rows[i].pid);
        put(dir, file, text);
        for (int k = 0; k < 2 && rows[i].threads[k]; k++) {
            snprintf(file, sizeof(file), "%d/task/%d/children", rows[i].pid, rows[i].pid + 500 * k);
            put(dir, file, rows[i].threads[k]);
        }
    }
}

static void lists_of_children_and_a_look_at_everything_agree(void **state)
{
    static const int wanted[][3] = { /* process, its parent, the one it descends from */
                                     { 20, 10, 20 }, { 21, 20, 20 }, { 30, 10, 30 },
                                     { 31, 30, 30 }, { 32, 31, 30 }, { 40, 10, 40 }
    };
    char dir[TEST_PATH];
    pid_t skipped = 30;

    (void)state;
    assert_true(test_dir(dir, "tree"));
    make_proc(dir);
    for (int scan = 0; scan < 2; scan++) {
        AUTO_TREE t = { .scan = scan, .proc = dir };

        assert_int_equal(tree_read(&t, 10, NULL, NULL), 0);
        assert_int_equal(t.n, COUNT_OF(wanted));
        for (size_t i = 0; i < COUNT_OF(wanted); i++) {
            const struct tree_proc *p = find(&t, wanted[i][0]);

            assert_non_null(p);
            assert_int_equal(p->parent, wanted[i][1]);
            assert_int_equal(t.v[p->top].pid, wanted[i][2]);
            assert_int_equal(p->start, 1000 + wanted[i][0]);
            assert_int_equal(p->group, 7);
            assert_int_equal(p->session, 8);
        }
        assert_int_equal(tree_read(&t, 10, is, &skipped), 0);
        assert_int_equal(t.n, 3);
        assert_null(find(&t, 31));
    }
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void a_signal_goes_to_the_process_that_was_seen(void **state)
{
    struct tree_proc p, stranger;
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0)
        sleep_for_ever();
    assert_true(tree_look(child, &p));
    stranger = p;
    stranger.start--; /* as if the number had been somebody else's */
    assert_int_equal(tree_signal(&stranger, SIGKILL), -ESRCH);
    assert_int_equal(waitpid(child, &status, WNOHANG), 0);
    assert_int_equal(tree_signal(&p, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(tree_signal(&p, SIGKILL), -ESRCH);
    assert_false(tree_look(child, &p));
}

static void a_variable_is_read_from_outside(void **state)
{
    char *argv[] = { (char *)"sleep", (char *)"60", NULL };
    char *envp[] = { (char *)"AB=no", (char *)"A=a b", (char *)"LONG=12345678", NULL };
    char text[8] = "";
    bool seen = false;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execve("/bin/sleep", argv, envp);
        _exit(1);
    }
    for (int i = 0; i < 60000 && !seen; i++, usleep(1000)) /* until it has been executed */
        seen = tree_env(child, "A", text, sizeof(text));
    kill(child, SIGKILL);
    assert_true(seen);
    assert_string_equal(text, "a b");
    assert_false(tree_env(child, "B", text, sizeof(text)));
    assert_false(tree_env(child, "LONG", text, sizeof(text)));
    waitpid(child, NULL, 0);
}

static void memory_is_measured(void **state)
{
    size_t n = 8 * MIB;
    struct tree_proc before, after;
    uint64_t pss;
    char *p;

    (void)state;
    assert_true(tree_look(getpid(), &before));
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        fail(); /* of memory */
    memset(p, 1, n);
    assert_true(tree_look(getpid(), &after));
    pss = tree_pss(getpid());
    munmap(p, n);
    assert_true(after.rss >= before.rss + n / 2);
    assert_true(pss == 0 || pss >= n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_below_is_found_with_whom_it_comes_from),
        cmocka_unit_test(a_skipped_child_is_left_out_with_its_own),
        cmocka_unit_test(lists_of_children_and_a_look_at_everything_agree),
        cmocka_unit_test(a_signal_goes_to_the_process_that_was_seen),
        cmocka_unit_test(a_variable_is_read_from_outside),
        cmocka_unit_test(memory_is_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
