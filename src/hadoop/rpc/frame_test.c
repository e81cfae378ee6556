/* frame_test.c - the bytes of IPC version 9, compared with what real servers exchanged. */
#include "base/str.h"
#include "hadoop/rpc/frame.h"
#include "hadoop/yarn_client.pb-c.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const uint8_t client_id[FRAME_CLIENT_ID] = {
    0xc5, 0xf9, 0x37, 0x7e, 0x54, 0xfe, 0xe1, 0xeb, 0x0b, 0xad, 0xb7, 0x79, 0x80, 0xfd, 0xb1, 0x12
};

#define CLIENT_PROTOCOL "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

static void assert_hex(const struct buf *b, const char *want)
{
    AUTO_FREE char *have = NULL;

    assert_int_equal(str_hex(b->data, b->len, &have), 0);
    assert_string_equal(have, want);
}

static void hello_asks_for_sasl(void **state)
{
    AUTO_BUF b = { .max = 64 };

    (void)state;
    assert_int_equal(frame_add_hello(&b), 0);
    assert_hex(&b, "687270630900df");
}

static void a_call_is_what_the_resourcemanager_reads(void **state)
{
    Yarn__GetNewApplicationRequest request = YARN__GET_NEW_APPLICATION_REQUEST__INIT;
    struct frame_call call = { .client_id = client_id,
                               .protocol = CLIENT_PROTOCOL,
                               .method = "getNewApplication" };
    AUTO_BUF b = { .max = 4096 };

    (void)state;
    assert_int_equal(frame_add_call(&b, &call, &request.base), 0);
    assert_hex(&b,
               "0000006a1a0802100018002210c5f9377e54fee1eb0badb77980fdb11228004d0a116765744e6577"
               "4170706c69636174696f6e12366f72672e6170616368652e6861646f6f702e7961726e2e6170692e"
               "4170706c69636174696f6e436c69656e7450726f746f636f6c5042180100");
}

static void a_context_names_user_and_protocol(void **state)
{
    Ipc__ConnectionContext context = IPC__CONNECTION_CONTEXT__INIT;
    Ipc__UserInformation user = IPC__USER_INFORMATION__INIT;
    AUTO_BUF b = { .max = 4096 };

    (void)state;
    user.effective_user = "root";
    context.user = &user;
    context.protocol = CLIENT_PROTOCOL;
    assert_int_equal(frame_add_context(&b, client_id, &context), 0);
    assert_hex(&b,
               "0000005c1a0802100018052210c5f9377e54fee1eb0badb77980fdb11228014012060a04726f6f74"
               "1a366f72672e6170616368652e6861646f6f702e7961726e2e6170692e4170706c69636174696f6e"
               "436c69656e7450726f746f636f6c5042");
}

static void negotiate_and_ping_have_no_body_of_their_own(void **state)
{
    Ipc__RpcSasl sasl = IPC__RPC_SASL__INIT;
    AUTO_BUF b = { .max = 4096 };

    (void)state;
    sasl.state = IPC__SASL_STATE__SASL_NEGOTIATE;
    assert_int_equal(frame_add_sasl(&b, &sasl), 0);
    assert_hex(&b, "0000000e0a08021000184122002801021001");
    buf_reset(&b);
    assert_int_equal(frame_add_ping(&b, client_id), 0);
    assert_hex(&b, "0000001b1a0802100018072210c5f9377e54fee1eb0badb77980fdb1122801");
}

static size_t unhex(const char *s, uint8_t *out)
{
    size_t n = strlen(s) / 2;

    for (size_t i = 0; i < n; i++) {
        unsigned v;

        assert_int_equal(sscanf(s + 2 * i, "%2x", &v), 1);
        out[i] = (uint8_t)v;
    }
    return n;
}

static void an_answer_of_the_resourcemanager_parses(void **state)
{
    AUTO_FRAME_ANSWER a = { 0 };
    Yarn__GetNewApplicationResponse *m;
    uint8_t bytes[128];
    size_t n =
        unhex("000000541a0800100018093a10c5f9377e54fee1eb0badb77980fdb1124000380a09084c10a99c"
              "c7ec9d34122b08804010401a140a096d656d6f72792d6d621080401a024d6920001a0e0a067663"
              "6f72657310401a002000",
              bytes);

    (void)state;
    assert_int_equal(frame_size(bytes, n, NULL), n);
    assert_int_equal(frame_parse(bytes, n, &a, NULL), 0);
    assert_int_equal(a.call_id, 0);
    m = yarn__get_new_application_response__unpack(NULL, a.body_size, a.body);
    assert_non_null(m);
    assert_int_equal(m->application_id->id, 76);
    yarn__get_new_application_response__free_unpacked(m, NULL);
}

static void a_negative_call_id_survives_the_unsigned_field(void **state)
{
    static const uint8_t fatal[] = { 0,    0,    0,    0x0f, 0x0e, 0x08, 0xff, 0xff, 0xff, 0xff,
                                     0x0f, 0x10, 0x02, 0x18, 0x09, 0x30, 0x0f, 0x3a, 0x00 };
    AUTO_FRAME_ANSWER a = { 0 };

    (void)state;
    assert_int_equal(frame_parse(fatal, sizeof(fatal), &a, NULL), 0);
    assert_int_equal(a.call_id, FRAME_CALL_FATAL);
    assert_int_equal(a.header->status, IPC__RPC_STATUS__STATUS_FATAL);
}

static void what_is_not_hadoop_is_recognised(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int64_t want;
        const char *text;
    } rows[] = {
        { "\0\0\0", 3, 0, "" },
        { "\0\0\0\5", 4, 9, "" },
        { "\xff\xff\xff\xff", 4, -EPROTO,
          "the server speaks an older version of Hadoop's protocol" },
        { "HTTP/1.1 404", 12, -EPROTO, "a web server answers there, not Hadoop's RPC" },
        { "SSH-2.0", 7, -EPROTO, "the server does not speak Hadoop's RPC protocol" },
        { "\0\0\0\0", 4, -EPROTO, "the server does not speak Hadoop's RPC protocol" },
        { "\x08\0\0\1", 4, -EPROTO, "the server does not speak Hadoop's RPC protocol" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(frame_size((const uint8_t *)rows[i].bytes, rows[i].n, &err), rows[i].want);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void a_cut_answer_is_refused_at_every_length(void **state)
{
    uint8_t bytes[128];
    size_t n = unhex("0000001e1a0818100018093a1020545332877540d3e5dc487464f864364000020801", bytes);

    (void)state;
    for (size_t cut = 4; cut < n; cut++) {
        AUTO_FRAME_ANSWER a = { 0 };
        AUTO_FREE uint8_t *copy = malloc(cut);

        memcpy(copy, bytes, cut); /* so that the sanitizer sees a read past the cut */
        assert_int_equal(frame_parse(copy, cut, &a, NULL), -EPROTO);
    }
}

static void a_request_over_the_limit_leaves_no_half_frame(void **state)
{
    Yarn__GetNewApplicationRequest request = YARN__GET_NEW_APPLICATION_REQUEST__INIT;
    struct frame_call call = { .client_id = client_id, .protocol = "p", .method = "m" };
    AUTO_BUF b = { .max = 20 };

    (void)state;
    assert_int_equal(frame_add_call(&b, &call, &request.base), -E2BIG);
    assert_int_equal(b.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_asks_for_sasl),
        cmocka_unit_test(a_call_is_what_the_resourcemanager_reads),
        cmocka_unit_test(a_context_names_user_and_protocol),
        cmocka_unit_test(negotiate_and_ping_have_no_body_of_their_own),
        cmocka_unit_test(an_answer_of_the_resourcemanager_parses),
        cmocka_unit_test(a_negative_call_id_survives_the_unsigned_field),
        cmocka_unit_test(what_is_not_hadoop_is_recognised),
        cmocka_unit_test(a_cut_answer_is_refused_at_every_length),
        cmocka_unit_test(a_request_over_the_limit_leaves_no_half_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
