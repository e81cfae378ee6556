/* crc_test.c - every way of computing a checksum gives the same one, the right one. */
#include "hadoop/hdfs/crc.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Bit by bit, as the definition says. */
static uint32_t slow(uint32_t poly, const uint8_t *p, size_t n)
{
    uint32_t crc = ~0u;

    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ poly : crc >> 1;
    }
    return ~crc;
}

#define POLY_32 0xEDB88320u
#define POLY_32C 0x82F63B78u

static void fill(uint8_t *p, size_t n)
{
    uint32_t x = 2463534242u;

    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        p[i] = (uint8_t)x;
    }
}

static void known_values_are_met(void **state)
{
    (void)state;
    assert_int_equal(crc_of(CRC_32, "123456789", 9), 0xCBF43926u);
    assert_int_equal(crc_of(CRC_32C, "123456789", 9), 0xE3069283u);
    assert_int_equal(crc_of(CRC_32C, "hello world\n", 12), 0xf0ff7292u);
    assert_int_equal(crc_of(CRC_32C, "", 0), 0);
}

static void every_length_agrees_with_the_definition(void **state)
{
    uint8_t data[300];

    (void)state;
    fill(data, sizeof(data));
    for (size_t n = 0; n < sizeof(data) - 3; n++) {
        const uint8_t *p = data + n % 4;

        assert_int_equal(crc_of(CRC_32, p, n), slow(POLY_32, p, n));
        assert_int_equal(crc_of(CRC_32C, p, n), slow(POLY_32C, p, n));
        assert_int_equal(crc_of_by_table(CRC_32C, p, n), slow(POLY_32C, p, n));
    }
}

static void chunks_are_summed_one_by_one(void **state)
{
    static const size_t chunks[] = { 1, 7, 8, 512, 1000 };
    static const size_t lengths[] = { 0, 1, 511, 512, 513, 1535, 1536, 1537, 66000, 200000 };
    uint8_t *data = malloc(200000), *sums = malloc(4 * 200000);

    (void)state;
    fill(data, 200000);
    for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            size_t n = lengths[l], chunk = chunks[c], at = 7;

            crc_chunks(CRC_32C, chunk, data, n, sums);
            assert_int_equal(crc_size(CRC_32C, chunk, n), (n + chunk - 1) / chunk * 4);
            for (size_t i = 0; i * chunk < n; i++) {
                size_t part = n - i * chunk < chunk ? n - i * chunk : chunk;
                uint32_t want = crc_of(CRC_32C, data + i * chunk, part);
                const uint8_t be[4] = { (uint8_t)(want >> 24), (uint8_t)(want >> 16),
                                        (uint8_t)(want >> 8), (uint8_t)want };

                assert_memory_equal(sums + 4 * i, be, 4);
            }
            assert_true(crc_check(CRC_32C, chunk, data, n, sums, &at));
            assert_int_equal(at, 7);
        }
    }
    free(data);
    free(sums);
}

static void a_changed_byte_is_found_where_it_is(void **state)
{
    uint8_t data[4000], sums[32];
    size_t at;

    (void)state;
    fill(data, sizeof(data));
    for (int type = CRC_32; type <= CRC_32C; type++) {
        crc_chunks((enum crc_type)type, 512, data, sizeof(data), sums);
        for (size_t i = 0; i < sizeof(data); i += 97) {
            data[i] ^= 4;
            at = 0;
            assert_false(crc_check((enum crc_type)type, 512, data, sizeof(data), sums, &at));
            assert_int_equal(at, i / 512 * 512);
            data[i] ^= 4;
        }
    }
}

static void no_checksum_means_no_bytes(void **state)
{
    size_t at;

    (void)state;
    assert_int_equal(crc_size(CRC_NONE, 512, 5000), 0);
    crc_chunks(CRC_NONE, 512, "x", 1, NULL);
    assert_true(crc_check(CRC_NONE, 512, "x", 1, NULL, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_are_met),
        cmocka_unit_test(every_length_agrees_with_the_definition),
        cmocka_unit_test(chunks_are_summed_one_by_one),
        cmocka_unit_test(a_changed_byte_is_found_where_it_is),
        cmocka_unit_test(no_checksum_means_no_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
