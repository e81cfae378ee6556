/* serve_plan_print.h - what `ydl serve deploy` would start, for people and programs. */
#pragma once
#include "cmd/serve/serve_job.h"
#include "cmd/serve/serve_want.h"

struct serve_plan_view {
    const char *name;
    const struct serve_want *w;
    const struct serve_model *models;
    size_t n;
    const json_t *plan; /* serve_job_plan() */
    bool json;
};

int serve_plan_print(const struct serve_plan_view *v, struct err *err);
