/* xgboost_message.c - what a worker, or anybody, says to XGBoost's tracker: hello, then a command.
 */
#include "fuzz.h"
#include "rendezvous/xgboost_wire.h"

#include <stdlib.h>

static void parse_command(const uint8_t *data, size_t size)
{
    struct xgboost_command c;
    struct err err = ERR_INIT;
    ssize_t n = xgboost_parse_command(data, size, &c, &err);

    if (n > (ssize_t)size || (n > 0 && c.verb == XGBOOST_PRINT && !c.text))
        abort();
    if (n > 0)
        xgboost_command_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xgboost_hello h;
    struct err err = ERR_INIT;
    ssize_t n = xgboost_parse_hello(data, size, &h, &err);

    if (n > (ssize_t)size)
        abort();
    parse_command(data, size);
    if (n > 0)
        parse_command(data + n, size - (size_t)n);
    return 0;
}
