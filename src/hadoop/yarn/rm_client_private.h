/* rm_client_private.h - shared by rm_client.c, rm_client_cluster.c, rm_client_queue.c and
 * rm_client_token.c. */
#pragma once
#include "hadoop/session/session.h"
#include "hadoop/yarn/method.h"
#include "hadoop/yarn/rm_client.h"

struct yarn_client {
    struct session *session;
    struct hosts hosts;
    struct rpc_service *service;
};
