/* event_dedup_test.c - see event_dedup.h */
#include "client/event_dedup.h"
#include "test.h"

#include <string.h>

static bool is_new(struct event_dedup *s, const char *line)
{
    return !event_dedup_seen(s, line, strlen(line));
}

static void a_record_is_new_once(void **state)
{
    struct event_dedup s = { 0 };

    (void)state;
    assert_true(is_new(&s, "{\"seq\":0,\"a\":1}"));
    assert_true(is_new(&s, "{\"seq\":1,\"a\":1}"));
    assert_false(is_new(&s, "{\"seq\":0,\"a\":1}"));
    assert_false(is_new(&s, "{\"seq\":1,\"a\":1}"));
    assert_int_equal(s.next, 2);
    assert_int_equal(event_dedup_from(&s), 0);
}

/* A master showed what it had not kept; the next one uses the number for something else. */
static void another_record_of_the_same_number_is_new(void **state)
{
    struct event_dedup s = { 0 };

    (void)state;
    assert_true(is_new(&s, "{\"seq\":7,\"event\":\"note\"}"));
    assert_true(is_new(&s, "{\"seq\":7,\"event\":\"master\"}"));
    assert_false(is_new(&s, "{\"seq\":7,\"event\":\"master\"}"));
    assert_int_equal(s.next, 8);
}

static void what_is_far_back_was_seen(void **state)
{
    struct event_dedup s = { 0 };
    char line[64];

    (void)state;
    for (int i = 0; i < 3 * EVENT_DEDUP_BACK; i++) {
        snprintf(line, sizeof(line), "{\"seq\":%d,\"t\":%d}", i, i * 3);
        assert_true(is_new(&s, line));
    }
    assert_int_equal(event_dedup_from(&s), 2 * EVENT_DEDUP_BACK);
    assert_false(is_new(&s, "{\"seq\":5,\"other\":1}"));
    for (int i = 0; i < 3 * EVENT_DEDUP_BACK; i++) {
        snprintf(line, sizeof(line), "{\"seq\":%d,\"t\":%d}", i, i * 3);
        assert_false(is_new(&s, line));
    }
}

static void nothing_of_a_log_that_begins_anew_was_seen(void **state)
{
    struct event_dedup s = { 0 };
    char line[64];

    (void)state;
    for (int log = 0; log < 3; log++) {
        for (int i = 0; i < 2 * EVENT_DEDUP_BACK / (log + 1); i++) {
            snprintf(line, sizeof(line), "{\"seq\":%d,\"log\":%d}", i, i == 0 ? log : 0);
            assert_true(is_new(&s, line) || (log > 0 && i > 0));
        }
        assert_false(is_new(&s, line));
        assert_int_equal(s.next, 2 * EVENT_DEDUP_BACK / (log + 1));
    }
    assert_true(is_new(&s, "{\"seq\":682,\"log\":2}"));
}

/* Fewer records than were seen: whoever asks from there on would get none. */
static void a_log_that_begins_anew_is_read_from_its_beginning(void **state)
{
    static const char other[] = "{\"seq\":0,\"log\":2}", summary[] = "{\"summary\":1}";
    struct event_dedup s = { 0 };
    char line[64];

    (void)state;
    for (int i = 0; i < 2 * EVENT_DEDUP_BACK; i++) {
        snprintf(line, sizeof(line), "{\"seq\":%d}", i);
        assert_true(is_new(&s, line));
    }
    assert_int_equal(event_dedup_resume(&s, "{\"seq\":0}", 9), EVENT_DEDUP_BACK);
    assert_int_equal(event_dedup_resume(&s, summary, strlen(summary)), EVENT_DEDUP_BACK);
    assert_int_equal(event_dedup_resume(&s, "", 0), EVENT_DEDUP_BACK);
    assert_int_equal(event_dedup_resume(&s, other, strlen(other)), 0);
    assert_true(is_new(&s, other));
    assert_true(is_new(&s, "{\"seq\":1,\"log\":2}"));
    assert_false(is_new(&s, other));
    assert_int_equal(s.next, 2);
}

static void a_line_without_a_number_is_new(void **state)
{
    static const char *const lines[] = { "", "{", "{\"seq\":", "{\"seq\":x}", "{\"t\":1}", "x" };
    struct event_dedup s = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_true(is_new(&s, lines[i]));
        assert_true(is_new(&s, lines[i]));
    }
    assert_true(is_new(&s, "{\"seq\":99999999999999999999999999}"));
    assert_int_equal(event_dedup_from(&(struct event_dedup){ .next = 3 }), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_new_once),
        cmocka_unit_test(another_record_of_the_same_number_is_new),
        cmocka_unit_test(what_is_far_back_was_seen),
        cmocka_unit_test(nothing_of_a_log_that_begins_anew_was_seen),
        cmocka_unit_test(a_log_that_begins_anew_is_read_from_its_beginning),
        cmocka_unit_test(a_line_without_a_number_is_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
