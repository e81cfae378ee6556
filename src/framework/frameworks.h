/* frameworks.h - every framework there is, each in the file of its name. Private to framework/. */
#pragma once
#include "framework/framework.h"

extern const struct framework framework_dask, framework_deepspeed, framework_horovod, framework_jax,
    framework_lightgbm, framework_mpi, framework_mxnet, framework_none, framework_pytorch,
    framework_rabit, framework_ray, framework_serve, framework_slider, framework_tensorflow,
    framework_tensorflow_flags, framework_xgboost;

/* ---- what some have in common ---- */

/* torch.distributed's environment (pytorch.c), which DeepSpeed reads too. */
int pytorch_task(const struct framework_task *t, struct err *err);
int pytorch_error(const void *p, size_t n, char **ret_text, int64_t *ret_time);

/* The tracker's environment (rabit.c) of XGBoost and rabit; `width` digits of the task's id. */
int rabit_task_env(const struct framework_task *t, int width, struct err *err);
