/* method.h - rows for tables of YARN's remote methods. Private to this directory. */
#pragma once
#include "hadoop/rpc/rpc.h"

/* METHOD("getNewApplication", get_new_application, RPC_IDEMPOTENT) */
#define METHOD(name_, stem, retry_) METHOD2(name_, stem##_request, stem##_response, retry_)
/* Where the two messages are not called alike. */
#define METHOD2(name_, request_, response_, retry_)                                                \
    {                                                                                              \
        .name = (name_), .request = &yarn__##request_##__descriptor,                               \
        .response = &yarn__##response_##__descriptor, .retry = (retry_)                            \
    }
