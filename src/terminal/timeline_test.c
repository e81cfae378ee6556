/* timeline_test.c - see timeline.h */
#include "base/auto.h"
#include "terminal/timeline.h"
#include "test.h"

#include <string.h>

static void add(struct timeline *t, const char *text)
{
    struct err err = ERR_INIT;
    AUTO_JSON *v = NULL;

    if (json_parse("test", text, strlen(text), &v, &err) < 0)
        fail_msg("%s", err.text);
    timeline_add(t, v);
}

struct want {
    const char *name;
    int64_t at, took;
    enum timeline_who who;
};

static void check(const struct timeline *t, const struct want *wanted, size_t n)
{
    struct timeline_row rows[PHASES_];
    int64_t sums[TIMELINE_WHO_], total = 0;

    assert_int_equal(timeline_rows(t, rows, sums), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[i].name, wanted[i].name);
        assert_int_equal(rows[i].at, wanted[i].at);
        assert_int_equal(rows[i].took, wanted[i].took);
        assert_int_equal(rows[i].who, wanted[i].who);
    }
    for (int i = 0; i < TIMELINE_WHO_; i++)
        total += sums[i];
    assert_int_equal(total, n ? wanted[n - 1].at : 0);
}

static void noted_phases_come_in_their_order(void **state)
{
    static const char *const records[] = {
        "{\"t\":2000,\"event\":\"job\",\"state\":\"NEW\",\"platform\":\"yarn\"}",
        "{\"t\":2000,\"event\":\"phase\",\"name\":\"command\",\"time\":1000,\"who\":\"ydl\"}",
        "{\"t\":2000,\"event\":\"phase\",\"name\":\"accepted\",\"time\":1100,\"who\":\"rm\"}",
        "{\"t\":2005,\"event\":\"phase\",\"name\":\"registered\",\"who\":\"rm\"}",
        "{\"t\":2300,\"kind\":\"phase\",\"name\":\"granted\",\"who\":\"rm\"}",
        "{\"t\":2400,\"event\":\"phase\",\"name\":\"unheard of\",\"who\":\"rm\"}",
        "{\"t\":2500,\"event\":\"task\",\"state\":\"RUNNING\"}",
        "{\"t\":2510,\"event\":\"task\",\"state\":\"RUNNING\"}",
        "{\"t\":2510,\"event\":\"job\",\"state\":\"RUNNING\"}",
        "{\"t\":2600,\"event\":\"task\",\"state\":\"RUNNING\"}", /* started again */
        "{\"t\":2700,\"event\":\"phase\",\"name\":\"granted\",\"who\":\"rm\"}",
        "{\"t\":4000,\"event\":\"job\",\"state\":\"FINISHING\"}",
        "{\"t\":4010,\"event\":\"end\",\"state\":\"SUCCEEDED\"}",
    };
    static const struct want wanted[] = {
        { "command", 0, 0, TIMELINE_YDL },      { "accepted", 100, 100, TIMELINE_RM },
        { "master", 1000, 900, TIMELINE_NM },   { "registered", 1005, 5, TIMELINE_RM },
        { "granted", 1300, 295, TIMELINE_RM },  { "running", 1510, 210, TIMELINE_YDL },
        { "ended", 3000, 1490, TIMELINE_USER }, { "finished", 3010, 10, TIMELINE_YDL },
    };
    struct timeline t;

    (void)state;
    timeline_init(&t);
    for (size_t i = 0; i < COUNT_OF(records); i++)
        add(&t, records[i]);
    check(&t, wanted, COUNT_OF(wanted));
}

static void nobody_else_is_waited_for_on_one_machine(void **state)
{
    static const char *const records[] = {
        "{\"t\":1000,\"event\":\"job\",\"state\":\"NEW\",\"platform\":\"local\"}",
        "{\"t\":1001,\"event\":\"job\",\"state\":\"ASKING\"}",
        "{\"t\":1002,\"event\":\"task\",\"state\":\"GRANTED\"}",
        "{\"t\":1004,\"event\":\"agent\",\"state\":\"up\"}",
        "{\"t\":1003,\"event\":\"task\",\"state\":\"READY\"}", /* an earlier one than the agent's */
    };
    static const struct want wanted[] = {
        { "master", 0, 0, TIMELINE_YDL },   { "asked", 1, 1, TIMELINE_YDL },
        { "granted", 2, 1, TIMELINE_YDL },  { "agents", 4, 2, TIMELINE_YDL },
        { "prepared", 4, 0, TIMELINE_YDL },
    };
    struct timeline t;

    (void)state;
    timeline_init(&t);
    for (size_t i = 0; i < COUNT_OF(records); i++)
        add(&t, records[i]);
    check(&t, wanted, COUNT_OF(wanted));
}

static void no_record_is_no_row(void **state)
{
    struct timeline t;

    (void)state;
    timeline_init(&t);
    add(&t, "{}");
    add(&t, "{\"event\":\"phase\"}");
    add(&t, "{\"event\":\"phase\",\"name\":7,\"time\":\"x\",\"who\":[]}");
    check(&t, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noted_phases_come_in_their_order),
        cmocka_unit_test(nobody_else_is_waited_for_on_one_machine),
        cmocka_unit_test(no_record_is_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
