/* grpc_status.c - tables. An errno without a row is a fault of the server (INTERNAL). See
 * grpc_status.h. */
#include "wire/grpc/grpc_status.h"
#include "base/auto.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_DIGITS 8

/* clang-format off */
static const struct {
    const char *text, *name;
} statuses[GRPC_STATUSES_] = {
    [GRPC_OK]                  = { "0",  "OK" },
    [GRPC_CANCELLED]           = { "1",  "CANCELLED" },
    [GRPC_UNKNOWN]             = { "2",  "UNKNOWN" },
    [GRPC_INVALID_ARGUMENT]    = { "3",  "INVALID_ARGUMENT" },
    [GRPC_DEADLINE_EXCEEDED]   = { "4",  "DEADLINE_EXCEEDED" },
    [GRPC_NOT_FOUND]           = { "5",  "NOT_FOUND" },
    [GRPC_ALREADY_EXISTS]      = { "6",  "ALREADY_EXISTS" },
    [GRPC_PERMISSION_DENIED]   = { "7",  "PERMISSION_DENIED" },
    [GRPC_RESOURCE_EXHAUSTED]  = { "8",  "RESOURCE_EXHAUSTED" },
    [GRPC_FAILED_PRECONDITION] = { "9",  "FAILED_PRECONDITION" },
    [GRPC_ABORTED]             = { "10", "ABORTED" },
    [GRPC_OUT_OF_RANGE]        = { "11", "OUT_OF_RANGE" },
    [GRPC_UNIMPLEMENTED]       = { "12", "UNIMPLEMENTED" },
    [GRPC_INTERNAL]            = { "13", "INTERNAL" },
    [GRPC_UNAVAILABLE]         = { "14", "UNAVAILABLE" },
    [GRPC_DATA_LOSS]           = { "15", "DATA_LOSS" },
    [GRPC_UNAUTHENTICATED]     = { "16", "UNAUTHENTICATED" },
};

static const struct {
    int code;
    enum grpc_status status;
} codes[] = {
    { 0,             GRPC_OK },
    { -ECANCELED,    GRPC_CANCELLED },
    { -EINVAL,       GRPC_INVALID_ARGUMENT },
    { -EBADMSG,      GRPC_INVALID_ARGUMENT },
    { -ETIMEDOUT,    GRPC_DEADLINE_EXCEEDED },
    { -ENOENT,       GRPC_NOT_FOUND },
    { -EEXIST,       GRPC_ALREADY_EXISTS },
    { -EACCES,       GRPC_PERMISSION_DENIED },
    { -EPERM,        GRPC_PERMISSION_DENIED },
    { -E2BIG,        GRPC_RESOURCE_EXHAUSTED },
    { -EAGAIN,       GRPC_RESOURCE_EXHAUSTED },
    { -EBUSY,        GRPC_RESOURCE_EXHAUSTED },
    { -ENOBUFS,      GRPC_RESOURCE_EXHAUSTED },
    { -ENOMEM,       GRPC_RESOURCE_EXHAUSTED },
    { -ERANGE,       GRPC_OUT_OF_RANGE },
    { -EOPNOTSUPP,   GRPC_UNIMPLEMENTED },
    { -ENOSYS,       GRPC_UNIMPLEMENTED },
    { -ECONNREFUSED, GRPC_UNAVAILABLE },
    { -ECONNRESET,   GRPC_UNAVAILABLE },
    { -ESHUTDOWN,    GRPC_UNAVAILABLE },
    { -EKEYREJECTED, GRPC_UNAUTHENTICATED },
};

static const struct {
    char unit;
    int64_t ns;
} units[] = {
    { 'H', 3600000000000 },
    { 'M', 60000000000 },
    { 'S', 1000000000 },
    { 'm', 1000000 },
    { 'u', 1000 },
    { 'n', 1 },
};
/* clang-format on */

#define NS_OF_MS 1000000

enum grpc_status grpc_status_of(int code)
{
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i].code == code)
            return codes[i].status;
    return GRPC_INTERNAL;
}

const char *grpc_status_text(enum grpc_status s)
{
    return statuses[s].text;
}

const char *grpc_status_name(enum grpc_status s)
{
    return statuses[s].name;
}

int grpc_quote(struct buf *out, const char *s)
{
    int r = 0;

    for (; *s && r == 0; s++) {
        unsigned char c = (unsigned char)*s;

        r = c >= ' ' && c <= '~' && c != '%' ? buf_add_u8(out, c) : buf_printf(out, "%%%02X", c);
    }
    return r;
}

/* Eight digits of hours are 3.6e20 ns, which fit no integer: large units are never made small. */
static int64_t timeout_ms(int64_t n, int64_t ns)
{
    return ns >= NS_OF_MS ? n * (ns / NS_OF_MS) : (n * ns + NS_OF_MS - 1) / NS_OF_MS;
}

/* One to eight digits and one letter: "250m". Parts of a millisecond count as a whole one, so that
 * a deadline is never earlier than the client meant. */
int grpc_timeout(const char *s, int64_t *ret)
{
    int64_t n = 0;
    size_t digits;

    for (digits = 0; isdigit((unsigned char)s[digits]) && digits < TIMEOUT_DIGITS; digits++)
        n = 10 * n + (s[digits] - '0');
    if (digits == 0 || strlen(s) != digits + 1)
        return -EINVAL;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (units[i].unit != s[digits])
            continue;
        *ret = timeout_ms(n, units[i].ns);
        return 0;
    }
    return -EINVAL;
}
