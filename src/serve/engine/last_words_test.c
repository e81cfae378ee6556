/* last_words_test.c - a process that dies of a signal has said why, and still dies of it. */
#include "base/auto.h"
#include "serve/engine/last_words.h"
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(int number)
{
    const struct rlimit none = { 0, 0 };

    (void)setrlimit(RLIMIT_CORE, &none);
    last_words_set("prog", "the library '%s' crashed", "a.so");
    last_words_set("prog", "the library '%s' crashed while it loaded '%s'", "b.so", "model");
    (void)signal(number, SIG_DFL); /* as a library might */
    last_words_set("prog", "the library '%s' crashed while it ran '%s'", "b.so", "model");
    if (number == SIGABRT)
        abort();
    (void)raise(number);
}

static void the_last_sentence_is_said_and_the_signal_is_the_same(void **state)
{
    static const struct {
        int number;
        const char *text;
    } rows[] = { { SIGSEGV, "prog: the library 'b.so' crashed while it ran 'model' (SIGSEGV)\n" },
                 { SIGABRT, "prog: the library 'b.so' crashed while it ran 'model' (SIGABRT)\n" } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[256] = "";
        int status = 0, fds[2];
        pid_t child;

        assert_int_equal(pipe(fds), 0);
        child = fork();
        if (child == 0) {
            (void)dup2(fds[1], STDERR_FILENO);
            die(rows[i].number);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
        assert_string_equal(text, rows[i].text);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), rows[i].number);
        (void)close(fds[0]);
        (void)close(fds[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_sentence_is_said_and_the_signal_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
