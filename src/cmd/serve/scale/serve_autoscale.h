/* serve_autoscale.h - autoscaling as people write and read it. Pure. */
#pragma once
#include "serve/deployment/autoscale.h"

/* "1-8", "2-8,target=4,cool-down=30s"; "off" leaves `ret->max` 0. -EINVAL. */
int serve_autoscale_parse(const char *text, struct autoscale *ret, struct err *err);

/* A number of replicas within the rule; any, if there is none. */
unsigned serve_autoscale_within(const struct autoscale *rule, unsigned n);

/* What `ydl serve status` says of a model of a plan, with what the gateway says of it (NULL: not
 * known): one line, the caller's; NULL without memory, "" without autoscaling. */
char *serve_autoscale_text(const json_t *model, const json_t *report, int64_t now);
