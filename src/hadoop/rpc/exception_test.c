/* exception_test.c - remote exceptions as our errors. */
#include "base/auto.h"
#include "hadoop/rpc/exception.h"
#include "test.h"

#include <string.h>

static void an_exception_becomes_code_text_and_action(void **state)
{
    static const struct {
        const char *class_name, *message, *text;
        int code;
        enum rpc_exception detail;
        enum rpc_action action;
    } rows[] = {
        { "org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported",
          "StandbyException: Operation category READ is not supported", -EHOSTDOWN, RPC_EX_STANDBY,
          RPC_FAILOVER },
        { "org.apache.hadoop.security.AccessControlException",
          "Permission denied: user=bob\n\tat org.apache.X.y(X.java:3)",
          "AccessControlException: Permission denied: user=bob", -EACCES, RPC_EX_ACCESS, RPC_FAIL },
        { "org.apache.hadoop.security.token.SecretManager$InvalidToken", "token can't be found",
          "SecretManager$InvalidToken: token can't be found", -EKEYREJECTED, RPC_EX_INVALID_TOKEN,
          RPC_FAIL },
        { "org.apache.hadoop.ipc.RetriableException", "starting", "RetriableException: starting",
          -EAGAIN, RPC_EX_RETRIABLE, RPC_TRY_AGAIN },
        { "java.lang.NullPointerException", NULL, "NullPointerException", -EREMOTEIO, RPC_EX_OTHER,
          RPC_FAIL },
        { NULL, NULL, "error", -EREMOTEIO, RPC_EX_OTHER, RPC_FAIL },
        { "o.a.h.InvalidContainerException", "\nContainer rejected",
          "InvalidContainerException: Container rejected", -EINVAL, RPC_EX_INVALID_CONTAINER,
          RPC_FAIL },
        { "org.apache.hadoop.yarn.exceptions.YarnException",
          "java.security.AccessControlException: User bob cannot: no",
          "AccessControlException: User bob cannot: no", -EACCES, RPC_EX_ACCESS, RPC_FAIL },
        { "x.YarnException", "a.Unknown: no", "YarnException: a.Unknown: no", -EREMOTEIO,
          RPC_EX_OTHER, RPC_FAIL },
        { "org.apache.hadoop.yarn.exceptions.YarnException",
          "org.apache.hadoop.security.AccessControlException: User bob cannot submit\n\tat x",
          "AccessControlException: User bob cannot submit", -EACCES, RPC_EX_ACCESS, RPC_FAIL },
        { "a.YarnException", "java.lang.Foo: bar", "YarnException: java.lang.Foo: bar", -EREMOTEIO,
          RPC_EX_OTHER, RPC_FAIL },
        { "a.YarnException", "AccessControlException: said by a user",
          "YarnException: AccessControlException: said by a user", -EREMOTEIO, RPC_EX_OTHER,
          RPC_FAIL },
        { "x.Y", "red \033[31m alert", "Y: red ?[31m alert", -EREMOTEIO, RPC_EX_OTHER, RPC_FAIL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(rpc_exception_err(rows[i].class_name, rows[i].message, &err),
                         rows[i].code);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.detail, rows[i].detail);
        assert_int_equal(rpc_exception_action(err.detail), rows[i].action);
    }
}

static void a_huge_message_is_cut_not_trusted(void **state)
{
    AUTO_FREE char *big = malloc(100001);
    struct err err = ERR_INIT;

    (void)state;
    memset(big, 'x', 100000);
    big[100000] = '\0';
    assert_int_equal(rpc_exception_err(big, big, &err), -EREMOTEIO);
    assert_true(strlen(err.text) < sizeof(err.text));
    assert_int_equal(rpc_exception_err("a.B", "m", NULL), -EREMOTEIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exception_becomes_code_text_and_action),
        cmocka_unit_test(a_huge_message_is_cut_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
