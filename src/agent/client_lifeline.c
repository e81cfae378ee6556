/* client_lifeline.c - an agent beside the client lives for as long as the client does.
 *
 *     ydl run ──── a socket that nobody writes to ────► our standard input
 *
 * Its end is the client's, however that came: everything ends then, and our directory goes, which
 * nobody else could remove any more. */
#include "agent/client_lifeline.h"
#include "agent/agent_private.h"
#include "base/log.h"
#include "loop/sock.h"

#include <fcntl.h>
#include <signal.h>

static void client_lifeline_run(void *arg)
{
    struct agent *a = arg;
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    AUTO_SOCK *s = NULL;
    char byte;
    ssize_t n = 1;

    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && sock_from_fd(a->loop, fd, &s, NULL) == 0)
        while (n > 0)
            n = sock_read(s, &byte, 1, LOOP_NEVER);
    if (n == -ECANCELED)
        return;
    log_warn(LOG_AGENT, "the client is gone");
    if (!a->life.signal)
        a->life.signal = SIGHUP;
    fiber_cancel(a->life.main);
}

int lifeline_begin(struct agent *a, struct err *err)
{
    return fiber_start(a->loop, client_lifeline_run, a, NULL, err);
}
