/* wait_reason_test.c - see wait_reason.h */
#include "base/str.h"
#include "terminal/wait_reason.h"
#include "test.h"

#include <string.h>

static void what_a_job_waits_for_is_one_line(void **state)
{
    static const struct {
        const char *status, *line;
    } rows[] = {
        { "{}", "waiting for the job's master to start (20 s)" },
        { "{\"state\":\"ASKING\",\"roles\":[{\"name\":\"worker\",\"states\":{\"WAITING\":2}}],"
          "\"waiting\":\"have 0 of 2 containers; the queue is full\"}",
          "waiting for containers: worker 2 waiting; have 0 of 2 containers; the queue is full (20 "
          "s)" },
        { "{\"state\":\"FORMING\",\"roles\":[{\"name\":\"ps\",\"states\":{\"READY\":1}},"
          "{\"name\":\"worker\",\"states\":{\"PREPARING\":2}}]}",
          "preparing nodes: ps 1 ready; worker 2 preparing (20 s)" },
        { "{\"state\":\"RUNNING\",\"roles\":[{\"name\":\"worker\",\"states\":{\"RUNNING\":1,"
          "\"PREPARING\":1}}]}",
          "starting tasks: worker 1 running, 1 preparing (20 s)" },
        { "{\"state\":\"RUNNING\",\"roles\":[{\"name\":\"worker\",\"states\":{\"RUNNING\":1,"
          "\"DONE\":1}}]}",
          "" },
        { "{\"state\":\"SUCCEEDED\",\"roles\":[]}", "" },
        { "{\"state\":\"FINISHING\",\"roles\":[{\"name\":\"a\",\"states\":{\"RUNNING\":1}}]}",
          "ending: a 1 running (20 s)" },
        { "{\"state\":\"MOON\",\"roles\":7}", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *status = NULL;
        AUTO_BUF out = { .max = 4 * KIB };

        assert_int_equal(
            json_parse("status", rows[i].status, strlen(rows[i].status), &status, NULL), 0);
        assert_int_equal(waiting_line(status, 20000, &out), 0);
        assert_non_null(buf_text(&out));
        assert_string_equal(buf_text(&out), rows[i].line);
    }
}

static void lines_come_every_ten_seconds_and_later_every_minute(void **state)
{
    (void)state;
    assert_int_equal(waiting_due(5000, 0), 15000);
    assert_int_equal(waiting_due(5000, 15000), 25000);
    assert_int_equal(waiting_due(5000, 304999), 314999);
    assert_int_equal(waiting_due(5000, 305000), 365000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_waits_for_is_one_line),
        cmocka_unit_test(lines_come_every_ten_seconds_and_later_every_minute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
