/* where_test.c - the directories that are looked at, for what a cluster may have set. */
#include "hadoop/logs/where.h"
#include "test.h"

#include <string.h>

#define APP "application_1794823439409_12345678"

static int where(const char *settings, const char *user, const char *app, struct strs *ret,
                 struct err *err)
{
    AUTO_FREE char *xml = str_printf("<configuration>%s</configuration>", settings);
    AUTO_CONF *c = NULL;
    int r = xml ? conf_parse("t.xml", xml, strlen(xml), &c, err) : -ENOMEM;

    return r == 0 ? logs_where(c, user, app, ret, err) : r;
}

#define SET(key, value) "<property><name>" key "</name><value>" value "</value></property>"
#define FORMAT "yarn.log-aggregation."

static const struct {
    const char *settings;
    size_t at; /* in the list */
    const char *expected;
} rows[] = {
    { "", 0, "/tmp/logs/alice/bucket-logs-tfile/5678/" APP },
    { "", 1, "/tmp/logs/alice/logs-tfile/" APP },
    { "", 2, "/tmp/logs/alice/bucket-logs-ifile/5678/" APP },
    { "", 3, "/tmp/logs/alice/logs-ifile/" APP },
    { "", 7, "/tmp/logs/alice/logs/" APP },
    { SET("yarn.nodemanager.remote-app-log-dir", "hdfs://ns/logs//"), 0,
      "hdfs://ns/logs/alice/bucket-logs-tfile/5678/" APP },
    { SET("yarn.nodemanager.remote-app-log-dir-suffix", "Old"), 1,
      "/tmp/logs/alice/Old-tfile/" APP },
    { SET(FORMAT "file-formats", "Mine,TFile"), 0, "/tmp/logs/alice/bucket-logs-mine/5678/" APP },
    { SET(FORMAT "file-formats", "Mine,TFile"), 2, "/tmp/logs/alice/bucket-logs-tfile/5678/" APP },
    { SET(FORMAT "TFile.remote-app-log-dir", "/a")
          SET(FORMAT "TFile.remote-app-log-dir-suffix", "B"),
      1, "/a/alice/B/" APP },
};

static void every_place_is_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS dirs = { 0 };

        assert_int_equal(where(rows[i].settings, "alice", APP, &dirs, NULL), 0);
        assert_true(dirs.n > rows[i].at);
        assert_string_equal(dirs.v[rows[i].at], rows[i].expected);
    }
}

static void none_is_looked_at_twice(void **state)
{
    AUTO_STRS dirs = { 0 };

    (void)state;
    assert_int_equal(where("", "alice", APP, &dirs, NULL), 0);
    for (size_t i = 0; i < dirs.n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(dirs.v[i], dirs.v[k]);
}

static void a_name_that_leads_elsewhere_is_refused(void **state)
{
    static const struct {
        const char *user, *app, *text;
    } bad[] = {
        { "", APP, "'' is not the name of a user" },
        { "..", APP, "'..' is not the name of a user" },
        { "a/b", APP, "'a/b' is not the name of a user" },
        { "alice", "application_1", "'application_1' is not an application id" },
        { "alice", "application_1_/..", "'application_1_/..' is not an application id" },
        { "alice", "application_1/_5", "'application_1/_5' is not an application id" },
        { "alice", "job_1_5", "'job_1_5' is not an application id" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_STRS dirs = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(where("", bad[i].user, bad[i].app, &dirs, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_looked_at),
        cmocka_unit_test(none_is_looked_at_twice),
        cmocka_unit_test(a_name_that_leads_elsewhere_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
