/* front_common.h - the options that every front end takes besides those of its older program. */
#pragma once
#include "cmd/front/legacy_opts.h"

/* For commands that start jobs: --docker-image, --node-label, --queue, --detach … */
extern const struct legacy_option common_job[];
/* For the others: --conf, --json, -q, -v. */
extern const struct legacy_option common_plain[];
