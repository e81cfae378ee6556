/* signal_request.c - PUT /v1/signal: a signal of the user's own, to every task that runs. Nothing
 * is kept: who starts later does not get it, as a process that does not exist gets none. */
#include "master/master_private.h"

#include <signal.h>

static const struct {
    const char *name;
    int number;
} signals[] = { { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 } };

static void signal_request_tell(struct master *m, int number)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Signal body = AGENT__SIGNAL__INIT;

    body.number = (uint32_t)number;
    msg.body_case = AGENT__TO_AGENT__BODY_SIGNAL;
    msg.signal = &body;
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i] && m->agents.v[i]->channel)
            outbox_send(m->agents.v[i], &msg);
}

int signal_request_put(struct master *m, struct http_call *c, struct err *err)
{
    const char *name = http_query(c, "name");

    for (size_t i = 0; name && i < COUNT_OF(signals); i++) {
        AUTO_JSON *v = NULL;
        int r;

        if (!str_eq(signals[i].name, name))
            continue;
        signal_request_tell(m, signals[i].number);
        r = json_make(&v, err, "{s:s}", "signal", name);
        return r < 0 ? r : http_reply_json(c, 200, v, err);
    }
    return err_set(err, -EINVAL, "name is USR1 or USR2");
}
