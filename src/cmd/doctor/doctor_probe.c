/* doctor_probe.c - asks each server of a service by itself, and not "the service" as a client does:
 * a client would pass over a dead one without a word.
 *
 * One that stands by refuses the call, and that is well. One of several that does not answer is a
 * warning; that none is active is a failure. */
#include "cmd/doctor/doctor_probe.h"

#include <time.h>

enum answer { ANSWER_ACTIVE, ANSWER_STANDBY, ANSWER_NONE };

static double doctor_probe_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Asks twice: the first time pays for the connection, the second one shows the way there. */
static int doctor_probe_ask(struct doctor *d, const struct probe *p, const struct host *h,
                            double *ret_ms, struct err *err)
{
    struct hosts one = { .v = (struct host *)h, .n = 1 };
    AUTO_RPC_SERVICE *s = NULL;
    double begin = 0;
    int r = session_service(d->x->session, p->protocol, &one, NULL, &s, err);

    for (int i = 0; r == 0 && i < 2; i++) {
        AUTO_RPC void *answer = NULL;

        begin = doctor_probe_now_ms();
        r = rpc_call(s, p->method, p->request, &answer, 0, err);
    }
    *ret_ms = doctor_probe_now_ms() - begin;
    return r;
}

/* Says what came of asking the `i`-th host. */
static enum answer probe_one(struct doctor *d, const struct probe *p, const struct hosts *hosts,
                             size_t i, struct err *err)
{
    const struct host *h = &hosts->v[i];
    bool alone = hosts->n == 1;
    double ms = 0;
    int r = doctor_probe_ask(d, p, h, &ms, err);

    if (r == 0) {
        doctor_say(d, LEVEL_OK, NULL, "%s%s%s:%d %s, round trip %.1f ms", alone ? "" : h->id,
                   alone ? "" : " at ", h->host, h->port, alone ? "answers" : "is active", ms);
        return ANSWER_ACTIVE;
    }
    if (!alone && (err->detail == RPC_EX_STANDBY || (p->stands_by && p->stands_by(d, i)))) {
        doctor_say(d, LEVEL_OK, NULL, "%s at %s:%d is on standby", h->id, h->host, h->port);
        return ANSWER_STANDBY;
    }
    /* One of several that is not there is a warning: the service may still be. */
    doctor_error(d, alone ? LEVEL_FAILED : LEVEL_WARNING, r, err, NULL);
    return ANSWER_NONE;
}

bool probe_hosts(struct doctor *d, const struct probe *p, const struct hosts *hosts)
{
    struct err err = ERR_INIT;
    unsigned active = 0;

    for (size_t i = 0; i < hosts->n; i++) {
        err_clear(&err);
        active += probe_one(d, p, hosts, i, &err) == ANSWER_ACTIVE;
    }
    if (active == 0 && hosts->n > 1) {
        err_set(&err, err.detail == RPC_EX_STANDBY || !err.code ? -EHOSTDOWN : err.code,
                "no %s is active", p->protocol->title);
        doctor_error(d, LEVEL_FAILED, err.code, &err,
                     "start one, or ask the administrator to make one of them active");
    }
    return active > 0;
}
