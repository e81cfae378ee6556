/* clocks.c - whether the servers' clocks and ours agree. */
#include "cmd/doctor/doctor.h"
#include "hadoop/token/ident.h"
#include "hadoop/yarn/rm_client.h"
#include "loop/loop.h"

#include <stdlib.h>

#define KERBEROS_MS 300000 /* beyond it Kerberos refuses */
#define NOTICE_MS 10000    /* beyond it times in logs and tokens mislead */

static int64_t outside(int64_t when, int64_t before, int64_t after)
{
    return when < before ? when - before : when > after ? when - after : 0;
}

/* No call tells the RM's time, but a delegation token has the date it was issued. */
static void clocks_ask_rm(struct doctor *d)
{
    AUTO_YARN_CLIENT *c = NULL;
    AUTO_TOKEN token = { 0 };
    AUTO_IDENT ident = { 0 };
    int64_t before;

    if (!(d->have & NEED_RM) || yarn_client_new(d->x->session, &c, NULL) < 0)
        return;
    before = loop_wall();
    if (yarn_get_token(c, session_user(d->x->session), &token, NULL) < 0)
        return; /* with a token instead of a ticket there is no way to know */
    if (ident_parse(token.kind, token.id, token.id_len, &ident, NULL) == 0 && ident.issued > 0) {
        d->rm_clock = outside(ident.issued, before, loop_wall());
        d->rm_clock_known = true;
    }
    (void)yarn_cancel_token(c, &token, NULL);
}

static void clocks_judge(struct doctor *d, const char *server, int64_t skew)
{
    long long size = skew < 0 ? -skew : skew;
    const char *way = skew < 0 ? "behind" : "ahead of";

    if (size <= NOTICE_MS)
        doctor_say(d, LEVEL_OK, NULL, "that of the %s agrees with this machine's within %lld ms",
                   server, size + 1);
    else
        doctor_say(
            d, size > KERBEROS_MS && session_secure(d->x->session) ? LEVEL_FAILED : LEVEL_WARNING,
            d->check->advice, "that of the %s is %lld s %s this machine's", server, size / 1000,
            way);
}

void check_clocks(struct doctor *d)
{
    clocks_ask_rm(d);
    if (d->rm_clock_known)
        clocks_judge(d, "ResourceManager", d->rm_clock);
    if (d->nn_clock_known)
        clocks_judge(d, "NameNode", d->nn_clock);
}
