/* plan_private.h - what the files of the plan share. */
#pragma once
#include "framework/plan/plan.h"
#include "framework/task.h"

/* Adds p->agent's variables to the task's environment, replacing existing ones. */
int plan_add_agents(const struct plan *p, const struct framework_task *t, struct err *err);
