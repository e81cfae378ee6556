/* datatransfer.c - what a DataNode sends, as the HDFS layer reads it. The first byte says what the
 * rest is: packets of a block, acks of a pipeline, answers to operations, or a whole sign-in over
 * a connection. */
#include "fuzz.h"
#include "hadoop/hdfs/crc.h"
#include "hadoop/hdfs/dn_handshake.h"
#include "hadoop/hdfs/op.h"
#include "hadoop/hdfs/packet.h"
#include "loop/fiber.h"

#include <string.h>
#include <sys/socket.h>

/* One after the other, checked as a reader does. */
static void read_packets(const uint8_t *p, size_t n)
{
    struct packet head;
    int size;

    while ((size = packet_get(p, n, &head)) > 0) {
        size_t whole = (size_t)size + head.sums_len + head.data_len, at;

        if (whole > n)
            return;
        if (head.sums_len == crc_size(CRC_32C, 512, head.data_len))
            (void)crc_check(CRC_32C, 512, p + size + head.sums_len, head.data_len, p + size, &at);
        p += whole;
        n -= whole;
    }
}

static void read_acks(const uint8_t *p, size_t n)
{
    struct packet_ack ack;
    int size;

    while ((size = packet_ack_get(p, n, &ack)) > 0) {
        (void)packet_ack_bad(&ack);
        p += size;
        n -= (size_t)size;
    }
}

static void read_answer(const uint8_t *p, size_t n)
{
    Hdfs__BlockOpResponse *answer = NULL;
    char spare[24];

    if (op_answer(p, n, &answer, NULL) < 0)
        return;
    (void)op_status_name(answer->status, spare);
    hdfs__block_op_response__free_unpacked(answer, NULL);
}

/* A DataNode whose bytes are there already, and that hangs up after them. */
struct peer {
    struct loop *loop;
    const uint8_t *bytes;
    size_t n;
    enum guard guard;
};

static void talk(const struct peer *peer, struct dn_stream *s)
{
    Hadoop__Token token = HADOOP__TOKEN__INIT;
    Hdfs__DataEncryptionKey key = HDFS__DATA_ENCRYPTION_KEY__INIT;
    struct handshake h = {
        .guard = peer->guard, .qops = SASL_QOP_ANY, .token = &token, .key = &key
    };
    struct view v;

    token.kind = token.service = key.block_pool_id = "";
    if (handshake(s, &h, NULL) < 0)
        return;
    while (dn_stream_message(s, 1 << 20, &v, NULL) == 0)
        read_answer(v.p, v.n);
}

static int sign_in(void *arg)
{
    const struct dn_stream_limits limits = { 1000, 1000, 1000, 4096 };
    const struct peer *peer = arg;
    struct dn_stream *s = NULL;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
        return 0;
    (void)!write(fds[1], peer->bytes, peer->n);
    shutdown(fds[1], SHUT_WR);
    if (dn_stream_from_fd(peer->loop, fds[0], "peer", &limits, &s, NULL) == 0)
        talk(peer, s);
    dn_stream_close(s);
    close(fds[1]);
    return 0;
}

static void run_sign_in(const uint8_t *p, size_t n, enum guard guard)
{
    struct peer peer = { .bytes = p, .n = n, .guard = guard };

    if (loop_new(&peer.loop, NULL) < 0)
        return;
    (void)loop_run(peer.loop, sign_in, &peer, false);
    loop_free(peer.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 'p':
        read_packets(data + 1, size - 1);
        break;
    case 'a':
        read_acks(data + 1, size - 1);
        break;
    case 'r':
        read_answer(data + 1, size - 1);
        break;
    case 's':
        run_sign_in(data + 1, size - 1, GUARD_TOKEN);
        break;
    case 'k':
        run_sign_in(data + 1, size - 1, GUARD_KEY);
        break;
    default:
        break;
    }
    return 0;
}
