/* rpc_testing.c - see rpc_testing.h. */
#include "hadoop/yarn/rpc_testing.h"

#include <stdio.h>
#include <stdlib.h>

struct fake_rpc fake_rpc;

int rpc_service_new(struct loop *l, const struct rpc_service_conf *conf, struct rpc_service **ret,
                    struct err *err)
{
    struct rpc_service *s = calloc(1, sizeof(*s));

    (void)l;
    if (!s)
        return err_oom(err);
    s->port = conf->addresses[0].port;
    s->count = conf->count;
    snprintf(s->host, sizeof(s->host), "%s", conf->addresses[0].host);
    if (conf->token)
        snprintf(s->token, sizeof(s->token), "%s", conf->token->kind);
    fake_rpc.services++;
    *ret = s;
    return 0;
}

struct rpc_service *rpc_service_free(struct rpc_service *s)
{
    fake_rpc.services -= s != NULL;
    free(s);
    return NULL;
}

int rpc_service_set_token(struct rpc_service *s, const struct token *token, struct err *err)
{
    (void)err;
    snprintf(s->token, sizeof(s->token), "%s", token->kind);
    s->tokens++;
    return 0;
}

void rpc_service_reset(struct rpc_service *s)
{
    s->resets++;
}

int rpc_call(struct rpc_service *s, const struct rpc_method *method, const void *request, void *ret,
             int64_t deadline, struct err *err)
{
    struct err local = ERR_INIT;
    void *answer = NULL;
    int r = fiber_yield(fake_rpc.loop);

    (void)deadline;
    if (r < 0)
        return err_set(err, r, "interrupted");
    assert_ptr_equal(((const ProtobufCMessage *)request)->descriptor, method->request);
    fake_rpc.calls++;
    r = fake_rpc.answer(fake_rpc.arg, s, method->name, request, &answer, err ? err : &local);
    if (r < 0)
        return err && !err->code ? err_set(err, r, "fake") : r;
    assert_ptr_equal(((ProtobufCMessage *)answer)->descriptor, method->response);
    *(void **)ret = answer;
    return 0;
}

void *rpc_free(void *message)
{
    return message_free(message);
}

const struct rpc_address *rpc_service_address(const struct rpc_service *s)
{
    (void)s;
    return NULL;
}

const char *rpc_service_ip(const struct rpc_service *s)
{
    (void)s;
    return "";
}

struct session *fake_session(struct loop *l, const char *conf_dir, const char *tokens)
{
    struct session_options options = { .conf_dir = conf_dir };
    struct session *s = NULL;

    if (tokens)
        setenv("HADOOP_TOKEN_FILE_LOCATION", tokens, 1);
    else
        unsetenv("HADOOP_TOKEN_FILE_LOCATION");
    assert_int_equal(session_new(l, &options, &s, NULL), 0);
    return s;
}

void fake_run(int (*fn)(void *arg), void *arg, fake_answer_fn *answer, void *answer_arg)
{
    struct loop *l = NULL;

    assert_int_equal(loop_new(&l, NULL), 0);
    fake_rpc = (struct fake_rpc){ .answer = answer, .arg = answer_arg, .loop = l };
    assert_int_equal(loop_run(l, fn, arg, false), 0);
    assert_int_equal(fake_rpc.services, 0);
    fake_rpc.loop = loop_free(l);
}
