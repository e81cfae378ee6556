/* wire_test.c - claims about rabit_wire.h and xgboost_wire.h: messages cut short, too long,
 * strange. */
#include "base/str.h"
#include "rendezvous/rabit_wire.h"
#include "rendezvous/tracker_server.h"
#include "rendezvous/xgboost_wire.h"
#include "test.h"

#include <string.h>

static void add_text(struct buf *b, const char *s)
{
    assert_int_equal(rabit_add_number(b, (int32_t)strlen(s)), 0);
    assert_int_equal(buf_add_str(b, s), 0);
}

/* A block of exactly so many bytes, in which a sanitizer sees the first one read past the end. */
static uint8_t *exact(const struct buf *b, size_t n)
{
    uint8_t *p = malloc(n ? n : 1);

    assert_non_null(p);
    if (n)
        memcpy(p, b->data, n);
    return p;
}

static void add_hello(struct buf *b, int32_t rank, const char *job, const char *command)
{
    assert_int_equal(rabit_add_number(b, rank), 0);
    assert_int_equal(rabit_add_number(b, -1), 0);
    add_text(b, job);
    add_text(b, command);
}

static void a_rabit_hello_is_whole_or_waited_for(void **state)
{
    AUTO_BUF b = { .max = KIB };
    struct rabit_hello h;

    (void)state;
    add_hello(&b, -1, "7", "print");
    add_text(&b, "hello");
    for (size_t n = 0; n < b.len; n++) {
        AUTO_FREE uint8_t *part = exact(&b, n);

        assert_int_equal(rabit_parse_hello(part, n, &h, NULL), 0);
    }
    assert_int_equal(rabit_parse_hello(b.data, b.len, &h, NULL), b.len);
    assert_int_equal(h.rank, -1);
    assert_string_equal(h.job, "7");
    assert_int_equal(h.command, RABIT_PRINT);
    assert_int_equal(h.text_n, 5);
    assert_memory_equal(h.text, "hello", 5);
}

static void every_rabit_command_is_known_and_no_other(void **state)
{
    static const char *const names[] = { "start", "recover", "shutdown" };
    struct rabit_hello h;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_BUF b = { .max = KIB };

        add_hello(&b, 3, "", names[i]);
        assert_int_equal(rabit_parse_hello(b.data, b.len, &h, NULL), b.len);
        assert_int_equal(h.command, i);
        assert_int_equal(h.size, b.len);
    }
}

static void rabit_lengths_have_bounds(void **state)
{
    static const int32_t bad[] = { -1, INT32_MIN, RABIT_JOB_MAX + 1, INT32_MAX };
    struct rabit_hello h;
    struct rabit_good g;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int32_t words[] = { 0, -1, bad[i] };

        assert_int_equal(rabit_parse_hello((uint8_t *)words, sizeof(words), &h, &err), -EPROTO);
        assert_int_equal(rabit_parse_good((uint8_t *)&bad[i], sizeof(bad[i]), &g, &err), -EPROTO);
    }
    assert_string_equal(err.text, "2147483647 good links, where 5 are possible");
}

static void strange_rabit_words_are_refused(void **state)
{
    static const struct {
        const char *job, *command;
        size_t job_n;
    } rows[] = { { "a", "stop", 1 }, { "a", "", 1 }, { "a\0b", "start", 3 } };
    struct rabit_hello h;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF b = { .max = KIB };

        assert_int_equal(rabit_add_number(&b, 0), 0);
        assert_int_equal(rabit_add_number(&b, -1), 0);
        assert_int_equal(rabit_add_number(&b, (int32_t)rows[i].job_n), 0);
        assert_int_equal(buf_add(&b, rows[i].job, rows[i].job_n), 0);
        add_text(&b, rows[i].command);
        assert_int_equal(rabit_parse_hello(b.data, b.len, &h, NULL), -EPROTO);
    }
}

/* ---- XGBoost ---- */

static ssize_t hello_of(const char *json, struct xgboost_hello *h)
{
    AUTO_BUF b = { .max = MIB };

    add_text(&b, json);
    return xgboost_parse_hello(b.data, b.len, h, NULL);
}

static ssize_t command_of(const char *json, struct xgboost_command *c)
{
    AUTO_BUF b = { .max = MIB };

    add_text(&b, json);
    return xgboost_parse_command(b.data, b.len, c, NULL);
}

static void an_xgboost_hello_says_who_it_is(void **state)
{
    static const struct {
        const char *json;
        bool good;
    } rows[] = {
        { "{\"world_size\":-1,\"rank\":-1,\"task_id\":\"7\"}", true },
        { "{\"world_size\":3,\"rank\":2,\"task_id\":\"\"}", true },
        { "{\"world_size\":-2,\"rank\":2,\"task_id\":\"\"}", false },
        { "{\"world_size\":3,\"rank\":\"2\",\"task_id\":\"\"}", false },
        { "{\"world_size\":3,\"rank\":2}", false },
        { "{\"world_size\":3,\"rank\":2,\"task_id\":4}", false },
        { "[1]", false },
        { "{", false },
        { "1", false },
    };
    struct xgboost_hello h;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ssize_t want = rows[i].good ? (ssize_t)strlen(rows[i].json) + 4 : -EPROTO;

        assert_int_equal(hello_of(rows[i].json, &h), want);
    }
}

static void an_xgboost_command_has_what_it_needs(void **state)
{
    static const struct {
        const char *json;
        bool good;
    } rows[] = {
        { "{\"cmd\":1,\"port\":4000,\"error_port\":0}", true },
        { "{\"cmd\":1,\"port\":0,\"error_port\":4}", false },
        { "{\"cmd\":1,\"port\":70000,\"error_port\":4}", false },
        { "{\"cmd\":1,\"port\":1}", false },
        { "{\"cmd\":2}", true },
        { "{\"cmd\":3,\"code\":5,\"msg\":\"no\"}", true },
        { "{\"cmd\":3,\"msg\":\"no\"}", false },
        { "{\"cmd\":4,\"msg\":\"so \\n \xff it is\"}", true },
        { "{\"cmd\":4}", false },
        { "{\"cmd\":0}", false },
        { "{\"cmd\":5}", false },
        { "{\"cmd\":99999999999}", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct xgboost_command c;
        ssize_t want = rows[i].good ? (ssize_t)strlen(rows[i].json) + 4 : -EPROTO;

        assert_int_equal(command_of(rows[i].json, &c), want);
        xgboost_command_done(&c);
    }
}

static void xgboost_messages_are_whole_and_bounded(void **state)
{
    static const char json[] = "{\"world_size\":-1,\"rank\":-1,\"task_id\":\"7\"}";
    static const int32_t bad[] = { -1, 0, 1, XGBOOST_HELLO_MAX + 1, INT32_MAX };
    AUTO_BUF b = { .max = KIB };
    struct xgboost_hello h;

    (void)state;
    add_text(&b, json);
    for (size_t n = 0; n < b.len; n++) {
        AUTO_FREE uint8_t *part = exact(&b, n);

        assert_int_equal(xgboost_parse_hello(part, n, &h, NULL), 0);
    }
    assert_int_equal(xgboost_parse_hello(b.data, b.len, &h, NULL), b.len);
    assert_string_equal(h.task, "7");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(xgboost_parse_hello((uint8_t *)&bad[i], 4, &h, NULL), -EPROTO);
}

static void task_ids_are_ordered_as_people_count(void **state)
{
    static const char *const in_order[] = {
        "0", "1", "02", "9", "10", "100", "", "NULL", "a", "b1"
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(in_order); i++) {
        for (size_t j = 0; j < COUNT_OF(in_order); j++) {
            int r = tracker_server_compare_ids(in_order[i], in_order[j]);

            assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rabit_hello_is_whole_or_waited_for),
        cmocka_unit_test(every_rabit_command_is_known_and_no_other),
        cmocka_unit_test(rabit_lengths_have_bounds),
        cmocka_unit_test(strange_rabit_words_are_refused),
        cmocka_unit_test(an_xgboost_hello_says_who_it_is),
        cmocka_unit_test(an_xgboost_command_has_what_it_needs),
        cmocka_unit_test(xgboost_messages_are_whole_and_bounded),
        cmocka_unit_test(task_ids_are_ordered_as_people_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
