/* container_gpus.h - which GPUs are ours in a container whose platform only counts them. */
#pragma once
#include "base/err.h"
#include "platform/platform.h"
#include <stddef.h>

struct agent;

struct agent_gpus {
    int locks[PLATFORM_GPUS_MAX]; /* that other agents of this machine see */
    size_t n;
    char *list; /* "0,2"; NULL: not chosen yet */
};

/* The list for CUDA_VISIBLE_DEVICES, chosen once; NULL with n 0; borrowed. Fibers only: waits up to
 * 30 s until `n` are free. */
int gpus_of_container(struct agent *a, unsigned n, const char **ret, struct err *err);
void gpus_done(struct agent *a); /* others may have them; also before any was chosen */
