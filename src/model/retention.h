/* retention.h - which versions may go: not the newest ones, not one that is in use; and what
 * writers left who died. Fibers only. */
#pragma once
#include "model/models.h"

struct retention_row {
    char *name;      /* of the model; of something left behind, its name below .staging */
    int64_t version; /* 0: left behind */
    bool removed;    /* or, with `dry`, would be */
    char *reason;
    uint64_t bytes;
};
struct retention {
    struct retention_row *v;
    size_t n;
};
void retention_done(struct retention *l);
#define AUTO_RETENTION AUTO_DONE(retention_done) struct retention

/* Removes all but the newest `keep` of a model's versions and those in use. Rows are added, the
 * newest version first. */
int retention_model(const struct models *r, const char *model, unsigned keep, bool dry,
                    struct retention *ret, struct err *err);
/* Removes what is below .staging and whose writer is gone: dead on this machine, or elsewhere and
 * silent for a day. */
int retention_staging(const struct models *r, bool dry, struct retention *ret, struct err *err);
