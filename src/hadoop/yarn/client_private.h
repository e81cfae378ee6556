/* client_private.h - shared by client.c, client_cluster.c, client_queue.c and client_token.c. */
#pragma once
#include "hadoop/session/session.h"
#include "hadoop/yarn/client.h"
#include "hadoop/yarn/method.h"

struct yarn_client {
    struct session *session;
    struct hosts hosts;
    struct rpc_service *service;
};
