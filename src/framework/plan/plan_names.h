/* plan_names.h - what the choices in a specification are called in a plan. Private to framework/.
 */
#pragma once
#include "framework/framework.h"

const char *plan_policy_name(enum spec_policy p);
const char *plan_place_name(enum spec_place p);
const char *plan_when_name(enum spec_when w);
const char *plan_ready_name(enum spec_ready_kind k);
const char *plan_server_name(unsigned bit); /* one bit of enum framework_server */
