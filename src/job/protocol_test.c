/* protocol_test.c - see protocol.h */
#include "job/protocol.h"
#include "test.h"

#include <string.h>

static void our_own_numbers_are_understood(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    for (int p = 0; p < PROTOCOLS_; p++)
        assert_int_equal(protocol_check((enum protocol)p, protocol_number((enum protocol)p), &err),
                         0);
}

/* What was written before there were numbers is read for as long as version 1 is. */
static void without_a_number_it_is_one(void **state)
{
    AUTO_JSON *v = json_object();
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(v);
    for (int p = 0; p < PROTOCOLS_; p++)
        assert_int_equal(protocol_check_json((enum protocol)p, v, &err), 0);
    assert_int_equal(protocol_check_answer(NULL, &err), 0);
    assert_int_equal(protocol_check_request(NULL, &err), 0);
}

static void another_number_is_one_sentence_and_what_to_do(void **state)
{
    static const struct {
        enum protocol p;
        int number;
        const char *text, *hint;
    } rows[] = {
        { PROTOCOL_EVENTS, 2, "the events log: version 2 is newer than this ydl understands (1)",
          "use the ydl that made it, or a newer one; this one is " YDL_VERSION },
        { PROTOCOL_API, 0, "the API of the job's master: version 0 is older than this ydl",
          "use the ydl that made it; this one is " YDL_VERSION },
        { PROTOCOL_AGENT, 7, "the protocol of agents: version 7 is newer than this ydl",
          "ydl and ydl-node have to be of the same version: install them together" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(protocol_check(rows[i].p, rows[i].number, &err), -EPROTONOSUPPORT);
        assert_memory_equal(err.text, rows[i].text, strlen(rows[i].text));
        assert_string_equal(err.hint, rows[i].hint);
    }
}

static void records_of_a_log_have_it_among_other_keys(void **state)
{
    static const struct {
        const char *line;
        int result;
    } rows[] = {
        { "{\"seq\":0,\"event\":\"job\",\"state\":\"NEW\",\"format\":1}", 0 },
        { "{\"seq\":0,\"event\":\"job\",\"state\":\"NEW\",\"format\":2}", -EPROTONOSUPPORT },
        { "{\"seq\":0,\"event\":\"master\",\"format\":\"2\"}", -EPROTONOSUPPORT },
        { "{\"seq\":0,\"event\":\"master\",\"attempt\":1}", 0 },
        { "{\"seq\":4,\"event\":\"progress\",\"metrics\":{\"format\":2}}", 0 },
        { "{\"seq\":4,\"event\":\"note\",\"text\":\"\\\"format\\\":2\"}", 0 },
        { "{\"seq\":4,\"format\":2", 0 }, /* cut short: whoever reads it says so */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            protocol_check_line(PROTOCOL_EVENTS, rows[i].line, strlen(rows[i].line), NULL),
            rows[i].result);
}

/* A newer client knows us; an older one cannot know what it will be told. */
static void a_master_answers_newer_clients(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(protocol_check_request("1", &err), 0);
    assert_int_equal(protocol_check_request("9", &err), 0);
    assert_int_equal(protocol_check_request("0", &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "the job's master is ydl " YDL_VERSION));
    err_clear(&err);
    assert_int_equal(protocol_check_request("one", &err), -EPROTONOSUPPORT);
    assert_int_equal(protocol_check_answer("1", NULL), 0);
    assert_int_equal(protocol_check_answer("2", NULL), -EPROTONOSUPPORT);
    assert_int_equal(protocol_check_answer("", NULL), -EPROTONOSUPPORT);
    assert_string_equal(protocol_header(), "Ydl-Protocol: 1\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_own_numbers_are_understood),
        cmocka_unit_test(without_a_number_it_is_one),
        cmocka_unit_test(another_number_is_one_sentence_and_what_to_do),
        cmocka_unit_test(records_of_a_log_have_it_among_other_keys),
        cmocka_unit_test(a_master_answers_newer_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
