/* crc.h - the checksums of HDFS: one CRC per chunk of a block (usually 512 bytes), big endian.
 *
 * CRC32C uses the processor's own instruction where there is one (three chunks side by side),
 * everything else tables of eight. Pure, any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers of HDFS. */
enum crc_type { CRC_NONE = 0, CRC_32 = 1, CRC_32C = 2 };

#define CRC_BYTES 4 /* of one checksum */

/* Bytes of the checksums of `n` bytes of data: one per chunk that has begun; 0 for CRC_NONE. */
size_t crc_size(enum crc_type type, size_t chunk, size_t n);

/* The checksum of one run of bytes. */
uint32_t crc_of(enum crc_type type, const void *p, size_t n);

/* Writes the checksums of `n` bytes, chunk by chunk, to `sums` (crc_size() bytes). */
void crc_chunks(enum crc_type type, size_t chunk, const void *p, size_t n, uint8_t *sums);

/* Compares instead. Where they differ, *ret_at is the offset of the first bad chunk. */
bool crc_check(enum crc_type type, size_t chunk, const void *p, size_t n, const uint8_t *sums,
               size_t *ret_at);

/* The same without the processor's instruction, for the tests. */
uint32_t crc_of_by_table(enum crc_type type, const void *p, size_t n);
