/* packet_test.c - packets and acks, as real ones were and as no one should send them. */
#include "hadoop/hdfs/crc.h"
#include "hadoop/hdfs/packet.h"
#include "test.h"

#include <errno.h>
#include <string.h>

/* What a real DataNode took and said for a file with "hello world\n". */
static const uint8_t first[] = "\x00\x00\x00\x14\x00\x19\x09\x00\x00\x00\x00\x00\x00\x00\x00\x11"
                               "\x00\x00\x00\x00\x00\x00\x00\x00"
                               "\x18\x00\x25\x0c\x00\x00\x00\xf0\xff\x72\x92hello world\n";
static const uint8_t last[] = "\x00\x00\x00\x04\x00\x19\x09\x0c\x00\x00\x00\x00\x00\x00\x00\x11\x01"
                              "\x00\x00\x00\x00\x00\x00\x00"
                              "\x18\x01\x25\x00\x00\x00\x00";
static const uint8_t good_ack[] = "\x09\x08\x00\x10\x00\x18\x00\x22\x01\x00";

static void the_first_packet_has_the_bytes_a_datanode_took(void **state)
{
    struct packet p = { .data_len = 12, .sums_len = 4 };
    uint8_t out[PACKET_HEAD_MAX + 16];
    size_t n = packet_put(&p, out);

    (void)state;
    crc_chunks(CRC_32C, 512, "hello world\n", 12, out + n);
    memcpy(out + n + 4, "hello world\n", 12);
    assert_int_equal(n + 16, sizeof(first) - 1);
    assert_memory_equal(out, first, sizeof(first) - 1);
}

static void the_last_packet_is_empty_and_says_so(void **state)
{
    struct packet p = { .offset = 12, .seqno = 1, .last = true };
    uint8_t out[PACKET_HEAD_MAX];

    (void)state;
    assert_int_equal(packet_put(&p, out), sizeof(last) - 1);
    assert_memory_equal(out, last, sizeof(last) - 1);
}

static void what_is_put_is_got_back(void **state)
{
    static const struct packet rows[] = {
        { 0, 0, 64512, 504, false, false },
        { 64512, 1, 1, 4, false, true },
        { 1ull << 40, 1ll << 33, 0, 0, true, true },
        { 0, PACKET_HEARTBEAT, 0, 0, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t out[PACKET_HEAD_MAX];
        struct packet p;
        size_t n = packet_put(&rows[i], out);

        assert_int_equal(packet_get(out, n, &p), n);
        assert_int_equal(p.offset, rows[i].offset);
        assert_int_equal(p.seqno, rows[i].seqno);
        assert_int_equal(p.data_len, rows[i].data_len);
        assert_int_equal(p.sums_len, rows[i].sums_len);
        assert_int_equal(p.last, rows[i].last);
        assert_int_equal(p.sync, rows[i].sync);
        for (size_t cut = 0; cut < n; cut++)
            assert_int_equal(packet_get(out, cut, &p), 0);
    }
}

static void a_packet_that_cannot_be_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } rows[] = {
        { 0, 0x7f },  /* far too long */
        { 0, 0xff },  /* negative */
        { 3, 3 },     /* shorter than its own length */
        { 4, 0x10 },  /* a header of 4 KB */
        { 5, 0 },     /* no header */
        { 5, 24 },    /* the header ends inside a field */
        { 6, 0x0f },  /* a wire type that does not exist */
        { 14, 0x80 }, /* an offset below zero */
        { 30, 0x7f }, /* more data than the packet has */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[sizeof(first)];
        struct packet p;

        memcpy(bytes, first, sizeof(first));
        bytes[rows[i].at] = rows[i].value;
        assert_int_equal(packet_get(bytes, sizeof(first) - 1, &p), -EPROTO);
    }
}

static void the_ack_of_a_real_datanode_is_read(void **state)
{
    struct packet_ack ack;

    (void)state;
    assert_int_equal(packet_ack_get(good_ack, sizeof(good_ack) - 1, &ack), sizeof(good_ack) - 1);
    assert_int_equal(ack.seqno, 0);
    assert_int_equal(ack.n, 1);
    assert_int_equal(packet_ack_bad(&ack), -1);
    for (size_t cut = 0; cut < sizeof(good_ack) - 1; cut++)
        assert_int_equal(packet_ack_get(good_ack, cut, &ack), 0);
}

static void the_farthest_datanode_that_fails_is_the_bad_one(void **state)
{
    /* Flags (node 1 fails, bits of congestion are set) stand against replies that are all well. */
    static const uint8_t flags[] = "\x0a\x08\x03\x10\x00\x10\x00\x22\x02\x20\x01";
    static const uint8_t replies[] = "\x0a\x08\x04\x10\x01\x10\x01\x10\x00\x10\x00";
    static const uint8_t oob[] = "\x06\x08\x03\x10\x08\x10\x00";
    struct packet_ack ack;

    (void)state;
    assert_true(packet_ack_get(flags, sizeof(flags) - 1, &ack) > 0);
    assert_int_equal(ack.seqno, -2);
    assert_int_equal(ack.n, 2);
    assert_int_equal(packet_ack_bad(&ack), 1);
    assert_true(packet_ack_get(replies, sizeof(replies) - 1, &ack) > 0);
    assert_int_equal(ack.seqno, 2);
    assert_int_equal(ack.n, 4);
    assert_int_equal(packet_ack_bad(&ack), 1);
    assert_true(packet_ack_get(oob, sizeof(oob) - 1, &ack) > 0);
    assert_int_equal(ack.status[0], PACKET_RESTARTING);
    assert_int_equal(packet_ack_bad(&ack), 0);
}

static void an_ack_that_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {
        { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 }, /* a length without an end */
        { "\xff\xff\xff\x7f", 4 },                              /* 256 MB */
        { "\x02\x10\x01", 3 },                                  /* no sequence number */
        { "\x03\x08\x00\x17", 4 },                              /* no such wire type */
    };
    struct packet_ack ack;
    uint8_t many[2000] = { 0xcc, 0x0f, 0x08, 0x00 };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(packet_ack_get((const uint8_t *)rows[i].bytes, rows[i].n, &ack), -EPROTO);
    many[4] = 0x12; /* 1996 replies */
    many[5] = 0xc7;
    many[6] = 0x0f;
    assert_int_equal(packet_ack_get(many, sizeof(many), &ack), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_packet_has_the_bytes_a_datanode_took),
        cmocka_unit_test(the_last_packet_is_empty_and_says_so),
        cmocka_unit_test(what_is_put_is_got_back),
        cmocka_unit_test(a_packet_that_cannot_be_is_refused),
        cmocka_unit_test(the_ack_of_a_real_datanode_is_read),
        cmocka_unit_test(the_farthest_datanode_that_fails_is_the_bad_one),
        cmocka_unit_test(an_ack_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
