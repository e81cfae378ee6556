/* doctor_probe.h - asking every server of a service by itself who it is. Fibers only. */
#pragma once
#include "cmd/doctor/doctor.h"

/* What to ask: a method that every server of the service answers, and only the active one well. */
struct probe {
    const struct rpc_protocol *protocol;
    const struct rpc_method *method;
    const void *request;
    /* For servers that answer such calls only while active: whether the one with this index, which
     * did not answer, stands by. May be NULL. */
    bool (*stands_by)(struct doctor *d, size_t i);
};

/* Asks each of `hosts` and says what came of it. True when one is active. */
bool probe_hosts(struct doctor *d, const struct probe *p, const struct hosts *hosts);
