/* export_try_test.c - a rename whose answer is lost; see export_try.c. The test is the NameNode:
 * two names, of which each may be there. */
#include "agent/output/export_private.h"
#include "hadoop/namenode.pb-c.h"
#include "hadoop/yarn/rpc_testing.h"

#include <string.h>

struct names {
    bool from, to; /* which of them are there */
    int lost;      /* how many renames succeed without an answer */
    int away;      /* so many are not even done */
    int starting;  /* how many fail because no DataNode is ready */
    int blind;     /* so many questions for what is there are not answered */
    int renames;
    bool overwrite;
    int result;
};

static int answer_info(struct names *n, const Hdfs__GetFileInfoRequest *q, void **ret,
                       struct err *err)
{
    Hdfs__GetFileInfoResponse answer = HDFS__GET_FILE_INFO_RESPONSE__INIT;
    Hdfs__FileStatus status = HDFS__FILE_STATUS__INIT;
    Hdfs__Permission mode = HDFS__PERMISSION__INIT;

    if (n->blind > 0 && n->blind--)
        return err_set(err, -ETIMEDOUT, "the NameNode does not answer");
    status.type = HDFS__FILE_TYPE__FILE_REGULAR;
    status.path.data = (uint8_t *)"";
    status.permission = &mode;
    status.owner = status.group = (char *)"me";
    answer.status = (str_eq(q->src, "/from") ? n->from : n->to) ? &status : NULL;
    return fake_copy(&answer, ret);
}

static int answer_rename(struct names *n, void **ret, struct err *err)
{
    Hdfs__Rename2Response answer = HDFS__RENAME2_RESPONSE__INIT;

    n->renames++;
    if (n->away > 0 && n->away--)
        return err_set(err, -ETIMEDOUT, "the NameNode does not answer");
    if (n->starting > 0 && n->starting--)
        return fake_throw(
            "IOException",
            "File /to could only be written to 0 of the 1 minReplication nodes. There "
            "are 0 datanode(s) running and 0 node(s) are excluded in this operation.",
            err);
    if (!n->from)
        return fake_throw("FileNotFoundException", "rename source is not found.", err);
    if (n->to && !n->overwrite)
        return fake_throw("FileAlreadyExistsException", "rename destination exists", err);
    n->from = false;
    n->to = true;
    if (n->lost > 0 && n->lost--)
        return err_set(err, -ETIMEDOUT, "the NameNode does not answer");
    return fake_copy(&answer, ret);
}

static int name_node(void *arg, struct rpc_service *s, const char *method, const void *request,
                     void **ret, struct err *err)
{
    (void)s;
    if (str_eq(method, "getFileInfo"))
        return answer_info(arg, request, ret, err);
    assert_string_equal(method, "rename2");
    return answer_rename(arg, ret, err);
}

static int rename_it(void *arg)
{
    struct names *n = arg;
    struct agent agent = { .loop = fake_rpc.loop };
    struct export x = { .agent = &agent };
    struct export_move move = { .from = "/from", .to = "/to", .overwrite = n->overwrite };
    struct session *session = fake_session(fake_rpc.loop, TESTDATA "one-rm", NULL);
    struct err err = ERR_INIT;
    struct fs_set *set = NULL;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(fake_rpc.loop, session, &set, NULL), 0);
    assert_int_equal(fs_find(set, "hdfs://127.0.0.1:9/", FS_ON_CLUSTER, &move.fs, &path, NULL), 0);
    n->result = export_rename(&x, &move, &err);
    fs_set_free(set);
    session_free(session);
    return 0;
}

static void a_rename_is_done_once(void **state)
{
    /* clang-format off */
    static const struct {
        struct names n;
        int result, renames;
    } rows[] = {
        { { .from = true },                                            0,       1 },
        { { .from = true, .lost = 1 },                                 0,       2 },
        { { .from = true, .lost = 1, .away = 2 },                      0,       4 },
        { { .from = true, .lost = 1, .blind = 1 },                     0,       3 },
        { { .from = true, .lost = 1, .blind = 2 },                     0,       4 },
        { { .from = true, .to = true, .overwrite = true, .lost = 1 },  0,       2 },
        { { .from = true, .starting = 3 },                             0,       4 },
        { { .from = true, .to = true },                                -EEXIST, 1 },
        { { .from = true, .to = true, .away = 1 },                     -EEXIST, 2 },
        { { .from = false },                                           -ENOENT, 1 },
        { { .from = false, .to = true },                               -ENOENT, 1 }, /* not by us */
        { { .from = false, .away = 1 },                                -ENOENT, 2 },
        { { .from = false, .away = 1, .blind = 1 },                    -ENOENT, 3 },
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct names n = rows[i].n;

        fake_run(rename_it, &n, name_node, &n);
        assert_int_equal(n.result, rows[i].result);
        assert_int_equal(n.renames, rows[i].renames);
        if (rows[i].result == 0)
            assert_true(n.to && !n.from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rename_is_done_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
