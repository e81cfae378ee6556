/* method.h - rows for tables of YARN's remote methods. Private to this directory. */
#pragma once
#include "hadoop/rpc/rpc.h"

/* METHOD("getNewApplication", get_new_application, RPC_IDEMPOTENT) */
#define METHOD(name_, stem, retry_) METHOD_OF(yarn, name_, stem, retry_)
/* … with the messages of another package. */
#define METHOD_OF(package, name_, stem, retry_)                                                    \
    {                                                                                              \
        .name = (name_), .request = &package##__##stem##_request__descriptor,                      \
        .response = &package##__##stem##_response__descriptor, .retry = (retry_)                   \
    }
