/* crc.c - two ways to the same number: eight bytes at a time by tables, or the processor's CRC32C
 * instruction over three chunks at once, because one chunk alone leaves it idle two cycles of
 * three. See crc.h. */
#include "hadoop/hdfs/crc.h"

#include <endian.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* A table of CRCs is linear: entry i is the exclusive or of the entries of i's bits. So eight
 * numbers stand for a table, and the compiler writes out the rest. Table k is for a byte that
 * stands k bytes before the end of a word of eight. */

/* clang-format off */
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                           \
    (((i) & 1 ? (a) : 0) ^ ((i) & 2 ? (b) : 0) ^ ((i) & 4 ? (c) : 0) ^ ((i) & 8 ? (d) : 0) ^       \
     ((i) & 16 ? (e) : 0) ^ ((i) & 32 ? (f) : 0) ^ ((i) & 64 ? (g) : 0) ^ ((i) & 128 ? (h) : 0))
#define FOUR(i, ...)                                                                               \
    ENTRY((i), __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__), ENTRY((i) + 2, __VA_ARGS__),             \
        ENTRY((i) + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                                            \
    FOUR((i), __VA_ARGS__), FOUR((i) + 4, __VA_ARGS__), FOUR((i) + 8, __VA_ARGS__),                \
        FOUR((i) + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                                         \
    SIXTEEN((i), __VA_ARGS__), SIXTEEN((i) + 16, __VA_ARGS__), SIXTEEN((i) + 32, __VA_ARGS__),     \
        SIXTEEN((i) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    { SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__),       \
      SIXTY_FOUR(192, __VA_ARGS__) }

static const uint32_t tables_32[8][256] = {
    TABLE(0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u),
    TABLE(0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u, 0x4ac21251u, 0x958424a2u, 0xf0794f05u, 0x3b83984bu),
    TABLE(0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u, 0x1c26a370u, 0x384d46e0u, 0x709a8dc0u, 0xe1351b80u),
    TABLE(0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu, 0x5019579fu, 0xa032af3eu, 0x9b14583du, 0xed59b63bu),
    TABLE(0x3d6029b0u, 0x7ac05360u, 0xf580a6c0u, 0x30704bc1u, 0x60e09782u, 0xc1c12f04u, 0x58f35849u, 0xb1e6b092u),
    TABLE(0xcb5cd3a5u, 0x4dc8a10bu, 0x9b914216u, 0xec53826du, 0x03d6029bu, 0x07ac0536u, 0x0f580a6cu, 0x1eb014d8u),
    TABLE(0xa6770bb4u, 0x979f1129u, 0xf44f2413u, 0x33ef4e67u, 0x67de9cceu, 0xcfbd399cu, 0x440b7579u, 0x8816eaf2u),
    TABLE(0xccaa009eu, 0x4225077du, 0x844a0efau, 0xd3e51bb5u, 0x7cbb312bu, 0xf9766256u, 0x299dc2edu, 0x533b85dau),
};

static const uint32_t tables_32c[8][256] = {
    TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
    TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
    TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
    TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
    TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
    TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
    TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
    TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u),
};
/* clang-format on */

/* Checksums worked out at a time, on the stack. */
#define BATCH 128

static uint64_t load_le64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* Eight tables take in eight bytes with one step of dependence ("slicing by 8"): the lookups of one
 * word do not wait for each other. */
static uint32_t by_table(const uint32_t t[8][256], const uint8_t *p, size_t n)
{
    uint32_t crc = ~0u;

    for (; n >= 8; p += 8, n -= 8) {
        uint64_t v = load_le64(p) ^ crc;

        crc = t[7][v & 255] ^ t[6][v >> 8 & 255] ^ t[5][v >> 16 & 255] ^ t[4][v >> 24 & 255] ^
              t[3][v >> 32 & 255] ^ t[2][v >> 40 & 255] ^ t[1][v >> 48 & 255] ^ t[0][v >> 56];
    }
    for (; n > 0; p++, n--)
        crc = t[0][(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}

uint32_t crc_of_by_table(enum crc_type type, const void *p, size_t n)
{
    return by_table(type == CRC_32 ? tables_32 : tables_32c, p, n);
}

#if defined(__x86_64__)
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))
#define CRC_STEP8(crc, v) __builtin_ia32_crc32di((crc), (v))
#define CRC_STEP1(crc, v) __builtin_ia32_crc32qi((uint32_t)(crc), (v))

static bool have_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}
#elif defined(__aarch64__)
#define WITH_INSTRUCTION __attribute__((target("+crc")))
#ifdef __clang__
#define CRC_STEP8(crc, v) __builtin_arm_crc32cd((uint32_t)(crc), (v))
#define CRC_STEP1(crc, v) __builtin_arm_crc32cb((uint32_t)(crc), (v))
#else
#define CRC_STEP8(crc, v) __builtin_aarch64_crc32cx((uint32_t)(crc), (v))
#define CRC_STEP1(crc, v) __builtin_aarch64_crc32cb((uint32_t)(crc), (v))
#endif

static bool have_instruction(void)
{
    return getauxval(AT_HWCAP) & 1 << 7; /* HWCAP_CRC32 */
}
#endif

#ifdef WITH_INSTRUCTION
WITH_INSTRUCTION static uint32_t by_instruction(const uint8_t *p, size_t n)
{
    uint64_t crc = ~0u;

    for (; n >= 8; p += 8, n -= 8)
        crc = CRC_STEP8(crc, load_le64(p));
    for (; n > 0; p++, n--)
        crc = CRC_STEP1(crc, *p);
    return ~(uint32_t)crc;
}

/* One instruction takes three cycles to give its result, but one can start in each: three chunks
 * that do not depend on each other keep it busy. `chunk` is a multiple of 8 here. */
WITH_INSTRUCTION static void three_by_instruction(const uint8_t *p, size_t chunk, uint32_t *ret)
{
    const uint8_t *q = p + chunk, *s = q + chunk;
    uint64_t a = ~0u, b = ~0u, c = ~0u;

    for (size_t i = 0; i < chunk; i += 8) {
        a = CRC_STEP8(a, load_le64(p + i));
        b = CRC_STEP8(b, load_le64(q + i));
        c = CRC_STEP8(c, load_le64(s + i));
    }
    ret[0] = ~(uint32_t)a;
    ret[1] = ~(uint32_t)b;
    ret[2] = ~(uint32_t)c;
}
#endif

uint32_t crc_of(enum crc_type type, const void *p, size_t n)
{
#ifdef WITH_INSTRUCTION
    if (type == CRC_32C && have_instruction())
        return by_instruction(p, n);
#endif
    return crc_of_by_table(type, p, n);
}

/* The checksums of the next chunks, at most BATCH; returns how many. */
static size_t some(enum crc_type type, size_t chunk, const uint8_t *p, size_t n, uint32_t *ret)
{
    size_t count = 0;

#ifdef WITH_INSTRUCTION
    if (type == CRC_32C && chunk % 8 == 0 && have_instruction()) {
        for (; n >= 3 * chunk && count + 3 <= BATCH; p += 3 * chunk, n -= 3 * chunk, count += 3)
            three_by_instruction(p, chunk, ret + count);
    }
#endif
    while (n > 0 && count < BATCH) {
        size_t part = n < chunk ? n : chunk;

        ret[count++] = crc_of(type, p, part);
        p += part;
        n -= part;
    }
    return count;
}

size_t crc_size(enum crc_type type, size_t chunk, size_t n)
{
    return type == CRC_NONE ? 0 : (n / chunk + (n % chunk != 0)) * CRC_BYTES;
}

void crc_chunks(enum crc_type type, size_t chunk, const void *p, size_t n, uint8_t *sums)
{
    uint32_t crcs[BATCH];
    const uint8_t *at = p;

    if (type == CRC_NONE)
        return;
    while (n > 0) {
        size_t count = some(type, chunk, at, n, crcs), bytes = count * chunk;

        for (size_t i = 0; i < count; i++) {
            uint32_t be = htobe32(crcs[i]);

            memcpy(sums + i * CRC_BYTES, &be, CRC_BYTES);
        }
        sums += count * CRC_BYTES;
        bytes = bytes < n ? bytes : n;
        at += bytes;
        n -= bytes;
    }
}

bool crc_check(enum crc_type type, size_t chunk, const void *p, size_t n, const uint8_t *sums,
               size_t *ret_at)
{
    uint32_t crcs[BATCH];
    const uint8_t *at = p;

    if (type == CRC_NONE)
        return true;
    while (n > 0) {
        size_t count = some(type, chunk, at, n, crcs), bytes = count * chunk;

        for (size_t i = 0; i < count; i++) {
            uint32_t be;

            memcpy(&be, sums + i * CRC_BYTES, CRC_BYTES);
            if (be32toh(be) != crcs[i]) {
                *ret_at = (size_t)(at - (const uint8_t *)p) + i * chunk;
                return false;
            }
        }
        sums += count * CRC_BYTES;
        bytes = bytes < n ? bytes : n;
        at += bytes;
        n -= bytes;
    }
    return true;
}
