/* totals.h - resources of many nodes, added up by type. Pure. */
#pragma once
#include "base/auto.h"
#include "base/json.h"
#include "hadoop/yarn/records.h"

#define TOTALS_MORE 32 /* types besides memory and cores; further ones are left out */

struct totals {
    int64_t memory_mb[2], vcores[2]; /* [0] used, [1] there */
    struct {
        char *name;
        int64_t amount[2];
    } more[TOTALS_MORE];
    size_t n_more;
};

int totals_add(struct totals *t, const Yarn__Resource *used, const Yarn__Resource *there,
               struct err *err);
void totals_done(struct totals *t); /* zero is fine */
#define AUTO_TOTALS AUTO_DONE(totals_done) struct totals

/* A line on standard output for each type besides memory and cores. */
void totals_print(const struct totals *t);
/* One half as a resource, see cluster_report.h; the caller's, NULL when out of memory. */
json_t *totals_json(const struct totals *t, bool used);
