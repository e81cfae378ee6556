/* event_text_test.c - see event_text.h */
#include "terminal/event_text.h"
#include "test.h"

#include <string.h>

static json_t *parsed(const char *text)
{
    struct err err = ERR_INIT;
    json_t *v = NULL;

    if (json_parse("test", text, strlen(text), &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

static void every_kind_of_event_has_its_words(void **state)
{
    static const struct {
        const char *record, *words;
    } rows[] = {
        { "{\"event\":\"job\",\"state\":\"FORMING\"}", "job forming" },
        { "{\"event\":\"job\",\"state\":\"FAILED\",\"reason\":\"worker:1 failed\"}",
          "job failed: worker:1 failed" },
        { "{\"event\":\"task\",\"task\":\"w:1\",\"state\":\"RUNNING\",\"pid\":4711,\"attempt\":0}",
          "w:1 running (pid 4711, attempt 0)" },
        { "{\"event\":\"task\",\"task\":\"w:1\",\"state\":\"READY\",\"ports\":[1,2]}",
          "w:1 ready (ports [1,2])" },
        { "{\"event\":\"task\",\"task\":\"w:1\",\"state\":\"READY\",\"ports\":[]}", "w:1 ready" },
        { "{\"event\":\"failure\",\"task\":\"w:1\",\"class\":\"exit\",\"code\":3}",
          "failure: w:1: exit code 3" },
        { "{\"event\":\"story\",\"task\":\"w:1\",\"class\":\"memory\",\"code\":137}",
          "story: w:1: out of memory (exit code 137)" },
        { "{\"event\":\"restart\",\"what\":\"task\",\"task\":\"w:1\",\"used\":1,\"max\":3}",
          "restart of w:1 (used 1, max 3)" },
        { "{\"event\":\"restart\",\"what\":\"gang\",\"generation\":2}",
          "restart of all tasks (generation 2)" },
        { "{\"event\":\"gang\",\"have\":1,\"want\":2,\"reason\":\"asked\"}", "gang 1 of 2: asked" },
        { "{\"event\":\"agent\",\"agent\":0,\"state\":\"UP\",\"node\":\"a\"}",
          "agent 0 up (node a)" },
        { "{\"event\":\"request\",\"what\":\"stop\",\"who\":\"me\"}", "request: stop by me" },
        { "{\"event\":\"progress\",\"task\":\"w:0\",\"step\":1,\"total\":4,"
          "\"metrics\":{\"loss\":1}}",
          "w:0 1/4 25 % (metrics {\"loss\":1})" },
        { "{\"event\":\"ready\",\"task\":\"w:0\"}", "w:0 is ready" },
        { "{\"event\":\"task-note\",\"task\":\"w:0\",\"text\":\"a\\u001b[2Jb\"}",
          "w:0: a\\x1b[2Jb" },
        { "{\"event\":\"note\",\"level\":\"warn\",\"text\":\"a\\u001b[2Jb\"}", "warn: a\\x1b[2Jb" },
        { "{\"event\":\"phase\",\"name\":\"granted\",\"who\":\"rm\"}", "phase: granted (who rm)" },
        { "{\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0}", "end: succeeded (exit 0)" },
        { "{\"event\":\"new\",\"x\":1}", "{\"event\":\"new\",\"x\":1}" },
        { "{}", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUF out = { .max = 4096 };
        AUTO_JSON *v = parsed(rows[i].record);

        assert_int_equal(event_words(v, &out), 0);
        assert_non_null(buf_text(&out));
        assert_string_equal(buf_text(&out), rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_event_has_its_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
