/* slider_export.h - what a component exports, and after which others it starts. Pure. */
#pragma once
#include "cmd/slider/slider_values.h"

/* A component while it becomes a role. */
struct slider_making {
    const struct slider_model *m;
    const struct slider_job_options *o;
    const struct slider_component *c;
    struct slider_tokens tokens;
    json_t *dicts; /* {"global": {"ps.port": …}}, with marks */
    json_t *role;
};

/* Its keys "exports" and "after", where it has any. */
int slider_add_exports(const struct slider_making *k, struct err *err);
int slider_add_orders(const struct slider_making *k, struct err *err);
