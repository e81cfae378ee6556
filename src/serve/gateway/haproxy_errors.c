/* haproxy_errors.c - what clients read when HAProxy answers itself: JSON with a sentence, as the
 * model servers answer.
 *
 * HAProxy answers 503 when no replica could take a request in time. To clients that is 429 with
 * Retry-After: the same request may succeed in a moment. A version without any replica has its own
 * rule, and stays 503. */
#include "serve/gateway/haproxy_conf.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct {
    unsigned instead, status;
    const char *reason, *headers, *text;
} errors[] = {
    { 400, 400, "Bad Request", "", "This is not a valid HTTP/1.1 request." },
    { 403, 403, "Forbidden", "", "This request is not allowed." },
    { 408, 408, "Request Timeout", "", "The request came too slowly: 10 seconds for its header, the gateway's timeout for its body." },
    { 413, 413, "Payload Too Large", "", "The request body is too large; the gateway's limit is body_max." },
    { 500, 500, "Internal Server Error", "", "The gateway failed to handle this request." },
    { 502, 502, "Bad Gateway", "", "The replica closed the connection before it answered; send the request again." },
    { 503, 429, "Too Many Requests", "Retry-After: 1\r\n", "No replica could take the request in time; send it again later." },
    { 504, 504, "Gateway Timeout", "", "The replica did not answer in time; the gateway's limit is timeout." },
};
/* clang-format on */

bool haproxy_error_file(unsigned i, struct haproxy_error *ret)
{
    char body[256];

    if (i >= COUNT_OF(errors))
        return false;
    ret->status = errors[i].instead;
    (void)snprintf(body, sizeof(body), "{\"error\": \"%s\"}\n", errors[i].text);
    (void)snprintf(ret->text, sizeof(ret->text),
                   "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n%sContent-Length: "
                   "%zu\r\n\r\n%s",
                   errors[i].status, errors[i].reason, errors[i].headers, strlen(body), body);
    return true;
}
