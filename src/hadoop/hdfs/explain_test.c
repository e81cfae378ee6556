/* explain_test.c - exceptions of a real NameNode become sentences. */
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/hdfs/explain.h"
#include "hadoop/rpc/exception.h"
#include "test.h"

#include <string.h>

#define PREFIX "org.apache.hadoop."

/* Messages as Hadoop 3.4.3 sends them. */
static const struct {
    const char *class_name, *message, *want;
    int code;
} rows[] = {
    { PREFIX "security.AccessControlException",
      "Permission denied: user=bob, access=WRITE, inode=\"/user\":root:supergroup:drwxr-xr-x\n\tat "
      "…",
      "create '/user/x': permission denied for user 'bob', who needs WRITE on '/user' "
      "(drwxr-xr-x root:supergroup)",
      -EACCES },
    { PREFIX "security.AccessControlException", "Superuser privilege is required",
      "create '/user/x': AccessControlException: Superuser privilege is required", -EACCES },
    { "java.io.FileNotFoundException", "File does not exist: /user/x",
      "create '/user/x': no such file or directory", -ENOENT },
    { "java.io.FileNotFoundException", "Path is not a file: /user/x",
      "create '/user/x': it is a directory", -EISDIR },
    { "java.io.FileNotFoundException", "Parent directory doesn't exist: /user",
      "create '/user/x': there is no directory '/user'", -ENOENT },
    { PREFIX "fs.FileAlreadyExistsException", "/user/x for client 127.0.0.1 already exists",
      "create '/user/x': it exists already", -EEXIST },
    { PREFIX "fs.FileAlreadyExistsException", "/user/x already exists as a directory",
      "create '/user/x': it is a directory", -EISDIR },
    { PREFIX "fs.PathIsNotEmptyDirectoryException",
      "`/user/x is non empty': Directory is not empty",
      "create '/user/x': the directory is not empty", -ENOTEMPTY },
    { PREFIX "fs.ParentNotDirectoryException", "/user (is not a directory)",
      "create '/user/x': a part of the path is not a directory", -ENOTDIR },
    { PREFIX "hdfs.server.namenode.SafeModeException",
      "Cannot create file/user/x. Name node is in …",
      "create '/user/x': the NameNode is in safe mode", -EROFS },
    { "java.io.IOException",
      "File /user/x could only be written to 0 of the 1 minReplication nodes. There are 2 "
      "datanode(s) running and 1 node(s) are excluded in this operation.",
      "create '/user/x': no DataNode can take a block (2 running, 1 left out)", -ENOSPC },
    { "java.io.IOException",
      "File /user/x could only be written to 0 of the 1 minReplication nodes. There are 2 "
      "datanode(s) running and no node(s) are excluded in this operation.",
      "create '/user/x': no DataNode can take a block (2 running, no left out)", -ENOSPC },
    { PREFIX "hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota of /user is exceeded",
      "create '/user/x': DSQuotaExceededException: The DiskSpace quota of /user is exceeded",
      -EDQUOT },
    { "java.io.IOException", "something else", "create '/user/x': IOException: something else",
      -EREMOTEIO },
};

static void every_exception_becomes_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        int r = rpc_exception_err(rows[i].class_name, rows[i].message, &err);

        assert_int_equal(explain("create", "/user/x", r, &err), rows[i].code);
        assert_string_equal(err.text, rows[i].want);
        assert_int_equal(err.code, rows[i].code);
    }
}

static void the_hint_outlives_the_new_sentence(void **state)
{
    struct err err = ERR_INIT;
    int r = rpc_exception_err(PREFIX "hdfs.server.namenode.SafeModeException", "x", &err);

    (void)state;
    (void)explain("create", "/x", r, &err);
    assert_true(str_starts(err.hint, "HDFS is read-only while"));
    assert_int_equal(err.detail, RPC_EX_SAFE_MODE);
}

static void an_error_that_is_no_exception_is_wrapped(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    err_set(&err, -ECONNREFUSED, "connect to nn:8020: Connection refused");
    assert_int_equal(explain("list", "/a", -ECONNREFUSED, &err), -ECONNREFUSED);
    assert_string_equal(err.text, "list '/a': connect to nn:8020: Connection refused");
    assert_int_equal(explain("list", "/a", -EIO, NULL), -EIO);
}

/* Whatever a server may say, nothing is read past its end. */
static void odd_messages_do_no_harm(void **state)
{
    static const char *const odd[] = {
        "",    "user=",     "user=a,inode=\"", "user=a, inode=\"x\":", "user=a, inode=\"x\":b:",
        "\":", "There are "
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct err err = ERR_INIT;
        int r = rpc_exception_err(PREFIX "security.AccessControlException", odd[i], &err);

        assert_int_equal(explain("list", "/a", r, &err), -EACCES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_exception_becomes_a_sentence),
        cmocka_unit_test(the_hint_outlives_the_new_sentence),
        cmocka_unit_test(an_error_that_is_no_exception_is_wrapped),
        cmocka_unit_test(odd_messages_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
