/* op_test.c - operations have the bytes that a real DataNode took. */
#include "hadoop/hdfs/op.h"
#include "test.h"

#include <string.h>

/* Bytes of a real exchange (Hadoop 3.4.3). */
static const char read_hex[] =
    "001c51630a5b0a3d0a310a2442502d3234313930393936372d3132372e302e302e312d3137393437313836373437"
    "373910e38180800418cb09200c12080a0012001a002200121a444653436c69656e745f4e4f4e4d41505245445543"
    "455f315f311000180c2001";
static const char write_hex[] =
    "0a5e0a400a340a2442502d3234313930393936372d3132372e302e302e312d3137393437313836373437373910e3"
    "8180800418cb09208080801012080a0012001a002200121a444653436c69656e745f4e4f4e4d4150524544554345"
    "5f315f31200628013000380040004a050802108004520058016800700082012744532d36656466343637372d3064"
    "32382d346363652d396561312d323561626439373763306235";
static const char read_answer_hex[] = "080022090a0508021080041000";

static size_t unhex(const char *hex, uint8_t *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((strchr(digits, hex[2 * i]) - digits) << 4 |
                           (strchr(digits, hex[2 * i + 1]) - digits));
    return n;
}

static Hdfs__ExtendedBlock block = HDFS__EXTENDED_BLOCK__INIT;
static Hadoop__Token no_token = HADOOP__TOKEN__INIT;

static struct op_block the_block(uint64_t bytes)
{
    block.pool_id = "BP-241909967-127.0.0.1-1794718674779";
    block.block_id = 1073742051;
    block.generation_stamp = 1227;
    block.has_num_bytes = true;
    block.num_bytes = bytes;
    no_token.kind = no_token.service = "";
    return (struct op_block){ &block, &no_token, "DFSClient_NONMAPREDUCE_1_1" };
}

static void a_read_has_the_bytes_a_datanode_took(void **state)
{
    uint8_t want[200];
    size_t n = unhex(read_hex, want);
    struct op_block b = the_block(12);
    AUTO_BUF out = { .max = 4096 };

    (void)state;
    assert_int_equal(op_read(&out, &b, 0, 12), 0);
    assert_int_equal(out.len, n);
    assert_memory_equal(out.data, want, n);
}

static void add_node(struct nodes *nodes, const char *ip, uint32_t port, const char *storage)
{
    Hdfs__DatanodeId id = HDFS__DATANODE_ID__INIT;
    Hdfs__DatanodeInfo info = HDFS__DATANODE_INFO__INIT;
    struct node node = { .info = &info,
                         .storage = HDFS__STORAGE_TYPE__STORAGE_DISK,
                         .storage_id = (char *)storage };

    id.ip_addr = id.host_name = ip;
    id.datanode_uuid = storage;
    id.xfer_port = port;
    info.id = &id;
    assert_int_equal(nodes_add(nodes, &node), 0);
}

static Hdfs__OpWriteBlock *unpack_write(const struct buf *out)
{
    struct view v = view_of(out->data, out->len);
    Hdfs__OpWriteBlock *m;
    uint64_t n;

    assert_int_equal(view_be16(&v), 28);
    assert_int_equal(view_u8(&v), 80);
    n = view_varint(&v);
    assert_int_equal(n, v.n);
    m = hdfs__op_write_block__unpack(NULL, v.n, v.p);
    assert_non_null(m);
    return m;
}

static void a_write_says_what_the_real_one_said(void **state)
{
    uint8_t bytes[300];
    size_t n = unhex(write_hex, bytes);
    Hdfs__OpWriteBlock *real = hdfs__op_write_block__unpack(NULL, n, bytes), *ours;
    struct op_block b = the_block(33554432);
    AUTO_NODES nodes = { 0 };
    const struct op_write w = { .nodes = &nodes,
                                .stage = HDFS__BLOCK_STAGE__STAGE_CREATE,
                                .checksum = HDFS__CHECKSUM_TYPE__CHECKSUM_CRC32C,
                                .chunk = 512 };
    AUTO_BUF out = { .max = 4096 };

    (void)state;
    add_node(&nodes, "127.0.0.1", 28066, "DS-6edf4677-0d28-4cce-9ea1-25abd977c0b5");
    assert_int_equal(op_write(&out, &b, &w), 0);
    ours = unpack_write(&out);
    assert_non_null(real);
    assert_non_null(ours);
    assert_int_equal(ours->stage, real->stage);
    assert_int_equal(ours->pipeline_size, real->pipeline_size);
    assert_int_equal(ours->checksum->type, real->checksum->type);
    assert_int_equal(ours->checksum->bytes_per_checksum, real->checksum->bytes_per_checksum);
    assert_int_equal(ours->storage_type, real->storage_type);
    assert_string_equal(ours->storage_id, real->storage_id);
    assert_int_equal(ours->n_targets, 0);
    assert_int_equal(ours->header->base_header->block->num_bytes,
                     real->header->base_header->block->num_bytes);
    hdfs__op_write_block__free_unpacked(real, NULL);
    hdfs__op_write_block__free_unpacked(ours, NULL);
}

static void the_nodes_behind_the_first_are_the_targets(void **state)
{
    struct op_block b = the_block(512);
    AUTO_NODES nodes = { 0 };
    const struct op_write w = { .nodes = &nodes,
                                .min_bytes = 5,
                                .max_bytes = 9,
                                .new_stamp = 1300,
                                .stage = HDFS__BLOCK_STAGE__STAGE_STREAMING_RECOVERY,
                                .checksum = HDFS__CHECKSUM_TYPE__CHECKSUM_CRC32,
                                .chunk = 512 };
    Hdfs__OpWriteBlock *m;
    AUTO_BUF out = { .max = 4096 };

    (void)state;
    add_node(&nodes, "10.0.0.1", 9866, "s1");
    add_node(&nodes, "10.0.0.2", 9866, "s2");
    add_node(&nodes, "10.0.0.20", 9866, "s3");
    assert_int_equal(op_write(&out, &b, &w), 0);
    m = unpack_write(&out);
    assert_non_null(m);
    assert_int_equal(m->n_targets, 2);
    assert_string_equal(m->targets[1]->id->ip_addr, "10.0.0.20");
    assert_string_equal(m->storage_id, "s1");
    assert_string_equal(m->target_storage_ids[0], "s2");
    assert_int_equal(m->n_target_storage_types, 2);
    assert_int_equal(m->pipeline_size, 3);
    assert_int_equal(m->min_bytes_received, 5);
    assert_int_equal(m->max_bytes_received, 9);
    assert_int_equal(m->latest_generation_stamp, 1300);
    hdfs__op_write_block__free_unpacked(m, NULL);

    assert_int_equal(nodes_find_address(&nodes, "10.0.0.2:9866"), 1);
    assert_int_equal(nodes_find_address(&nodes, "10.0.0.20:9866"), 2);
    assert_int_equal(nodes_find_address(&nodes, "10.0.0.20:986"), -1);
    nodes_remove(&nodes, 0);
    assert_int_equal(nodes.n, 2);
    assert_string_equal(nodes.v[0].storage_id, "s2");
    buf_reset(&out);
    assert_int_equal(op_transfer(&out, &b, &nodes.v[1]), 0);
    assert_int_equal(out.data[2], 86);
}

static void an_answer_is_read_or_refused(void **state)
{
    uint8_t bytes[32];
    size_t n = unhex(read_answer_hex, bytes);
    Hdfs__BlockOpResponse *answer = NULL;
    struct err err = ERR_INIT;
    char spare[24];

    (void)state;
    assert_int_equal(op_answer(bytes, n, &answer, &err), 0);
    assert_int_equal(answer->status, HDFS__TRANSFER_STATUS__TRANSFER_SUCCESS);
    assert_int_equal(answer->checksum_info->checksum->bytes_per_checksum, 512);
    hdfs__block_op_response__free_unpacked(answer, NULL);
    assert_int_equal(op_answer(bytes, n - 1, &answer, &err), -EPROTO);
    assert_string_equal(op_status_name(5, spare), "ERROR_ACCESS_TOKEN");
    assert_string_equal(op_status_name(99, spare), "status 99");
}

static void a_read_that_went_well_ends_with_three_bytes(void **state)
{
    AUTO_BUF out = { .max = 64 };

    (void)state;
    assert_int_equal(op_read_status(&out, true), 0);
    assert_int_equal(out.len, 3);
    assert_memory_equal(out.data, "\x02\x08\x06", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_has_the_bytes_a_datanode_took),
        cmocka_unit_test(a_write_says_what_the_real_one_said),
        cmocka_unit_test(the_nodes_behind_the_first_are_the_targets),
        cmocka_unit_test(an_answer_is_read_or_refused),
        cmocka_unit_test(a_read_that_went_well_ends_with_three_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
