/* protocol.c - the table of numbers that this ydl reads and writes, and the one sentence for what
 * is too new or too old, with what to install. See protocol.h. */
#include "job/protocol.h"
#include "base/auto.h"
#include "base/str.h"

#include <string.h>

#define UNNUMBERED 1 /* before there were numbers */
#define API 1
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* clang-format off */
static const struct {
    const char *what;
    int oldest, newest; /* that we understand; the newest is what we write */
    bool job;           /* of a job, so its own ydl can read it */
} protocols[PROTOCOLS_] = {
    [PROTOCOL_API]    = { "the API of the job's master",         1, API, true },
    [PROTOCOL_AGENT]  = { "the protocol of agents",              1, 1, false },
    [PROTOCOL_EVENTS] = { "the events log",                      1, 1, true },
    [PROTOCOL_JOB]    = { "job.json",                            1, 1, false },
    [PROTOCOL_BOOT]   = { "the job's boot document",             1, 1, false },
    [PROTOCOL_MASTER] = { "master.json",                         1, 1, false },
    [PROTOCOL_JOIN]   = { "join.json",                           1, 1, false },
    [PROTOCOL_STORE]  = { "the log of the key-value store",      1, 1, false },
    [PROTOCOL_TASK]   = { "the protocol of task sockets",        1, 1, false },
    [PROTOCOL_SLIDER] = { "the definition of the application",   1, 1, true },
};
/* clang-format on */

int protocol_number(enum protocol p)
{
    return protocols[p].newest;
}

int protocol_check(enum protocol p, int64_t number, struct err *err)
{
    int oldest = protocols[p].oldest, newest = protocols[p].newest;
    bool newer = number > newest;

    if (number >= oldest && number <= newest)
        return 0;
    err_set(err, -EPROTONOSUPPORT, "%s: version %lld is %s than this ydl understands (%d)",
            protocols[p].what, (long long)number, newer ? "newer" : "older",
            newer ? newest : oldest);
    if (!protocols[p].job)
        err_hint(err, "ydl and ydl-node have to be of the same version: install them together");
    else if (newer)
        err_hint(err, "use the ydl that made it, or a newer one; this one is " YDL_VERSION);
    else
        err_hint(err, "use the ydl that made it; this one is " YDL_VERSION);
    return -EPROTONOSUPPORT;
}

int protocol_check_json(enum protocol p, const json_t *document, struct err *err)
{
    const json_t *number = json_object_get(document, PROTOCOL_KEY);

    if (!number)
        return protocol_check(p, UNNUMBERED, err);
    return protocol_check(p, json_is_integer(number) ? json_integer_value(number) : 0, err);
}

int protocol_check_line(enum protocol p, const char *line, size_t n, struct err *err)
{
    static const char mark[] = "\"" PROTOCOL_KEY "\":";
    AUTO_JSON *v = NULL;

    /* Most records have none, and a log has many. */
    if (!memmem(line, n, mark, sizeof(mark) - 1) || json_parse("a record", line, n, &v, NULL) < 0)
        return 0;
    return protocol_check_json(p, v, err);
}

/* ---- the API's header ---- */

const char *protocol_header(void)
{
    return PROTOCOL_HEADER ": " TEXT(API) "\r\n";
}

/* Text that is not a number counts as a version that no ydl had. */
static int64_t header_number(const char *value)
{
    int64_t number = 0;

    if (!value)
        return UNNUMBERED;
    (void)str_to_i64(value, 0, INT32_MAX, &number);
    return number;
}

int protocol_check_answer(const char *value, struct err *err)
{
    return protocol_check(PROTOCOL_API, header_number(value), err);
}

int protocol_check_request(const char *value, struct err *err)
{
    int64_t number = header_number(value);

    if (number >= protocols[PROTOCOL_API].oldest)
        return 0;
    err_set(err, -EPROTONOSUPPORT,
            "the job's master is ydl " YDL_VERSION
            " and answers version %d of its API and later ones, not %lld",
            protocols[PROTOCOL_API].oldest, (long long)number);
    err_hint(err, "use ydl " YDL_VERSION " or a newer one");
    return -EPROTONOSUPPORT;
}
