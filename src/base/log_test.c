/* log_test.c - see log.h. Standard error goes into a file while a claim is checked. */
#include "base/auto.h"
#include "base/log.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct captured {
    int saved;
    FILE *file;
    char text[65536];
};

static void capture(struct captured *c)
{
    c->file = tmpfile();
    assert_non_null(c->file);
    c->saved = dup(STDERR_FILENO);
    assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

static const char *release(struct captured *c)
{
    ssize_t n = pread(fileno(c->file), c->text, sizeof(c->text) - 1, 0);

    c->text[n > 0 ? n : 0] = '\0';
    (void)dup2(c->saved, STDERR_FILENO);
    close(c->saved);
    (void)fclose(c->file);
    return c->text;
}

static int start_over(void **state)
{
    (void)state;
    setenv("YDL_TRACE", "-all", 1);
    unsetenv("YDL_LOG");
    log_set_level(LOG_LEVEL_WARN);
    log_set_job(NULL);
    log_init("t");
    return 0;
}

static void a_line_has_program_level_part_and_text(void **state)
{
    struct captured c;

    (void)state;
    capture(&c);
    log_warn(LOG_RPC, "lost '%s', ignoring", "h:1");
    log_info(LOG_RPC, "not shown");
    trace(LOG_RPC, "not shown");
    log_set_level(LOG_LEVEL_INFO);
    log_set_job("job_1");
    log_info(LOG_MAIN, "shown");
    assert_string_equal(release(&c), "t: warn: rpc: lost 'h:1', ignoring\n"
                                     "t: info: main: [job_1] shown\n");
}

static void trace_follows_the_list_of_components(void **state)
{
    static const struct {
        const char *list;
        bool rpc, loop, hdfs;
    } rows[] = {
        { "rpc,hdfs", true, false, true },     { "all", true, true, true },
        { "all,-loop", true, false, true },    { "rpc,-rpc", false, false, false },
        { " rpc , loop ", true, true, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        setenv("YDL_TRACE", rows[i].list, 1);
        log_init("t");
        assert_int_equal(log_on(LOG_RPC, LOG_LEVEL_TRACE), rows[i].rpc);
        assert_int_equal(log_on(LOG_LOOP, LOG_LEVEL_TRACE), rows[i].loop);
        assert_int_equal(log_on(LOG_HDFS, LOG_LEVEL_TRACE), rows[i].hdfs);
        assert_false(log_on(LOG_HDFS, LOG_LEVEL_INFO));
    }
}

static void an_unknown_component_or_level_is_named_and_ignored(void **state)
{
    struct captured c;
    const char *text;

    (void)state;
    setenv("YDL_TRACE", "rcp,rpc", 1);
    setenv("YDL_LOG", "loud", 1);
    capture(&c);
    log_init("t");
    text = release(&c);
    assert_non_null(strstr(text, "unknown component 'rcp' (did you mean 'rpc'?), ignoring\n"));
    assert_non_null(strstr(text, "YDL_LOG: unknown level 'loud'"));
    assert_true(log_on(LOG_RPC, LOG_LEVEL_TRACE));
    assert_true(log_on(LOG_RPC, LOG_LEVEL_WARN));
}

static int evaluated(int *count)
{
    return ++*count;
}

static void a_trace_that_is_off_costs_no_evaluation(void **state)
{
    struct captured c;
    int count = 0;

    (void)state;
    trace(LOG_HDFS, "%d", evaluated(&count));
    assert_int_equal(count, 0);
    setenv("YDL_TRACE", "hdfs", 1);
    log_init("t");
    capture(&c);
    trace(LOG_HDFS, "%d", evaluated(&count));
    assert_int_equal(strncmp(release(&c), "t: trace ", 9), 0);
    assert_int_equal(count, 1);
}

static void an_event_is_one_line_whatever_it_carries(void **state)
{
    struct captured c;
    char long_text[9000];
    const char *text;

    (void)state;
    memset(long_text, '\033', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    capture(&c);
    log_warn(LOG_MAIN, "a\nb\033[1m");
    log_warn(LOG_MAIN, "%s", long_text);
    text = release(&c);
    assert_int_equal(strncmp(text, "t: warn: main: a\\nb\\x1b[1m\nt: warn: main: ", 42), 0);
    assert_ptr_equal(strchr(strchr(text, '\n') + 1, '\n'), text + strlen(text) - 1);
}

static void *talk(void *arg)
{
    for (int i = 0; i < 100; i++)
        log_warn(LOG_MAIN, "thread %s says a few words", (const char *)arg);
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    static const char *const names[] = { "one", "two", "three", "four" };
    pthread_t threads[COUNT_OF(names)];
    struct captured c;
    char *line, *end;
    int lines = 0;

    (void)state;
    capture(&c);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, (void *)names[i]), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        pthread_join(threads[i], NULL);
    release(&c);
    for (line = c.text; *line; line = end + 1, lines++) {
        end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_int_equal(strncmp(line, "t: warn: main: thread ", 22), 0);
        assert_string_equal(strchr(line + 22, ' '), " says a few words");
    }
    assert_int_equal(lines, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_line_has_program_level_part_and_text, start_over),
        cmocka_unit_test_setup(trace_follows_the_list_of_components, start_over),
        cmocka_unit_test_setup(an_unknown_component_or_level_is_named_and_ignored, start_over),
        cmocka_unit_test_setup(a_trace_that_is_off_costs_no_evaluation, start_over),
        cmocka_unit_test_setup(an_event_is_one_line_whatever_it_carries, start_over),
        cmocka_unit_test_setup(lines_of_threads_do_not_mix, start_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
