/* Lines of our log format, as HAProxy fills it in. */
#include "base/auto.h"
#include "serve/gateway/haproxy_log.h"
#include "test.h"

#include <string.h>

/* clang-format off */
static const struct {
    const char *line;
    unsigned status, retries;
    bool failed, by_gateway;
    const char *server;
    int64_t us;
} lines[] = {
    { "ydl2 m:1 10.0.0.1:9 200 ---- 1000 1500 9000 0 -", 200, 0, false, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1 10.0.0.1:9 200 ---- 1000 1500 9000 +2 -", 200, 2, false, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1 10.0.0.1:9 500 ---- 1000 1500 9000 0 -", 500, 0, true, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1 10.0.0.1:9 200 SD-- 1000 1500 9000 0 -", 200, 0, true, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1 10.0.0.1:9 502 SH-- 1000 - 9000 3 -", 502, 3, true, true, "10.0.0.1:9", 8000 },
    { "ydl2 m:1 <NOSRV> 503 LR-- 1000 - 1100 0 -", 503, 0, true, true, "", 100 },
    { "ydl2 m:1 <NOSRV> 429 sQ-- 1000 - 1100 0 -", 429, 0, false, true, "", 100 },
    { "ydl2 m:1 10.0.0.1:9 -1 CC-- 1000 - 1100 0 -", 0, 0, false, true, "10.0.0.1:9", 100 },
    { "ydl2 m:1 10.0.0.1:9 200 ---- 2000 1500 1000 0 -", 200, 0, false, false, "10.0.0.1:9", 0 },
    /* Calls of gRPC count as requests of the backend beside theirs. */
    { "ydl2 m:1:grpc 10.0.0.1:9 200 ---- 1000 1500 9000 0 -", 200, 0, false, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1:grpc 10.0.0.1:9 200 ---- 1000 1500 9000 0 13", 500, 0, true, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1:grpc 10.0.0.1:9 200 ---- 1000 1500 9000 0 5", 404, 0, false, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1:grpc 10.0.0.1:9 200 ---- 1000 1500 9000 0 x", 500, 0, true, false, "10.0.0.1:9", 500 },
    { "ydl2 m:1:grpc <NOSRV> 200 LR-- 1000 - 1100 0 14", 503, 0, true, true, "", 100 },
};
/* clang-format on */

static void a_line_says_what_became_of_a_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct haproxy_request q;

        assert_int_equal(haproxy_log_parse(lines[i].line, strlen(lines[i].line), &q), 0);
        assert_string_equal(q.backend, "m:1");
        assert_string_equal(q.server, lines[i].server);
        assert_int_equal(q.status, lines[i].status);
        assert_int_equal(q.retries, lines[i].retries);
        assert_int_equal(q.failed, lines[i].failed);
        assert_int_equal(q.by_gateway, lines[i].by_gateway);
        assert_int_equal(q.us, lines[i].us);
    }
}

static void anything_else_is_no_such_line(void **state)
{
    static const char *const bad[] = {
        "",
        "ydl2 ",
        "[WARNING] (7) : Server m:1/a is DOWN",
        "ydl2 m:1 s 200 ---- 1 2 3 0",
        "ydl2 m:1 s 200 ---- 1 2 3 -",
        "ydl2 m:1 s 200 ---- 1 2 3 0 0 -",
        "ydl2 m:1 s 2000 ---- 1 2 3 0 -",
        "ydl2 m:1 s 200 ---- x 2 3 0 -",
        "ydl2 m:1 s 200 ---- 1 -2 3 0 -",
        "ydl2  s 200 ---- 1 2 3 0 -",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct haproxy_request q;

        assert_int_equal(haproxy_log_parse(bad[i], strlen(bad[i]), &q), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_became_of_a_request),
        cmocka_unit_test(anything_else_is_no_such_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
