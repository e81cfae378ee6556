/* plan_names.h - what the choices in a specification are called in a plan. Private to framework/.
 */
#pragma once
#include "framework/framework.h"

const char *plan_policy_word(enum spec_policy p);
const char *plan_place_word(enum spec_place p);
const char *plan_when_word(enum spec_when w);
const char *plan_ready_word(enum spec_ready_kind k);
const char *plan_server_word(unsigned bit); /* one bit of enum framework_server */
