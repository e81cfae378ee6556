/* amrm_testing.h - what the tests of the AM-RM protocol share: a master, answers and faults. */
#pragma once
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/rpc/exception.h"
#include "hadoop/yarn/amrm.h"
#include "hadoop/yarn/message.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* Not every test uses all of it. */
#define TESTING __attribute__((unused)) static

#define EX "org.apache.hadoop.yarn.exceptions."
#define NOT_REGISTERED EX "ApplicationMasterNotRegisteredException"
#define NOT_FOUND EX "ApplicationAttemptNotFoundException"
#define BAD_REQUEST EX "InvalidApplicationMasterRequestException"
#define INVALID_TOKEN "org.apache.hadoop.security.token.SecretManager$InvalidToken"

TESTING const struct yarn_resource small = { 64, 1, NULL, 0 };

TESTING struct amrm *master(void)
{
    static const struct amrm_conf conf = { "vm", 0, "" };
    struct amrm *a = NULL;

    assert_int_equal(amrm_new(&conf, &a, NULL), 0);
    return a;
}

TESTING enum amrm_call next(struct amrm *a, const void **ret)
{
    enum amrm_call call = AMRM_CALL_NONE;

    assert_int_equal(amrm_next_request(a, &call, ret, NULL), 0);
    return call;
}

/* The next request, which must be an allocate, in hexadecimal; the caller's. */
TESTING char *next_hex(struct amrm *a, enum amrm_call expected)
{
    const void *m = NULL;
    AUTO_FREE uint8_t *packed = NULL;
    char *hex = NULL;
    size_t n;

    assert_int_equal(next(a, &m), expected);
    n = protobuf_c_message_get_packed_size(m);
    packed = malloc(n + 1);
    assert_non_null(packed);
    protobuf_c_message_pack(m, packed);
    assert_int_equal(str_hex(packed, n, &hex), 0);
    return hex;
}

TESTING const Yarn__AllocateRequest *next_allocate(struct amrm *a)
{
    const void *m = NULL;

    assert_int_equal(next(a, &m), AMRM_CALL_ALLOCATE);
    return m;
}

TESTING int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

TESTING void *unhex(const ProtobufCMessageDescriptor *type, const char *hex)
{
    size_t n = strlen(hex) / 2;
    AUTO_FREE uint8_t *p = malloc(n + 1);
    void *m;

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    m = protobuf_c_message_unpack(type, NULL, n, p);
    assert_non_null(m);
    return m;
}
#define UNHEX(type, hex) unhex(&type##__descriptor, hex)

TESTING void answer(struct amrm *a, const void *m, struct amrm_events *e)
{
    amrm_events_done(e);
    assert_int_equal(amrm_on_response(a, m, e, NULL), 0);
}

TESTING enum amrm_todo fault(struct amrm *a, const char *class_name, const char *text,
                             struct amrm_events *e)
{
    struct err err = ERR_INIT;

    amrm_events_done(e);
    if (class_name)
        rpc_exception_err(class_name, text, &err);
    else
        err_set(&err, -ECONNREFUSED, "%s", text);
    return amrm_on_fault(a, &err, e);
}

/* Registered, with an empty answer. */
TESTING struct amrm *running(void)
{
    Yarn__RegisterApplicationMasterResponse r = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_AMRM_EVENTS e = { 0 };
    AUTO_AMRM *a = master();
    const void *m;

    assert_int_equal(next(a, &m), AMRM_CALL_REGISTER);
    answer(a, &r, &e);
    assert_int_equal(amrm_state(a), AMRM_RUNNING);
    return take(a);
}

/* An allocate response with up to one container and one status, on the stack. */
struct answer {
    Yarn__AllocateResponse m;
    struct yarn_id_message id, status_id;
    Yarn__NodeId node;
    Yarn__Priority priority;
    Hadoop__Token token;
    Yarn__Container container, *containers[1];
    Yarn__ContainerStatus status, *statuses[1];
};

TESTING struct yarn_container_id cid(int64_t n)
{
    return (struct yarn_container_id){ { { 9, 1 }, 1 }, n };
}

TESTING Yarn__AllocateResponse *response(struct answer *r, int32_t id)
{
    *r = (struct answer){ .m = YARN__ALLOCATE_RESPONSE__INIT };
    r->m.has_response_id = true;
    r->m.response_id = id;
    return &r->m;
}

TESTING void grant(struct answer *r, int64_t n, int64_t request)
{
    r->node = (Yarn__NodeId)YARN__NODE_ID__INIT;
    r->node.host = "h1";
    r->node.port = 45454;
    r->priority = (Yarn__Priority)YARN__PRIORITY__INIT;
    r->priority.priority = 1;
    r->token = (Hadoop__Token)HADOOP__TOKEN__INIT;
    r->container = (Yarn__Container)YARN__CONTAINER__INIT;
    r->container.id = yarn_container_id_message(&r->id, cid(n));
    r->container.node_id = &r->node;
    r->container.priority = &r->priority;
    r->container.container_token = &r->token;
    r->container.allocation_request_id = request;
    r->containers[0] = &r->container;
    r->m.allocated_containers = r->containers;
    r->m.n_allocated_containers = 1;
}

TESTING void complete(struct answer *r, int64_t n, int32_t code)
{
    r->status = (Yarn__ContainerStatus)YARN__CONTAINER_STATUS__INIT;
    r->status.container_id = yarn_container_id_message(&r->status_id, cid(n));
    r->status.exit_status = code;
    r->statuses[0] = &r->status;
    r->m.completed_container_statuses = r->statuses;
    r->m.n_completed_container_statuses = 1;
}

TESTING void ask_for(struct amrm *a, int32_t count, int64_t id)
{
    struct ask ask = { .priority = 1, .id = id, .count = count, .resource = small };

    assert_int_equal(amrm_ask(a, &ask, NULL), 0);
}

/* A container of ours, granted by heartbeat `id`. */
TESTING void hold(struct amrm *a, int32_t heartbeat, int64_t n)
{
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r;

    ask_for(a, 1, n);
    next_allocate(a);
    response(&r, heartbeat);
    grant(&r, n, n);
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.v[0].type, AMRM_GRANTED);
}

/* The i-th event, which must be there. */
TESTING const struct amrm_event *event_at(const struct amrm_events *e, size_t i)
{
    assert_true(i < e->n);
    return &e->v[i];
}
