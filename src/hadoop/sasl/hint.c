/* hint.c - see hint.h */
#include "hadoop/sasl/hint.h"
#include "base/auto.h"

#include <string.h>

const char sasl_hint_clock[] =
    "the clocks of this machine and of the KDC or the server differ by more than Kerberos allows "
    "(5 minutes unless configured): set this machine's time";
const char sasl_hint_ticket[] = "run kinit to get a new ticket";
const char sasl_hint_server_key[] =
    "the server's key differs from the KDC's: its keytab is old, or "
    "its host name leads to another machine";

static const char other_secret[] = "the token is not one that this server knows: it may come from "
                                   "another cluster, or the server's keys were renewed since";
static const char protection[] = "compare hadoop.rpc.protection here with the server's";

/* The numbers in brackets are Kerberos' own, as Java prints them. */
static const struct {
    const char *text, *hint;
} remote[] = {
    { "Clock skew too great", sasl_hint_clock },
    { "Ticket not yet valid", sasl_hint_clock },
    { "Ticket expired", sasl_hint_ticket },
    { "Cannot find key of appropriate type", sasl_hint_server_key },
    { "Checksum failed", sasl_hint_server_key },
    { "Integrity check on decrypted field failed (31)", sasl_hint_server_key },
    { "Request is a replay (34)", "the server saw the same request twice: try again" },
    { "Mismatched response", other_secret },
    { "Client selected unsupported protection", protection },
    { "No common protection layer", protection },
};

void sasl_remote_hint(struct err *err, const char *message)
{
    for (size_t i = 0; i < COUNT_OF(remote); i++)
        if (strstr(message, remote[i].text)) {
            err_hint(err, "%s", remote[i].hint);
            return;
        }
}
