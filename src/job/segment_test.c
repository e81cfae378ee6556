/* segment_test.c - see segment.h */
#include "base/str.h"
#include "job/segment.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void names_are_read_as_they_are_written(void **state)
{
    static const struct {
        const char *name;
        struct segment s; /* attempt 0: it is none */
    } rows[] = {
        { "events-1.jsonl", { 1, 0 } },
        { "events-1.1.jsonl", { 1, 1 } },
        { "events-12.34.jsonl", { 12, 34 } },
        { "events-10000.jsonl", { 10000, 0 } },
        { "events-.jsonl", { 0, 0 } },
        { "events-0.jsonl", { 0, 0 } },
        { "events-01.jsonl", { 0, 0 } },
        { "events-1.01.jsonl", { 0, 0 } },
        { "events-1..jsonl", { 0, 0 } },
        { "events-1.jsonl.jsonl", { 0, 0 } },
        { "events-1.1.1.jsonl", { 0, 0 } },
        { "events-1.-1.jsonl", { 0, 0 } },
        { "events-+1.jsonl", { 0, 0 } },
        { "events-1.json", { 0, 0 } },
        { "events-x.jsonl", { 0, 0 } },
        { "events-99999999999999999999.jsonl", { 0, 0 } },
        { "events-1.99999999999999999999.jsonl", { 0, 0 } },
        { "events.jsonl", { 0, 0 } },
        { "events-1", { 0, 0 } },
        { "event", { 0, 0 } },
        { "kv-1.log", { 0, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct segment s = { 0 };
        bool is = segment_parse(rows[i].name, "events", "jsonl", &s);

        if (is != (rows[i].s.attempt > 0) || segment_compare(&s, &rows[i].s) != 0)
            fail_msg("%s: %d, %d.%u", rows[i].name, is, s.attempt, s.number);
        if (is) {
            AUTO_FREE char *again = segment_name("events", "jsonl", &s);

            assert_non_null(again);
            assert_string_equal(again, rows[i].name);
        }
    }
}

/* One line for each word: "M2@7" is the first record of the second master, with number 7. */
static void assert_kept(const char *said, const char *want)
{
    struct segment_seen seen = { 0 };
    char got[256] = "";
    const char *at = said;

    while (*at) {
        int attempt = 0, seq = -1, used = 0;
        char line[128];

        if (sscanf(at, "M%d@%d%n", &attempt, &seq, &used) == 2)
            (void)snprintf(line, sizeof(line),
                           "{\"seq\":%d,\"t\":1,\"event\":\"master\",\"attempt\":%d}", seq,
                           attempt);
        else if (sscanf(at, "%d%n", &seq, &used) == 1)
            (void)snprintf(line, sizeof(line), "{\"seq\":%d,\"t\":1,\"event\":\"note\"}", seq);
        else
            fail_msg("'%s'", at);
        if (!segment_seen_before(&seen, line, strlen(line)))
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.*s ", used, at);
        at += used;
        at += strspn(at, " ");
    }
    assert_string_equal(got, want);
}

static void each_record_is_read_once(void **state)
{
    (void)state;
    assert_kept("M1@0 1 2 3", "M1@0 1 2 3 ");
    /* A segment that broke, and the next one that goes on from what was acknowledged. */
    assert_kept("M1@0 1 2 3 2 3 4", "M1@0 1 2 3 4 ");
    /* Four masters; the later ones repeated what was before them. */
    assert_kept("M1@0 1 M1@0 1 M2@2 3 M1@0 1 M2@2 3 M3@4 M1@0 1 M2@2 3 M3@4 M4@5 6",
                "M1@0 1 M2@2 3 M3@4 M4@5 6 ");
    /* They do so no more. */
    assert_kept("M1@0 1 M2@2 3 M3@4 M4@5 6", "M1@0 1 M2@2 3 M3@4 M4@5 6 ");
    /* A master that could not read all of it: its own records count, whatever their numbers. */
    assert_kept("M1@0 1 2 3 M2@2 3 4", "M1@0 1 2 3 M2@2 3 4 ");
    /* Numbers of a log that nobody repeated may have holes. */
    assert_kept("0 7 8", "0 7 8 ");
}

static void what_has_no_number_is_kept(void **state)
{
    struct segment_seen seen = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_false(segment_seen_before(&seen, "", 0));
        assert_false(segment_seen_before(&seen, "cut", 3));
        assert_false(segment_seen_before(&seen, "{\"seq\":", 7));
        assert_false(segment_seen_before(&seen, "{\"seq\":x", 8));
    }
}

static bool is_whole(const char *lines)
{
    struct segment_head head = { 0 };
    const char *end;

    for (; (end = strchr(lines, '\n')) != NULL; lines = end + 1)
        if (segment_head_line(&head, lines, (size_t)(end - lines)) != 0)
            break;
    return head.whole;
}

static void a_summary_counts_when_all_of_it_is_there(void **state)
{
#define LINE(what) "{\"t\":1763274830000,\"event\":\"summary\",\"what\":\"" what "}\n"
    (void)state;
    assert_true(is_whole(LINE("job\"") LINE("task\"") LINE("end\",\"records\":3")));
    assert_false(is_whole(LINE("job\"") LINE("end\",\"records\":3"))); /* one is missing */
    assert_false(is_whole(LINE("job\"") LINE("task\"")));
    assert_false(is_whole(
        LINE("job\"") "{\"seq\":1,\"t\":1,\"event\":\"note\"}\n" LINE("end\",\"records\":2")));
    assert_false(is_whole("{\"seq\":1,\"t\":1,\"event\":\"note\"}\n"));
    /* What a task may have reported is none. */
    assert_false(is_whole("{\"seq\":1,\"t\":1,\"event\":\"progress\",\"metrics\":{\"a\":1,"
                          "\"event\":\"summary\",\"what\":\"end\",\"records\":1}}\n"));
    assert_false(is_whole(""));
#undef LINE
}

static uint64_t begin_of(const char *lines)
{
    struct segment_begin begin = { .attempt = 2, .at = UINT64_MAX };
    const char *end;

    for (; (end = strchr(lines, '\n')) != NULL; lines = end + 1)
        if (segment_begin_line(&begin, lines, (size_t)(end - lines)) != 0)
            break;
    return begin.at;
}

static void a_master_says_where_its_records_begin(void **state)
{
#define MASTER(seq, n) "{\"seq\":" seq ",\"t\":1,\"event\":\"master\",\"attempt\":" n "}\n"
#define NOTE "{\"seq\":5,\"t\":1,\"event\":\"note\"}\n"
#define SUMMARY "{\"t\":1,\"event\":\"summary\",\"what\":\"end\",\"records\":1}\n"
    (void)state;
    assert_int_equal(begin_of(MASTER("7", "2") NOTE), 7);
    assert_int_equal(begin_of(SUMMARY MASTER("7", "2")), 7);
    assert_true(begin_of(MASTER("0", "1") MASTER("7", "2")) == UINT64_MAX); /* it repeats another */
    assert_true(begin_of(NOTE MASTER("7", "2")) == UINT64_MAX);
    assert_true(begin_of("") == UINT64_MAX);
    assert_false(segment_is_beyond(NOTE, sizeof(NOTE) - 1, 6));
    assert_true(segment_is_beyond(NOTE, sizeof(NOTE) - 1, 5));
    assert_false(segment_is_beyond(SUMMARY, sizeof(SUMMARY) - 1, 0));
#undef MASTER
#undef NOTE
#undef SUMMARY
}

/* What is left of a log of a summary that stands for the records up to 8, and two records. */
static void assert_wanted(uint64_t from, const char *want)
{
    static const char log[] = "{\"t\":1763274830000,\"event\":\"summary\",\"what\":\"job\","
                              "\"next\":9,\"state\":\"RUNNING\"}\n"
                              "{\"t\":1763274830000,\"event\":\"summary\",\"what\":\"end\","
                              "\"records\":2}\n"
                              "{\"seq\":9,\"t\":1,\"event\":\"note\"}\n"
                              "{\"seq\":10,\"t\":1,\"event\":\"note\"}\n";
    size_t n = sizeof(log) - 1;
    const char *got = segment_skip(log, n, segment_want(log, n, from));

    if (want ? !str_starts(got, want) : got != log + n)
        fail_msg("from %llu: %s", (unsigned long long)from, got);
}

static void who_goes_on_behind_a_summary_is_not_shown_it(void **state)
{
    static const char summary[] = "{\"t\":1763274830000,\"event\":\"summary\",\"what\":\"job\"";
    static const char live[] = "{\"t\":1,\"event\":\"progress\"}\n";

    (void)state;
    assert_wanted(0, summary);
    assert_wanted(8, summary); /* that one is no longer available */
    assert_wanted(9, "{\"seq\":9,");
    assert_wanted(10, "{\"seq\":10,");
    assert_wanted(11, NULL);
    /* Lines that are in no log have no number, and are wanted. */
    assert_ptr_equal(segment_skip(live, sizeof(live) - 1, 5), live);
    assert_int_equal(segment_want("{\"seq\":0,\"t\":1}\n", 16, 5), 5);
    assert_int_equal(segment_want("", 0, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_they_are_written),
        cmocka_unit_test(each_record_is_read_once),
        cmocka_unit_test(what_has_no_number_is_kept),
        cmocka_unit_test(a_master_says_where_its_records_begin),
        cmocka_unit_test(a_summary_counts_when_all_of_it_is_there),
        cmocka_unit_test(who_goes_on_behind_a_summary_is_not_shown_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
