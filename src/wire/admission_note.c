/* admission_note.c - what the log says of peers that were refused: the first at once, then at most
 * a line a second with a count, and fewer when it goes on. A stranger fills no log. */
#include "base/log.h"
#include "loop/resolve.h"
#include "wire/admission_private.h"

#include <stdio.h>

#define PAUSE_MS 1000
#define PAUSE_MAX 60000

static void peer_name(int fd, char out[INET6_ADDRSTRLEN])
{
    union resolve_addr a = { 0 };
    socklen_t len = sizeof(a);

    if (getpeername(fd, &a.sa, &len) == 0 && a.sa.sa_family != AF_UNIX)
        (void)resolve_text(&a, out);
}

static void admission_tell(struct admission *a)
{
    if (a->untold == 1)
        log_warn(LOG_WIRE, "%s: %s was refused: %s", a->o.name, a->host, a->why);
    else
        log_warn(LOG_WIRE, "%s: %u connections were refused, the last of %s: %s", a->o.name,
                 a->untold, a->host, a->why);
    a->untold = 0;
    a->told = loop_now(a->o.loop);
}

bool admission_notes_told(struct admission *a)
{
    int64_t since = loop_now(a->o.loop) - a->told;

    if (a->untold && since >= a->pause) {
        admission_tell(a);
        a->pause = 2 * a->pause < PAUSE_MAX ? 2 * a->pause : PAUSE_MAX;
    } else if (!a->untold && since > 2 * a->pause) {
        a->pause = PAUSE_MS;
    }
    return a->untold == 0;
}

void admission_refused(struct admission *a, const char *host, const char *why)
{
    if (a->o.on_refused) {
        a->o.on_refused(a->o.user, host, why);
        return;
    }
    (void)snprintf(a->host, sizeof(a->host), "%s", *host ? host : "a process");
    (void)snprintf(a->why, sizeof(a->why), "%s", why);
    a->untold++;
    if (!a->told) {
        a->pause = PAUSE_MS;
        admission_tell(a);
    } else if (a->fd >= 0) {
        admission_tick(a); /* it tells when that is due */
    }
}

void admission_note(struct admission *a, int fd, const char *why)
{
    char host[INET6_ADDRSTRLEN] = "";

    peer_name(fd, host);
    admission_refused(a, host, why);
}
