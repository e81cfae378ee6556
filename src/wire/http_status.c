/* http_status.c - two tables. An errno without a row is a fault of the server (500). See
 * http_status.h. */
#include "wire/http_status.h"
#include "base/auto.h"

/* clang-format off */
static const struct {
    int status;
    const char *text;
} texts[] = {
    { 100, "Continue" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Content" },
    { 426, "Upgrade Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
};

static const struct {
    int code;
    int status;
} codes[] = {
    { -EINVAL,     400 },
    { -EBADMSG,    400 },
    { -ENODATA,    400 },
    { -EILSEQ,     400 },
    { -ERANGE,     400 },
    { -EACCES,     403 },
    { -EPERM,      403 },
    { -ENOENT,     404 },
    { -ESRCH,      404 },
    { -EEXIST,     409 },
    { -EBUSY,      409 },
    { -EALREADY,   409 },
    { -E2BIG,      413 },
    { -ENAMETOOLONG, 414 },
    { -EPROTONOSUPPORT, 426 },
    { -ENOSYS,     501 },
    { -EOPNOTSUPP, 501 },
    { -EAGAIN,     503 },
    { -ENOMEM,     503 },
    { -ECANCELED,  503 },
    { -ETIMEDOUT,  504 },
    { -ENOSPC,     507 },
};
/* clang-format on */

const char *http_status_text(int status)
{
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return "Unknown";
}

int http_status_of(int code)
{
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (codes[i].code == code)
            return codes[i].status;
    }
    return 500;
}
