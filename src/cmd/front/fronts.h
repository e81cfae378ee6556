/* fronts.h - every front end there is, each in the file of its name. Private to front/. */
#pragma once
#include "cmd/front/front.h"

extern const struct front front_dmlc, front_launch, front_mx, front_slider, front_submit, front_tf;
